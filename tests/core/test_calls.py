"""Statements that go to PostgreSQL by libpq's own calls, beside what psycopg's cursor does."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import psycopg
import pytest
from django.conf import settings as settings_of
from django.db import DataError, IntegrityError, OperationalError, connection, transaction
from psycopg.pq import TransactionStatus

from core import prepared
from core.postgresql.calls import CursorCall, StatementCall
from payments.intents.states import PaymentStatus

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("by_libpq_or_cursor")]

KINDS = """
SELECT %(text)s::text, %(number)s::bigint, %(amount)s::numeric, %(is_it)s::boolean,
    %(at)s::timestamptz, %(day)s::date, %(bytes)s::bytea, %(nothing)s::text, %(numbers)s::int[]
"""
AT = datetime(2026, 7, 1, 12, 30, 0, 123456, tzinfo=UTC)
VALUES = {
    "text": "ğ € %s 'x' \\",
    "number": -(2**63),
    "amount": Decimal("1E-3"),
    "is_it": False,
    "at": AT,
    "day": AT.date(),
    "bytes": b"\0\xff\\x",
    "nothing": None,
    "numbers": "{1,2}",
}


def test_a_statement_is_prepared_by_both() -> None:
    for number in (1, 2):
        assert prepared.rows("SELECT 'both', %(n)s::int", {"n": number}) == [("both", number)]

    kept = prepared.rows(
        "SELECT generic_plans + custom_plans FROM pg_prepared_statements"
        " WHERE statement LIKE 'SELECT ''both''%%' AND name LIKE %(name)s::text",
        {"name": "call%" if settings_of.LIBPQ_CALLS else "\\_pg3%"},
    )
    assert kept == [(2,)]


def test_each_kind_of_value_goes_there_and_comes_back() -> None:
    assert prepared.rows(KINDS, VALUES) == [
        (
            "ğ € %s 'x' \\",
            -(2**63),
            Decimal("0.001"),
            False,
            AT,
            AT.date(),
            b"\0\xff\\x",
            None,
            [1, 2],
        )
    ]


def test_a_status_is_sent_as_its_value() -> None:
    assert prepared.rows("SELECT %(one)s::text", {"one": PaymentStatus.SUCCEEDED}) == [
        ("succeeded",)
    ]


def test_a_value_may_stand_twice_and_a_percent_sign_stays_one() -> None:
    found = prepared.rows("SELECT %(b)s::int - %(a)s::int, %(b)s::int, '%%'", {"a": 1, "b": 3})

    assert found == [(2, 3, "%")]


def test_rows_without_columns_are_counted() -> None:
    query = "SELECT FROM generate_series(1, %(most)s::int)"

    assert [prepared.rows(query, {"most": most}) for most in (2, 0)] == [[(), ()], []]


def test_a_text_is_never_cut_off_at_a_nul() -> None:
    with pytest.raises(DataError, match="NUL"):
        prepared.rows("SELECT %(one)s::text", {"one": "acct_1\0rest"})


def test_a_value_whose_type_is_left_to_a_guess_is_refused() -> None:
    with pytest.raises(ValueError, match="two needs a type"):
        prepared.rows("SELECT %(one)s::int, %(two)s", {"one": 1, "two": 2})


def test_an_array_of_moments_numbers_and_ids_is_one_text() -> None:
    moments = [AT, datetime(2026, 1, 1, tzinfo=UTC)]
    text = prepared.array(str(moment).replace(" ", "T") for moment in moments)

    assert prepared.rows("SELECT %(at)s::timestamptz[]", {"at": text}) == [(moments,)]
    assert prepared.array([1, -2, True, "whd_1"]) == "{1,-2,True,whd_1}"
    assert prepared.array([]) == "{}"


@pytest.mark.parametrize("element", ["a b", 'a"', "a,b", "{a}", "a\\b", "ğ", "a\0"])
def test_an_element_that_would_need_quotes_is_refused(element: str) -> None:
    with pytest.raises(ValueError, match="array's text"):
        prepared.array([element])


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, (1,), memoryview(b"x"), bytearray(b"x"), object()]
)
def test_a_value_whose_text_may_be_another_than_postgresqls_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="not sent as text"):
        prepared.rows("SELECT %(one)s::text", {"one": value})


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("SELECT 1 / %(one)s::int", {"one": 0}),
        ("SELECT %(one)s::int", {"one": "x"}),
        ("SELECT no_such_function(%(one)s::int)", {"one": 1}),
        ("SELEC %(one)s::int", {"one": 1}),
        ("SELECT %(one)s::smallint", {"one": 2**40}),
        ("SELECT %(one)s::text", {"one": "\ud800"}),
    ],
)
def test_what_fails_fails_as_at_a_cursor_of_psycopg(query: str, values: dict[str, Any]) -> None:
    def failure(execute: Callable[[psycopg.Connection], Any]) -> tuple[type, str | None]:
        with psycopg.connect(**connection.get_connection_params()) as raw:
            with pytest.raises((psycopg.Error, UnicodeError)) as caught:
                execute(raw)
            raw.rollback()
        return type(caught.value), getattr(caught.value, "sqlstate", None)

    expected = failure(lambda raw: raw.execute(query, values, prepare=True))

    for made, keep in product((StatementCall, CursorCall), (True, False)):
        assert failure(lambda raw: made(raw, keep=keep).execute(query, values)) == expected  # noqa: B023


def test_a_constraint_is_told_with_its_name() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE one (id int CONSTRAINT only_one CHECK (id = 1))")
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        prepared.run("INSERT INTO one VALUES (%(id)s::int)", {"id": 2})

    assert caught.value.__cause__.diag.constraint_name == "only_one"


@pytest.mark.django_db(transaction=True)
def test_a_transaction_begins_with_it_in_psycopgs_own_words() -> None:
    with transaction.atomic():
        raw = connection.connection
        assert raw.info.transaction_status == TransactionStatus.IDLE
        assert prepared.rows("SHOW transaction_isolation", {}) == [("read committed",)]
        assert raw.info.transaction_status == TransactionStatus.INTRANS
        assert raw.read_only is None
        assert raw.deferrable is None

    assert raw.info.transaction_status == TransactionStatus.IDLE


@pytest.mark.django_db(transaction=True)
def test_what_is_prepared_outlives_a_rollback() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE kept (id int)")
    with transaction.atomic():
        prepared.run("INSERT INTO kept VALUES (%(id)s::int)", {"id": 1})
        transaction.set_rollback(True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")  # psycopg would throw its own away by now.

    assert prepared.run("INSERT INTO kept VALUES (%(id)s::int)", {"id": 2}) == 1
    assert prepared.rows("SELECT id FROM kept", {}) == [(2,)]


@pytest.mark.django_db(transaction=True)
def test_other_threads_run_while_it_waits() -> None:
    seen: list[str] = []
    lock = "SELECT pg_advisory_lock(4711)"
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        other.execute(lock)

        def wait() -> None:
            prepared.run("SELECT pg_advisory_lock(4711)", {})
            seen.append("got it")
            connection.close()

        waiter = threading.Thread(target=wait)
        waiter.start()
        while not other.execute(
            "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        ).fetchall():
            time.sleep(0.01)
        seen.append("we ran")
        other.execute("SELECT pg_advisory_unlock(4711)")
        waiter.join()

    assert seen == ["we ran", "got it"]


@pytest.mark.django_db(transaction=True)
def test_after_its_connection_is_gone_the_next_statement_has_another() -> None:
    with pytest.raises(OperationalError, match="terminating connection"):
        prepared.rows("SELECT pg_terminate_backend(pg_backend_pid())", {})

    assert prepared.rows("SELECT 1", {}) == [(1,)]
