"""A session ends when it is idle, after 12 hours, and with its password.

See docs/reference/signing-in.md.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from merchants import sessions, tasks
from merchants.accounts import open_account
from merchants.models import AuditEntry, Session, User
from merchants.sessions import BEGUN_AT, SessionStore
from panel.merchants import overview
from panel.merchants import urls as panel_urls
from tests.stage.client import ApiClient
from tests.stage.visitors import INSIDE, PASSWORD, Visitor, an_operator

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

Wait = Callable[[float], None]


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Wait:
    """Let so many minutes of real time be over."""
    now, passed = timezone.now, timedelta()

    def pass_minutes(minutes: float) -> None:
        nonlocal passed
        passed += timedelta(minutes=minutes)

    monkeypatch.setattr(timezone, "now", lambda: now() + passed)
    return pass_minutes


@pytest.fixture
def operator(db: None) -> User:
    return an_operator()


@pytest.fixture(autouse=True)
def limits_of_live(settings: Any) -> None:
    settings.SESSION_IDLE_SECONDS, settings.SESSION_SECONDS = 15 * 60, 12 * 3600


@pytest.fixture
def visitor(operator: User) -> Visitor:
    visitor = Visitor()
    visitor.sign_in(PASSWORD)
    assert visitor.is_inside()
    return visitor


@pytest.mark.parametrize(("minutes", "is_inside"), [(14, True), (16, False)])
def test_a_session_that_is_not_used_ends_after_15_minutes(
    visitor: Visitor, wait: Wait, minutes: int, is_inside: bool
) -> None:
    wait(minutes)

    assert visitor.is_inside() is is_inside


def test_each_use_begins_the_15_minutes_anew(visitor: Visitor, wait: Wait) -> None:
    for _ in range(4):
        wait(14)
        assert visitor.is_inside()


def test_a_session_that_is_always_used_ends_after_12_hours(visitor: Visitor, wait: Wait) -> None:
    for _ in range(71):
        wait(10)
        assert visitor.is_inside()

    wait(9)
    before = visitor.is_inside()
    wait(2)

    assert (before, visitor.is_inside()) == (True, False)


def test_changing_a_session_does_not_prolong_it_beyond_12_hours(
    visitor: Visitor, wait: Wait
) -> None:
    key = visitor.http.cookies["sessionid"].value
    for _ in range(71):
        wait(10)
        held = SessionStore(key)
        held["seen"] = True
        held.save()

    wait(11)

    assert not visitor.is_inside()


def test_a_sign_in_begins_12_hours_of_its_own(operator: User, wait: Wait) -> None:
    early, visitor = SessionStore(), Visitor()
    early["a page"] = "seen before the sign-in"
    early.save()
    visitor.http.cookies["sessionid"] = early.session_key
    wait(10)
    visitor.sign_in(PASSWORD)
    for _ in range(71):
        wait(10)
        assert visitor.is_inside()

    assert visitor.http.cookies["sessionid"].value != early.session_key


def test_a_session_that_tells_no_beginning_is_none(visitor: Visitor) -> None:
    key = visitor.http.cookies["sessionid"].value
    held = SessionStore(key)
    without = {name: value for name, value in held.items() if name != BEGUN_AT}
    Session.objects.update(session_data=sessions._sealed(without, sessions.row_name(key)))

    assert not visitor.is_inside()


def test_the_cookie_says_nothing_of_the_end_and_scripts_cannot_read_it(operator: User) -> None:
    cookie = Visitor().sign_in(PASSWORD).cookies["sessionid"]

    assert (cookie["max-age"], cookie["expires"]) == ("", "")
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_a_new_password_ends_the_sessions_of_others_only(visitor: Visitor) -> None:
    elsewhere = Visitor("203.0.113.8")
    elsewhere.sign_in(PASSWORD)

    visitor.change_password(PASSWORD)

    assert visitor.is_inside()
    assert not elsewhere.is_inside()


def test_a_password_that_is_set_by_somebody_else_ends_the_session(
    visitor: Visitor, operator: User
) -> None:
    operator.set_password("another long password")
    operator.save()

    assert not visitor.is_inside()


def test_who_is_no_operator_any_more_is_outside(visitor: Visitor, operator: User) -> None:
    User.objects.filter(pk=operator.pk).update(is_active=False)

    assert not visitor.is_inside()


def test_signing_out_ends_the_session(visitor: Visitor) -> None:
    key = visitor.http.cookies["sessionid"].value
    visitor.http.post("/account/logout")
    visitor.http.cookies["sessionid"] = key

    assert not visitor.is_inside()
    assert not Session.objects.exists()


@pytest.mark.parametrize("path", ["/docs/errors", "/healthz", INSIDE, "/account/login"])
def test_a_made_up_session_leaves_no_row(operator: User, path: str) -> None:
    visitor = Visitor()
    visitor.http.cookies["sessionid"] = "a" * 32

    visitor.http.get(path)

    assert not Session.objects.exists()


def test_a_call_of_the_api_is_no_use_of_a_session(visitor: Visitor, acme: ApiClient) -> None:
    key, [before] = visitor.http.cookies["sessionid"].value, Session.objects.values()

    with CaptureQueriesContext(connection) as asked:
        acme.get("/v1/customers", cookie=f"sessionid={key}")

    assert [*Session.objects.values()] == [before]
    assert not any("django_session" in query["sql"] for query in asked)


def test_sessions_that_have_ended_are_deleted(visitor: Visitor, wait: Wait) -> None:
    wait(16)
    Visitor("203.0.113.8").sign_in(PASSWORD)

    tasks.forget_sessions()

    assert Session.objects.count() == 1


# --- A use that is written down -----------------------------------------------------------------


def seen_at() -> datetime:
    return Session.objects.get().seen_at


def test_a_use_is_written_down_once_a_minute(visitor: Visitor, wait: Wait) -> None:
    first = seen_at()
    wait(0.9)
    visitor.is_inside()
    within = seen_at()
    wait(0.2)
    visitor.is_inside()

    assert first == within < seen_at()


def test_a_page_that_asks_by_itself_keeps_nothing_alive(
    visitor: Visitor, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    polled = sessions.is_poll(overview.home)
    monkeypatch.setattr(home_address(), "callback", polled)
    for _ in range(8):
        wait(2)
        visitor.http.get("/panel/")

    assert not visitor.is_inside()


def home_address() -> Any:
    [found] = [one for one in panel_urls.urlpatterns if one.name == "home"]
    return found


# --- What is stored -----------------------------------------------------------------------------


def test_the_table_has_neither_a_key_nor_what_the_session_holds(visitor: Visitor) -> None:
    key = visitor.http.cookies["sessionid"].value
    with connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM merchants_session t")
        stored = str(cursor.fetchall())

    assert key not in stored
    assert "_auth_user" not in stored


def test_a_row_under_another_name_opens_nothing(visitor: Visitor) -> None:
    thief = SessionStore()
    thief.create()
    [mine] = Session.objects.exclude(user=None)
    Session.objects.filter(session_key=sessions.row_name(thief.session_key or "")).update(
        session_data=mine.session_data
    )
    visitor.http.cookies["sessionid"] = thief.session_key

    assert not visitor.is_inside()


def test_https_gives_cookies_that_are_of_this_host_alone() -> None:
    shown = settings_of({"BASE_URL": "https://pay.example"})

    assert shown == ["__Host-sessionid", "__Host-csrftoken", "True", "True"]


def settings_of(changes: dict[str, str]) -> list[str]:
    names = ("NAME", "SECURE")
    wanted = [f"{cookie}_COOKIE_{name}" for name in names for cookie in ("SESSION", "CSRF")]
    code = f"from config import settings; print(*[getattr(settings, n) for n in {wanted}])"
    environ = {**os.environ, **changes}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_who_gets_into_a_team_signs_in_anew(visitor: Visitor, operator: User) -> None:
    open_account(name="Globex", email=operator.email)

    assert not visitor.is_inside()
    assert AuditEntry.objects.filter(action="member.added", subject=str(operator.pk)).exists()


def test_a_key_that_a_stranger_chose_is_not_the_one_after_the_sign_in(operator: User) -> None:
    planted = SessionStore()
    planted.create()
    victim, thief = Visitor(), Visitor("203.0.113.8")
    victim.http.cookies["sessionid"] = thief.http.cookies["sessionid"] = planted.session_key

    victim.sign_in(PASSWORD)

    assert victim.is_inside()
    assert not thief.is_inside()
