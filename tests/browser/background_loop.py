"""An event loop in a thread of its own, for tests that are not asynchronous themselves."""

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Run coroutines for another thread.

    Playwright's synchronous interface runs its loop in the test's own thread; Django then
    takes the test for asynchronous code and refuses it the database.
    """

    def __init__(self, *, patience_seconds: float) -> None:
        self._patience_seconds = patience_seconds
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="background-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the coroutine's result.

        :raises TimeoutError: it takes longer than the loop's patience.
        """
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(self._patience_seconds)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
