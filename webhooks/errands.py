"""Errands: what is done beside delivering, each in a thread of its own that deliveries never wait
for."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import structlog

from webhooks import notices, replay, stopping
from webhooks.work_thread import PASSING, WorkThread

TIDY_EVERY_SECONDS = 1.0
MAIL_EVERY_SECONDS = 5.0
AGAIN_AFTER_SECONDS = 10.0
# What is waited for at the end. What takes longer, a mail above all, ends with the process and
# is done again by another.
PATIENCE_SECONDS = 0.5

log = structlog.get_logger(__name__)


def all_of_them() -> list[Coroutine[Any, Any, None]]:
    """Return the errands, each to be run until it is canceled."""
    return [
        _keep_doing_in_a_thread("tidying", _tidy_up, TIDY_EVERY_SECONDS),
        _keep_doing_in_a_thread("mail", notices.send_due, MAIL_EVERY_SECONDS),
    ]


async def keep_doing(name: str, work: Callable[[], Awaitable[int | None]], every: float) -> None:
    """Do it again and again, at once where it says how much it did, until canceled.

    :param every: seconds of rest.
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
    except PASSING as problem:
        log.warning("webhook_errand_failed", errand=name, reason=type(problem).__name__)
    except Exception:  # A bug of ours, told at once; neither it nor deliveries may end by it.
        log.exception("webhook_errand_failed", errand=name)
        await asyncio.sleep(AGAIN_AFTER_SECONDS)
    return 0


def _tidy_up() -> int:
    """Do the next piece of what changes of endpoints have left to do; return how much it was."""
    return stopping.stop_pending() + replay.advance()
