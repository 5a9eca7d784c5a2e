"""Prepared statements that the connection does not have any more."""

from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from core import prepared
from tests.stage.client import ApiClient

pytestmark = pytest.mark.usefixtures("_by_libpq_or_cursor")


@pytest.fixture(params=[True, False], ids=["libpq", "cursor"])
def _by_libpq_or_cursor(request: pytest.FixtureRequest, settings: Any) -> None:
    settings.LIBPQ_CALLS = request.param


def lose_them() -> None:
    """Do what a pooler does that gives a client another session: psycopg does not see it."""
    connection.connection.pgconn.exec_(b"DEALLOCATE ALL")


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
