"""Tests of kept statements are played by both ways of sending them."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection


@pytest.fixture(scope="module")
def _a_session_of_their_own(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Share no session with other tests: both ways prepare in it, and psycopg drops all at once.

    An installation has one of both ways.
    """
    with django_db_blocker.unblock():
        connection.close()
    yield
    with django_db_blocker.unblock():
        connection.close()


@pytest.fixture(params=[True, False], ids=["libpq", "cursor"])
def by_libpq_or_cursor(
    _a_session_of_their_own: None, request: pytest.FixtureRequest, settings: Any
) -> None:
    settings.LIBPQ_CALLS = request.param
