"""A thread for calls that block, with its own connection to the database."""

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

# The database is away, busy or was restarted: the same call may succeed later. A prepared statement
# raises `NotSupportedError` after a migration has changed the type of a column.
TEMPORARY = (OperationalError, InterfaceError, NotSupportedError)


class WorkThread:
    """Makes calls one after the other, each as a piece of work (`core.context`) of its own."""

    def __init__(self, name: str) -> None:
        self._pieces: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # A daemon, unlike an executor's threads: a process that ends waits for it in `close` only.
        self._thread = Thread(target=self._work_off, name=name, daemon=True)
        self._thread.start()

    async def do(self, call: Callable[[], T]) -> T:
        """Make the call in the thread and wait for it without holding up the event loop.

        :raises django.db.Error: as the call does; after one of `TEMPORARY` it may be made again.
        """
        done: Future[T] = Future()
        self._pieces.put(partial(_do, call, done))
        return await asyncio.wrap_future(done)

    def close(self, *, patience_seconds: float | None = None) -> None:
        """End the thread and its connection after the calls that it has been given.

        :param patience_seconds: the longest wait for that; None waits to the end.
        """
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
    except TEMPORARY:
        # The next call begins with a new connection.
        connections.close_all()
        raise
