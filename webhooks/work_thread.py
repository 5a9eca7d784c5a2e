"""One thread for work that blocks: it has a connection to the database of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections, connections

from core import context

T = TypeVar("T")

# The database is away, or busy, or was restarted: the same call may succeed later.
PASSING = (OperationalError, InterfaceError)


class WorkThread:
    """Does one thing after the other, each as a piece of work of its own."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)

    def submit(self, call: Callable[[], T]) -> Future[T]:
        return self._thread.submit(_work, call)

    async def do(self, call: Callable[[], T]) -> T:
        """Wait for the call without holding up the event loop.

        :raises django.db.Error: as the call does; one of `PASSING` may pass.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(_work, call))

    def close(self) -> None:
        """Wait for what was submitted, then let the connection and the thread go."""
        self._thread.submit(connections.close_all).result()
        self._thread.shutdown()


def _work(call: Callable[[], T]) -> T:
    close_old_connections()
    try:
        with context.work():
            return call()
    except PASSING:
        # The next call begins with a new one.
        connections.close_all()
        raise
