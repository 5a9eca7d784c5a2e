"""One thread for work that blocks: it has a connection to the database of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from django.db import (
    InterfaceError,
    NotSupportedError,
    OperationalError,
    close_old_connections,
    connections,
)

from core import context

T = TypeVar("T")

# The database is away, or busy, or was restarted: the same call may succeed later. The last one
# is what a prepared statement meets when a migration has changed the type of a column.
PASSING = (OperationalError, InterfaceError, NotSupportedError)


class WorkThread:
    """Does one thing after the other, each as a piece of work of its own."""

    def __init__(self, name: str) -> None:
        self._pieces: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # A daemon, unlike an executor's: a process that ends waits for it in `close` and no more.
        self._thread = Thread(target=self._work_off, name=name, daemon=True)
        self._thread.start()

    async def do(self, call: Callable[[], T]) -> T:
        """Wait for the call without holding up the event loop.

        :raises django.db.Error: as the call does; one of `PASSING` may pass.
        """
        done: Future[T] = Future()
        self._pieces.put(partial(_do, call, done))
        return await asyncio.wrap_future(done)

    def close(self, *, patience_seconds: float | None = None) -> None:
        """Let the thread and its connection go after what it is doing, waited for so long."""
        self._pieces.put(None)
        self._thread.join(patience_seconds)

    def _work_off(self) -> None:
        while piece := self._pieces.get():
            piece()
        connections.close_all()


def _do(call: Callable[[], T], done: Future[T]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(_work(call))
    except Exception as problem:  # noqa: BLE001 (it is raised again where `do` waits)
        done.set_exception(problem)


def _work(call: Callable[[], T]) -> T:
    close_old_connections()
    try:
        with context.work():
            return call()
    except PASSING:
        # The next call begins with a new one.
        connections.close_all()
        raise
