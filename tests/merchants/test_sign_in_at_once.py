"""Passwords that come together: no more are compared than are counted, one at a time."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.hashers import make_password
from django.db import connections

from merchants import operators, passwords, sign_in
from merchants.models import User
from merchants.passwords import Turns
from tests.stage.client import ApiClient
from tests.stage.held_hashes import HELD, PATIENCE_SECONDS, Hashes, hashes
from tests.stage.second_factors import (
    add_app,
    add_recovery_codes,
    code,
    half_signed_in,
    send_code,
    wrong_code,
)
from tests.stage.threads import together
from tests.stage.visitors import HTML, NAME, PASSWORD, RIGHT, WRONG, Visitor, an_operator

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

BUSY = 503


class NoTurns:
    """As many processes: the hash of one waits for no other's."""

    taken = staticmethod(nullcontext)


@pytest.fixture
def held(settings: Any) -> Iterator[Hashes]:
    """The hashes, which a test may hold, and an operator."""
    settings.PASSWORD_HASHERS = HELD
    an_operator()
    hashes.forget()
    yield hashes
    hashes.let_go()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's wait for their turn ends by itself."""
    turns = Turns(waiting=passwords.WAITING_MAX, seconds=PATIENCE_SECONDS)
    monkeypatch.setattr(passwords, "turns", turns)


@contextmanager
def begun(calls: list[Callable[[], Any]]) -> Iterator[list[Future]]:
    """Begin the calls, each in a thread of its own."""

    def run(call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        try:
            yield [pool.submit(run, call) for call in calls]
        finally:
            hashes.let_go()


def visits(times: int, password: str = PASSWORD) -> list[Callable[[], Any]]:
    """Return sign-ins of the operator, each from an address of its own."""
    return [partial(Visitor(f"198.51.100.{n}").sign_in, password) for n in range(times)]


def ended(done: set[Future] | list[Future]) -> Counter:
    return Counter(future.result(PATIENCE_SECONDS).status_code for future in done)


@contextmanager
def a_hash_under_way(held: Hashes) -> Iterator[Future]:
    held.hold()
    with begun(visits(1)) as [first]:
        assert held.begun.wait(PATIENCE_SECONDS)
        yield first


def test_of_40_guesses_at_once_ten_are_compared(
    held: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "turns", NoTurns())

    answers = together(visits(40, "wrong"))

    assert {answer.status_code for answer in answers} == {WRONG}
    assert len(held.compared) == 10
    assert len(held.made) == 30
    assert Visitor().sign_in(PASSWORD).status_code == WRONG


def test_of_40_guesses_at_once_with_the_right_one_among_the_last_none_passes(
    held: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "turns", NoTurns())
    together(visits(10, "wrong"))

    answers = together(visits(30))

    assert {answer.status_code for answer in answers} == {WRONG}


@pytest.mark.usefixtures("patient")
def test_while_a_hash_is_computed_four_wait_and_the_fifth_is_told_to_come_back(
    held: Hashes,
) -> None:
    with a_hash_under_way(held) as first, begun(visits(5)) as others:
        done, waiting = wait(others, PATIENCE_SECONDS, FIRST_COMPLETED)

        assert ended(done) == {BUSY: 1}
        assert held.compared == [PASSWORD]
        held.let_go()
        assert ended([first, *waiting]) == {RIGHT: 5}


@pytest.mark.usefixtures("patient")
def test_the_api_answers_while_twenty_people_sign_in(held: Hashes, acme: ApiClient) -> None:
    with a_hash_under_way(held) as first, begun(visits(19)) as others:
        refused = set(islice(as_completed(others, PATIENCE_SECONDS), 15))

        assert acme.pay().status == 200
        assert not first.done()
        assert ended(refused) == {BUSY: 15}
        assert held.compared == [PASSWORD]
        held.let_go()
        assert ended([first, *(set(others) - refused)]) == {RIGHT: 5}


def test_a_wait_ends_while_the_hash_before_it_goes_on(held: Hashes) -> None:
    with a_hash_under_way(held) as first:
        refused = Visitor().sign_in(PASSWORD)

        assert not first.done()
    assert refused.status_code == BUSY
    assert int(refused["Retry-After"]) > 0
    page = refused.content.decode()
    assert "<h1>Many people are signing in</h1>" in page
    assert "sessionid" not in refused.cookies


def test_after_refused_waits_the_next_one_is_heard(
    held: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "turns", Turns(waiting=1, seconds=0))
    with a_hash_under_way(held):
        refused = {Visitor().sign_in(PASSWORD).status_code for _ in range(3)}

    assert refused == {BUSY}
    assert Visitor().sign_in(PASSWORD).status_code == RIGHT


def test_who_is_told_to_come_back_is_not_counted_against_the_name(
    held: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "turns", Turns(waiting=0, seconds=0))
    with a_hash_under_way(held):
        refused = [Visitor().sign_in("wrong").status_code for _ in range(12)]

    assert refused == [BUSY] * 12
    assert not User.objects.filter(wrong_in_a_row__gt=0).exists()


def test_an_operator_who_chooses_a_password_waits_for_their_turn_too(
    held: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "turns", Turns(waiting=0, seconds=0))
    by = User.objects.get(email=NAME)
    terms = {"invitation_id": "opi_1", "reason": "x"}
    _row, token = operators.invite(by, "ada@example.com", ["risk"], **terms)
    visitor = Visitor()
    visitor.http.get(f"/account/invitation/{token}")

    with a_hash_under_way(held):
        typed = {"password": "another long password"}
        refused = visitor.http.post("/account/invitation", typed, headers=HTML)

    assert refused.status_code == BUSY
    assert not User.objects.filter(email="ada@example.com").exists()


def test_a_hash_that_fails_gives_its_turn_back(
    held: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Hashes, "compute", fail)
        assert {Visitor().sign_in(PASSWORD).status_code for _ in range(7)} == {500}

    assert Visitor().sign_in(PASSWORD).status_code == RIGHT


def test_a_try_is_counted_although_its_hash_fails(
    held: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr(sign_in, "_compare", fail)
    Visitor().sign_in(PASSWORD)

    assert User.objects.get().wrong_in_a_row == 1


def test_the_services_own_hash_is_djangos_on_one_core(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["merchants.passwords.Argon2InTurn"]

    encoded = make_password(PASSWORD)

    assert encoded.startswith("argon2$argon2id$v=19$m=102400,t=2,p=1$")
    user = User(password=encoded)
    assert user.check_password(PASSWORD)
    assert not user.check_password("wrong")


# --- Codes --------------------------------------------------------------------------------------


def test_of_one_code_sent_at_once_one_passes(held: Hashes, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    user = User.objects.get(email=NAME)
    add_app(user)
    waiting = [half_signed_in(NAME, f"198.51.100.{number}") for number in range(9)]

    answers = together([partial(send_code, one, code()) for one in waiting])

    assert Counter(answers) == {RIGHT: 1, WRONG: 8}


def test_of_one_recovery_code_sent_at_once_one_passes(held: Hashes) -> None:
    user = User.objects.get(email=NAME)
    add_app(user)
    [spare, *_] = add_recovery_codes(user)
    waiting = [half_signed_in(NAME, f"198.51.100.{number}") for number in range(9)]

    answers = together([partial(send_code, one, spare) for one in waiting])

    assert Counter(answers) == {RIGHT: 1, WRONG: 8}


def test_of_30_wrong_codes_at_once_ten_are_looked_at(
    held: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = User.objects.get(email=NAME)
    add_app(user)
    waiting = [half_signed_in(NAME, f"198.51.100.{number}") for number in range(30)]
    looked_at: list[str] = []
    real = TOTP.validate_code

    def watched(self: TOTP, typed: str) -> bool:
        looked_at.append(typed)
        return bool(real(self, typed))

    monkeypatch.setattr(TOTP, "validate_code", watched)

    answers = together([partial(send_code, one, wrong_code()) for one in waiting])

    assert set(answers) == {WRONG}
    assert len(looked_at) == 10
