"""Transactions that stay open while others go on."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

from django.db import connection, connections, transaction

PATIENCE_SECONDS = 20


class Held:
    """A transaction that is held open; `commit` ends it, and so does the end of its block."""

    def __init__(self, patience_seconds: float) -> None:
        self.patience_seconds = patience_seconds
        self.has_worked, self.may_commit = Event(), Event()

    def run(self, work: Callable[[], Any]) -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                work()
                self.has_worked.set()
                assert self.may_commit.wait(self.patience_seconds)
        finally:
            self.has_worked.set()
            connections.close_all()


@contextmanager
def held_open(
    work: Callable[[], Any], patience_seconds: float = PATIENCE_SECONDS
) -> Iterator[Held]:
    """Do something in a transaction, in a thread of its own, and keep it open during the block.

    :param patience_seconds: so long the block may last.
    """
    held = Held(patience_seconds)
    with ThreadPoolExecutor(1) as pool:
        end = pool.submit(held.run, work)
        try:
            assert held.has_worked.wait(PATIENCE_SECONDS)
            if end.done():
                end.result()  # It failed.
            yield held
        finally:
            held.may_commit.set()
            end.result(PATIENCE_SECONDS)


@contextmanager
def nobody_waits() -> Iterator[None]:
    """Let every wait for a lock of this thread's connection end in an error at once."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
