"""This process made to share its database connections between threads, as a web process does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, connections
from django.test import override_settings

from core import connections as shared


@contextmanager
def sharing(size: int) -> Iterator[None]:
    """Let all threads share `size` connections to each database for the length of the block."""
    before = {one.alias: _pooling(one) for one in connections.all()}
    with override_settings(DATABASE_POOL=size):
        shared.share()
        try:
            yield
        finally:
            for one in connections.all():
                one.close()
                one.close_pool()
                one.settings_dict["CONN_MAX_AGE"], options = before[one.alias]
                one.settings_dict["OPTIONS"].clear()
                one.settings_dict["OPTIONS"].update(options)


def _pooling(one: Any) -> tuple[Any, dict[str, Any]]:
    return one.settings_dict["CONN_MAX_AGE"], dict(one.settings_dict["OPTIONS"])


def then_giving_back(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return the call, after which its thread holds no connection: as a request ends."""

    def call_and_give_back() -> Any:
        try:
            return call()
        finally:
            shared.give_back()

    return call_and_give_back


def waits_for_a_connection() -> int:
    """Return how many have come to wait for a shared connection so far, or come again."""
    return connection.pool.get_stats().get("requests_queued", 0)


def times_taken() -> int:
    """Return how many times a shared connection was asked for so far."""
    return connection.pool.get_stats().get("requests_num", 0)
