"""Prepared statements that the connection does not have any more."""

import pytest
from django.db import NotSupportedError, OperationalError, connection, transaction
from psycopg import connect

from core import prepared
from tests.stage.client import ApiClient
from tests.stage.database_role import owners_address

pytestmark = pytest.mark.usefixtures("by_libpq_or_cursor")


def lose_them() -> None:
    """Do what a pooler does that gives a client another session: psycopg does not see it."""
    connection.connection.pgconn.exec_(b"DEALLOCATE ALL")


def in_another_session(statement: str) -> None:
    with connect(owners_address(), autocommit=True) as raw:
        raw.execute(statement)


@pytest.mark.django_db(transaction=True)
def test_a_request_whose_connection_has_lost_them_is_answered(acme: ApiClient) -> None:
    before = acme.get("/v1/balance").status
    lose_them()

    assert [before, *(acme.get("/v1/balance").status for _ in range(3))] == [200] * 4


@pytest.mark.django_db(transaction=True)
def test_in_a_transaction_it_may_be_tried_again() -> None:
    prepared.run("SELECT 1", {})
    lose_them()

    with pytest.raises(OperationalError), transaction.atomic():
        prepared.run("SELECT 1", {})

    assert prepared.rows("SELECT 1", {}) == [(1,)]


@pytest.mark.django_db(transaction=True)
def test_a_plan_that_a_change_of_its_table_made_useless_is_tried_again() -> None:
    in_another_session("CREATE TABLE changed (a integer); GRANT SELECT ON changed TO PUBLIC")
    try:
        prepared.rows("SELECT * FROM changed", {})
        in_another_session("ALTER TABLE changed ALTER a TYPE text")

        with pytest.raises(OperationalError):
            prepared.rows("SELECT * FROM changed", {})
        assert prepared.rows("SELECT * FROM changed", {}) == []
    finally:
        in_another_session("DROP TABLE changed")


@pytest.mark.django_db
def test_what_the_server_cannot_do_is_an_error_and_not_tried_again() -> None:
    for _ in range(2):
        with pytest.raises(NotSupportedError), transaction.atomic():
            prepared.rows("SELECT count(*) FROM django_migrations FOR UPDATE", {})
