"""A session ends when it is idle, after 12 hours, and with its password (docs/signing-in.md)."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from merchants import tasks
from merchants.models import User
from merchants.sessions import BEGUN_AT, SessionStore
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
    Session.objects.update(session_data=held.encode(without))

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
    visitor.http.post("/admin/logout/")
    visitor.http.cookies["sessionid"] = key

    assert not visitor.is_inside()
    assert not Session.objects.exists()


@pytest.mark.parametrize("path", ["/docs/errors", "/healthz", INSIDE, "/admin/login/"])
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

    tasks.forget_sign_ins()

    assert Session.objects.count() == 1
