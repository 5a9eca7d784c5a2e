"""Every page that is only shown gives its questions to the database three seconds each.

The person's own, before the page, are among them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from core import context
from panel import patience
from panel.merchants import overview
from panel.patience import TookTooLong, limited, tighten
from panel.permissions import PAGES
from tests.stage.client import ApiClient
from tests.stage.panel_pages import address_of, addresses
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# A person is found by these; no page goes without.
PERSONS = ("merchants_session", "merchants_user", "merchants_member")
SLEEP = "SELECT pg_sleep(60)"


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


@contextmanager
def limits_seen() -> Iterator[list[tuple[str, str]]]:
    """Note the limit that holds for each question, with its text."""
    seen: list[tuple[str, str]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, given: Any) -> Any:
        if sql.lstrip().startswith("SELECT"):
            seen.append((current(), sql))
        return execute(sql, params, many, given)

    with connection.execute_wrapper(note):
        yield seen


def current() -> str:
    # Past Django's cursors, which would be noted too.
    with connection.connection.cursor() as cursor:
        [[found]] = cursor.execute("SHOW statement_timeout").fetchall()
    return str(found)


@pytest.mark.parametrize("name", PAGES)
def test_each_question_of_each_page_is_limited(owner: Client, acme: ApiClient, name: str) -> None:
    url = address_of(name, acme.merchant)

    with limits_seen() as seen:
        page = owner.get(url, {"q": "order"})

    assert page.status_code == 200
    assert [sql for limit, sql in seen if limit not in ("3s", "2s", "1500ms")] == []
    assert [
        table for table in PERSONS if not any(f'FROM "{table}"' in sql for _, sql in seen)
    ] == []
    assert current() == "0"


@pytest.mark.parametrize(
    ("table", "path"),
    [*((table, "/panel/{}") for table in PERSONS), ("merchants_user", "/account/security")],
)
def test_a_person_who_is_not_found_in_time_is_told_so(
    owner: Client, acme: ApiClient, table: str, path: str
) -> None:
    url = path.format(acme.merchant.id)

    def ask_slowly(execute: Any, sql: str, *rest: Any) -> Any:
        if f'FROM "{table}"' in sql:
            # It hangs in the database, for as long as the page's own limit lets it.
            ask("SET LOCAL statement_timeout = 5") if current() == "3s" else None
            return execute(SLEEP, None, *rest[1:])
        return execute(sql, *rest)

    with connection.execute_wrapper(ask_slowly):
        page = owner.get(url)

    assert page.status_code == 503
    assert "This took too long" in page.content.decode()
    assert page["Cache-Control"] == "private, no-store"
    assert owner.get(url).status_code == 200


def test_a_page_that_takes_too_long_says_so(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "steps", lambda _member: ask(SLEEP))

    page = owner.get(f"/panel/{acme.merchant.id}")

    assert page.status_code == 503
    assert "Narrow the time" in page.content.decode()
    assert page["Cache-Control"] == "private, no-store"
    assert owner.get(f"/panel/{acme.merchant.id}/websites").status_code == 200


def test_many_slow_questions_get_what_is_left_of_five_seconds(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "WHOLE_MS", 5_000)
    now, limits = [1_000.0], []

    def ask_slowly(_member: Any) -> None:
        for _ in range(5):
            ask("SELECT 1")
            limits.append(current())
            now[0] += 1.5

    monkeypatch.setattr(patience, "monotonic", lambda: now[0])
    monkeypatch.setattr(context, "spent_seconds", lambda: 0.0)
    monkeypatch.setattr(overview, "steps", ask_slowly)

    page = owner.get(f"/panel/{acme.merchant.id}")

    assert limits == ["3s", "3s", "2s", "500ms"]
    assert page.status_code == 503
    assert "Narrow the time" in page.content.decode()
    assert owner.get(f"/panel/{acme.merchant.id}/websites").status_code == 200


@pytest.mark.parametrize(("spent", "status"), [(4.0, 200), (5.0, 503), (9.0, 503)])
def test_what_comes_before_a_page_is_part_of_its_five_seconds(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch, spent: float, status: int
) -> None:
    limits: list[str] = []
    monkeypatch.setattr(patience, "WHOLE_MS", 5_000)
    monkeypatch.setattr(patience, "monotonic", lambda: 1_000.0)
    monkeypatch.setattr(context, "spent_seconds", lambda: spent)
    monkeypatch.setattr(overview, "steps", lambda _member: limits.append(current()) or [])

    page = owner.get(f"/panel/{acme.merchant.id}")

    assert page.status_code == status
    assert limits == (["1s"] if status == 200 else [])


def test_the_time_of_a_page_begins_with_its_request(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    monkeypatch.setattr(
        overview, "steps", lambda _member: seen.append(context.spent_seconds()) or []
    )

    owner.get(f"/panel/{acme.merchant.id}")

    assert seen[0] > 0


def test_a_longer_limit_is_the_whole_time_of_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "WHOLE_MS", 5_000)
    monkeypatch.setattr(patience, "monotonic", iter([0.0, 9.0, 11.0]).__next__)

    with limited(10_000):
        ask("SELECT 1")
        assert current() == "1s"
        with pytest.raises(TookTooLong):
            ask("SELECT 1")


def test_a_block_inside_has_its_own_limit_and_leaves_the_outer_one() -> None:
    with limited(2_000):
        with limited(1_000):
            inner = current()
        after = current()
        with pytest.raises(TookTooLong), limited(5):
            ask(SLEEP)
        assert (inner, after, current()) == ("1s", "2s", "2s")
        with pytest.raises(ValueError, match="refused"), limited(1_000):
            raise ValueError("refused")
        assert current() == "2s"
    assert current() == "0"


def test_a_limit_that_is_tightened_ends_with_its_block() -> None:
    with limited(2_000):
        with limited(2_000):
            tighten(1_000)
            assert current() == "1s"
        assert current() == "2s"
        with pytest.raises(TookTooLong), limited(2_000):
            ask_with_little_time()
        assert current() == "2s"


def ask_with_little_time() -> None:
    tighten(5)
    ask(SLEEP)


def test_a_block_with_the_same_limit_sets_it_once() -> None:
    with limited(), all_statements() as statements, limited():
        pass

    assert [one for one in statements if "timeout" in one] == []


@contextmanager
def all_statements() -> Iterator[list[str]]:
    statements: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, given: Any) -> Any:
        statements.append(sql)
        return execute(sql, params, many, given)

    with connection.execute_wrapper(note):
        yield statements


def ask(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_no_page_begins_a_transaction_that_must_be_the_outermost(
    owner: Client, acme: ApiClient
) -> None:
    answers = {name: owner.get(url).status_code for name, url in addresses(acme.merchant).items()}

    assert {name: status for name, status in answers.items() if status != 200} == {}
    assert current() == "0"
