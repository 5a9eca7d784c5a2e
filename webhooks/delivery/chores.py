"""Chores: repeated work, each in a thread of its own that deliveries never wait for."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, NamedTuple

import structlog

from webhooks.delivery.work_thread import TEMPORARY, WorkThread

AGAIN_AFTER_SECONDS = 10.0
# At the end of the process a chore has this long to finish. One that takes longer, such as a mail
# to a slow mail server, is cut off; another process does it again.
PATIENCE_SECONDS = 0.5

log = structlog.get_logger(__name__)


class Chore(NamedTuple):
    """Repeated work of the process that delivers.

    :param work: returns the number of rows or mails it dealt with; above 0 it is called again at
        once.
    :param every_seconds: the rest after a call that found nothing.
    """

    name: str
    work: Callable[[], int]
    every_seconds: float


def all_of(chores: Iterable[Chore]) -> list[Coroutine[Any, Any, None]]:
    """Return the chores as coroutines, each to be run until it is canceled."""
    return [_keep_doing_in_a_thread(*chore) for chore in chores]


async def keep_doing(name: str, work: Callable[[], Awaitable[int | None]], every: float) -> None:
    """Repeat the work until canceled: at once after work that did something, else after a rest.

    :param every: the rest, in seconds.
    """
    while True:
        is_more = await _do(name, work)
        await asyncio.sleep(0 if is_more else every)


async def _keep_doing_in_a_thread(name: str, work: Callable[[], int], every: float) -> None:
    thread = WorkThread(f"webhooks-{name}")
    try:
        await keep_doing(name, partial(thread.do, work), every)
    finally:
        thread.close(patience_seconds=PATIENCE_SECONDS)


async def _do(name: str, work: Callable[[], Awaitable[int | None]]) -> int | None:
    try:
        return await work()
    except TEMPORARY as problem:
        log.warning("webhook_chore_failed", chore=name, reason=type(problem).__name__)
    except Exception:  # A bug of ours: neither the chore nor the deliveries may end by it.
        log.exception("webhook_chore_failed", chore=name)
        await asyncio.sleep(AGAIN_AFTER_SECONDS)
    return 0
