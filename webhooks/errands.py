"""Errands: what is done beside delivering, each in a thread of its own that deliveries never wait
for."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog
from django.db import DatabaseError

from webhooks import notices, replay, stopping
from webhooks.work_thread import WorkThread

TIDY_EVERY_SECONDS = 1.0
MAIL_EVERY_SECONDS = 5.0

log = structlog.get_logger(__name__)


def all_of_them() -> list[Coroutine[Any, Any, None]]:
    """Return the errands, each to be run until it is canceled."""
    return [
        _keep_doing("tidying", _tidy_up, TIDY_EVERY_SECONDS),
        _keep_doing("mail", notices.send_due, MAIL_EVERY_SECONDS),
    ]


async def _keep_doing(name: str, work: Callable[[], int], every_seconds: float) -> None:
    thread = WorkThread(f"webhooks-{name}")
    try:
        while True:
            is_more = await _do(name, thread, work) > 0
            await asyncio.sleep(0 if is_more else every_seconds)
    finally:
        # Its last piece of work is waited for, half a second or what a mail takes.
        thread.close()


async def _do(name: str, thread: WorkThread, work: Callable[[], int]) -> int:
    try:
        return await thread.do(work)
    except DatabaseError as problem:
        log.warning("webhook_errand_failed", errand=name, reason=type(problem).__name__)
        return 0


def _tidy_up() -> int:
    """Do the next piece of what changes of endpoints have left to do; return how much it was."""
    return stopping.stop_pending() + replay.advance()
