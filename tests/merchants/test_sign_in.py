"""Wrong passwords lock a name, and answers never tell whether it exists.

See docs/reference/signing-in.md.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import aauthenticate, authenticate
from django.core.management import call_command
from django.db import IntegrityError, connection
from django.db.models import F
from django.test import override_settings
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.test.utils import CaptureQueriesContext

from core import limits
from merchants.models import AuditEntry, User
from tests.stage.held_hashes import HELD, Hashes, hashes
from tests.stage.own_ports import refusing_port
from tests.stage.redis_places import redis_at
from tests.stage.visitors import (
    CHANGE,
    HTML,
    NAME,
    PASSWORD,
    RIGHT,
    SIGN_IN,
    WRONG,
    Visitor,
    an_operator,
    statuses,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CARD = "4242424242424242"
NOBODY = "nobodyxx@example.com"  # As long as the operator's.
HOSTS = itertools.count(100)


@pytest.fixture(autouse=True)
def operator(db: None) -> User:
    return an_operator()


@pytest.fixture
def watched(settings: Any) -> Iterator[Hashes]:
    """Return the record of the passwords that the hasher is given from here on."""
    settings.PASSWORD_HASHERS = HELD
    user = User.objects.get(email=NAME)
    user.set_password(PASSWORD)
    user.save()
    hashes.forget()
    yield hashes
    hashes.let_go()


def pass_minutes(minutes: float) -> None:
    """Let the lock have begun so much earlier."""
    ago = timedelta(minutes=minutes)
    User.objects.update(locked_until=F("locked_until") - ago)


def count() -> User:
    """Return the operator's row, with what was counted."""
    return User.objects.get(email=NAME)


# --- A name ---------------------------------------------------------------------------------


def test_ten_wrong_passwords_lock_a_name() -> None:
    assert statuses(10) == {WRONG}

    assert Visitor().sign_in(PASSWORD).status_code == WRONG


def test_nine_wrong_passwords_do_not() -> None:
    statuses(9)

    assert Visitor().sign_in(PASSWORD).status_code == RIGHT


def test_a_sign_in_begins_the_count_anew() -> None:
    statuses(9)
    Visitor().sign_in(PASSWORD)
    statuses(9)

    assert Visitor().sign_in(PASSWORD).status_code == RIGHT
    assert count().wrong_in_a_row == 0


@pytest.mark.parametrize(("minutes", "status"), [(29, WRONG), (31, RIGHT)])
def test_a_lock_lasts_half_an_hour(minutes: int, status: int) -> None:
    statuses(10)

    pass_minutes(minutes)

    assert Visitor().sign_in(PASSWORD).status_code == status


def test_trying_a_locked_name_makes_its_lock_no_longer() -> None:
    statuses(10)
    until = count().locked_until

    pass_minutes(20)
    statuses(10)
    pass_minutes(11)

    assert count().locked_until == until - timedelta(minutes=31)
    assert Visitor().sign_in(PASSWORD).status_code == RIGHT


def test_after_a_lock_ten_more_are_counted() -> None:
    statuses(10)
    pass_minutes(31)

    statuses(9)

    assert count().wrong_in_a_row == 9
    assert Visitor().sign_in(PASSWORD).status_code == RIGHT


def test_a_name_is_the_same_in_any_case() -> None:
    statuses(5, name="OPERATOR@example.com")
    statuses(5, name=" operator@EXAMPLE.com ")

    assert Visitor().sign_in(PASSWORD).status_code == WRONG


def test_a_locked_name_locks_no_other() -> None:
    an_operator("second@example.com")
    statuses(11)

    assert Visitor().sign_in(PASSWORD, "second@example.com").status_code == RIGHT


def test_somebody_who_may_not_sign_in_is_counted_too(operator: User) -> None:
    User.objects.filter(pk=operator.pk).update(is_active=False)
    statuses(10, PASSWORD)
    User.objects.filter(pk=operator.pk).update(is_active=True)

    assert Visitor().sign_in(PASSWORD).status_code == WRONG


@pytest.mark.parametrize("door", [authenticate, async_to_sync(aauthenticate)])
def test_any_door_of_djangos_is_within_the_limit(door: Callable[..., User | None]) -> None:
    for _ in range(10):
        assert door(email=NAME, password="wrong") is None

    assert door(email=NAME, password=PASSWORD) is None


# --- The old password -----------------------------------------------------------------------


@pytest.fixture
def inside() -> Visitor:
    visitor = Visitor()
    visitor.sign_in(PASSWORD)
    return visitor


def test_an_operator_changes_their_password(inside: Visitor) -> None:
    assert inside.change_password(PASSWORD).status_code == RIGHT

    assert Visitor().sign_in("another long password").status_code == RIGHT


def test_the_old_password_cannot_be_guessed_either(inside: Visitor) -> None:
    assert {inside.change_password("wrong").status_code for _ in range(10)} == {WRONG}

    assert inside.change_password(PASSWORD).status_code == WRONG
    assert Visitor("203.0.113.8").sign_in(PASSWORD).status_code == WRONG


def test_wrong_passwords_of_both_doors_are_counted_together(inside: Visitor) -> None:
    for _ in range(5):
        inside.change_password("wrong")
    statuses(5)

    assert inside.change_password(PASSWORD).status_code == WRONG


def test_guesses_of_the_old_password_count_for_the_address(inside: Visitor) -> None:
    for _ in range(29):
        inside.change_password("wrong")

    refused = inside.change_password("wrong")

    assert refused.status_code == 429
    assert "Too many tries" in refused.content.decode()


# --- An address -----------------------------------------------------------------------------


def guess_from(address: str, times: int) -> list[int]:
    return [
        Visitor(address).sign_in("wrong", f"{number}@example.com").status_code
        for number in range(times)
    ]


def test_the_31st_try_of_a_minute_is_refused_in_words() -> None:
    assert set(guess_from("203.0.113.7", 30)) == {WRONG}

    refused = Visitor("203.0.113.7").sign_in(PASSWORD)

    assert refused.status_code == 429
    assert 50 <= int(refused["Retry-After"]) <= 60
    assert "<h1>Too many tries</h1>" in refused.content.decode()
    assert Visitor("203.0.113.8").sign_in(PASSWORD).status_code == RIGHT


@pytest.mark.dear("a thousand tries are sent")
def test_of_a_thousand_names_from_one_address_thirty_are_looked_at(
    watched: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long the machine takes for them, the minute does not end.
    real = limits._wait_of
    monkeypatch.setattr(
        limits,
        "_wait_of",
        lambda name, limit, seconds: real(name, limit=limit, seconds=seconds * 60),
    )

    tried = guess_from("203.0.113.7", 1_000)

    assert tried == [WRONG] * 30 + [429] * 970
    assert (len(watched.made), watched.compared) == (30, [])
    assert rows_kept() == 0
    assert Visitor("203.0.113.8").sign_in(PASSWORD).status_code == RIGHT


def rows_kept() -> int:
    """Count the rows of sessions and of the cache of sign-ins."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM merchants_session) + (SELECT count(*) FROM sign_in_cache)"
        )
        return int(cursor.fetchone()[0])


def test_right_passwords_count_for_the_address_too() -> None:
    tried = [Visitor().sign_in(PASSWORD).status_code for _ in range(31)]

    assert tried == [RIGHT] * 30 + [429]


def test_a_program_that_guesses_is_refused_in_json() -> None:
    guess_from("203.0.113.7", 30)

    refused = Visitor("203.0.113.7").http.post(SIGN_IN, {"login": NAME, "password": "x"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit")


def test_what_an_address_may_not_try_any_more_is_neither_counted_nor_hashed(
    watched: Hashes,
) -> None:
    guess_from("203.0.113.7", 30)
    watched.forget()

    Visitor("203.0.113.7").sign_in(PASSWORD)

    assert (watched.compared, watched.made) == ([], [])
    assert count().wrong_in_a_row == 0


def test_failed_calls_of_the_api_are_counted_apart() -> None:
    for _ in range(30):
        limits.count_failed_authentication("203.0.113.7")

    assert Visitor("203.0.113.7").sign_in(PASSWORD).status_code == RIGHT


def test_without_redis_the_process_counts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "counts_here", limits.CountHere(names=10))

    with refusing_port() as port, redis_at(f"redis://127.0.0.1:{port}"):
        tried = guess_from("203.0.113.7", 32)

    assert tried == [WRONG] * 30 + [429, 429]


@override_settings(PROXY_HOPS=1)
def test_a_guesser_cannot_hide_behind_a_forged_header() -> None:
    visitor = Visitor("10.0.0.1")
    typed = {"login": NOBODY, "password": "wrong"}

    def guess(number: int) -> int:
        seen = {"x-forwarded-for": f"198.51.100.{number}, 203.0.113.7"}
        return visitor.http.post(SIGN_IN, typed, headers=HTML | seen).status_code

    assert [guess(number) for number in range(31)] == [WRONG] * 30 + [429]


# --- Unknown, wrong, locked -----------------------------------------------------------------


def seen_by(name: str, password: str = "wrong") -> dict[str, Any]:
    """Return all that a guesser can see or measure of one try."""
    hashes.forget()
    visitor = Visitor(f"198.51.100.{next(HOSTS)}")
    with CaptureQueriesContext(connection) as asked:
        response = visitor.sign_in(password, name)
    page = response.content.decode().replace(name, "NAME")
    page = re.sub(r'(csrfmiddlewaretoken" value)="\w+"', r"\1", page)
    queries = [re.sub(r"'[^']*'(::bytea)?", "?", query["sql"]) for query in asked]
    return {
        "page": page,
        "status": response.status_code,
        "headers": {
            k: v for k, v in response.headers.items() if k not in ("Request-Id", "Expires")
        },
        "cookies": sorted(response.cookies),
        "queries": [re.sub(r"(s\d+_x\d+)", "s", query) for query in queries],
        "hashes": len(hashes.made) + len(hashes.compared),
    }


def test_unknown_wrong_and_locked_names_cannot_be_told_apart(watched: Hashes) -> None:
    wrong, unknown = seen_by(NAME), seen_by(NOBODY)
    statuses(10)
    statuses(10, name=NOBODY)

    locked, unknown_locked = seen_by(NAME), seen_by(NOBODY)
    right_but_locked = seen_by(NAME, PASSWORD)

    assert wrong["status"] == WRONG
    assert wrong["hashes"] == 1
    # The first try of a name, and any later one, are the same statements.
    assert wrong == unknown == locked == unknown_locked == right_but_locked


def test_an_operator_without_a_password_takes_as_long(watched: Hashes, operator: User) -> None:
    wrong = seen_by(NAME)
    operator.set_unusable_password()
    operator.save()

    assert seen_by(NAME) == wrong


def test_a_locked_names_password_is_not_compared(watched: Hashes) -> None:
    statuses(10)

    statuses(3, PASSWORD)

    assert watched.compared == ["wrong"] * 10
    assert watched.made == [PASSWORD] * 3


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("name", [CARD, "my secret password", "x" * 5000, "ünïcode@example.com"])
def test_what_was_typed_into_the_wrong_field_is_kept_nowhere(
    name: str, capsys: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture
) -> None:
    statuses(11, "the password typed", name)

    with connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM merchants_session t")
        kept = str(cursor.fetchall())
        cursor.execute("SELECT t::text FROM sign_in_cache t")
        kept += str(cursor.fetchall())
    written = caplog.text + "".join(capsys.readouterr())
    assert "/account/login" in written
    for secret in (name, name.upper(), "the password typed", name.encode().hex()):
        assert secret not in kept + written


def test_the_log_tells_which_user_is_tried(
    operator: User, caplog: pytest.LogCaptureFixture
) -> None:
    statuses(11)
    Visitor().sign_in("wrong", NOBODY)

    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    refused = [line for line in lines if line["event"] == "sign_in_refused"]

    assert [line["reason"] for line in refused] == [
        *["wrong"] * 9,
        "wrong_and_locked_now",
        "locked",
        "wrong",
    ]
    assert [line["user"] for line in refused] == [operator.pk] * 11 + [None]
    assert len({line["name_hash"] for line in refused}) == 2


# --- Garbage --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", " ", "\0", "a\0b", "🙂", "x" * 100_000])
def test_no_name_is_a_crash(name: str) -> None:
    assert Visitor().sign_in("wrong", name).status_code == WRONG


@pytest.mark.parametrize("field", ["login", "password", "oldpassword", "password1"])
@pytest.mark.parametrize("charset", ["utf-7", "UTF-16"])
def test_half_a_character_is_no_crash(field: str, charset: str, inside: Visitor) -> None:
    path = CHANGE if field in ("oldpassword", "password1") else SIGN_IN
    names = {"login": NAME, "password": "x", "oldpassword": "x", "password1": "x"}
    body = encode_multipart(BOUNDARY, names | {field: "+2AA-"})
    sent_as = f"{MULTIPART_CONTENT}; charset={charset}"

    answer = inside.http.generic("POST", path, body, content_type=sent_as, headers=HTML)

    assert answer.status_code == 400


# --- Unlocking ------------------------------------------------------------------


def test_an_operator_of_the_machine_unlocks_a_name(capsys: pytest.CaptureFixture) -> None:
    statuses(11)

    call_command("unlock_sign_in", "Operator@example.com")

    assert "may sign in" in capsys.readouterr().out
    assert AuditEntry.objects.get(action="sign_in.unlocked").actor == "command"
    assert Visitor().sign_in(PASSWORD).status_code == RIGHT


def test_a_name_that_is_not_locked_is_told_so(capsys: pytest.CaptureFixture) -> None:
    call_command("unlock_sign_in", NOBODY)

    assert "not locked" in capsys.readouterr().out


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    "change", [{"wrong_in_a_row": 12}, {"wrong_in_a_row": 0}, {"locked_until": None}]
)
def test_the_database_refuses_a_count_that_makes_no_sense(change: dict[str, Any]) -> None:
    statuses(10)

    with pytest.raises(IntegrityError, match="ten_wrong_in_a_row_lock_a_user"):
        User.objects.update(**change)
