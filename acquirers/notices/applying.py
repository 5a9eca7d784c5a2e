"""Notices applied: each by the handler of its kind, in one transaction with its mark.

Notices about one object are applied in order of their numbers. One whose handler raises stops no
other object's; it stays, and is tried again.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any

import structlog
from django.apps import apps as installed_apps
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.module_loading import import_string

from acquirers.notices.models import Notice
from acquirers.notices.refusals import NotKnown
from core import clock, context
from merchants import request_logs

# The waits before the second try, the third, …; the last one repeats.
TRY_WAITS = [timedelta(seconds=s) for s in (10, 30, 120, 600, 3600, 21_600, 86_400)]
NOT_KNOWN = NotKnown.__name__
# Notices looked for at once.
BATCH = 200
# A run applies no further notice after this time; the next one goes on.
APPLY_SECONDS = 20

# Applies a notice to the attempt that it names; both read before any lock.
Handler = Callable[[Notice, Any], None]
log = structlog.get_logger(__name__)


def apply_new(*, job: str) -> int:
    """Apply the notices that are due, and return how many were tried.

    Appliers may run beside each other: a notice is applied by one of them.

    :param job: the name of this work in the request logs.
    """
    enough = time.monotonic() + min(APPLY_SECONDS, context.remaining_seconds())
    tried = 0
    # A notice may wait for the one before it about the same object, so look again after each pass.
    while due := _due():
        done = [_try(notice_id, job) for notice_id in due if time.monotonic() < enough]
        tried += sum(done)
        if not any(done):
            break  # Others are at them this moment, or the time is over.
    return tried


def try_now(rows: QuerySet[Notice]) -> int:
    """Let notices that could not be applied be tried by the next run; return how many."""
    return rows.filter(applied_at=None).update(next_try_at=clock.now())


def _due() -> list[int]:
    rows = _appliable().filter(next_try_at__lte=clock.now())
    return list(rows.order_by("next_try_at", "number").values_list("id", flat=True)[:BATCH])


def _appliable() -> QuerySet[Notice]:
    """Return the notices that have a handler, and none before them about the same object."""
    waiting = Notice.objects.filter(applied_at=None, kind__in=settings.NOTICE_HANDLERS)
    same = {name: OuterRef(name) for name in ("terminal", "about")}
    before = waiting.filter(**same, number__lt=OuterRef("number")).exclude(last_error=NOT_KNOWN)
    return waiting.exclude(Exists(before))


def _try(notice_id: int, job: str) -> bool:
    """Apply a notice, or count the try that failed; False if another process has it."""
    try:
        with request_logs.job(job):
            return _apply(notice_id)
    except NotKnown as problem:
        log.warning("notice_not_known", notice=notice_id)
        _count_failure(notice_id, problem)
    except DatabaseError as problem:
        # Its payment is locked, or the database is away.
        log.warning("notice_not_applied", notice=notice_id, exc_info=True)
        _count_failure(notice_id, problem)
    except Exception as problem:  # A bug of ours: the others still get their turn.
        log.exception("notice_not_applied", notice=notice_id)
        _count_failure(notice_id, problem)
    return True


@transaction.atomic(durable=True)
def _apply(notice_id: int) -> bool:
    rows = _appliable().filter(id=notice_id).select_related("terminal")
    notice = rows.select_for_update(of=("self",), skip_locked=True).first()
    if notice is None:
        return False
    attempt = _attempt_of(notice)
    # Terminals of one bank may be told the same. The one that opened the attempt applies it.
    if attempt.terminal_id == notice.terminal_id:
        _handler(settings.NOTICE_HANDLERS[notice.kind])(notice, attempt)
    notice.applied_at, notice.next_try_at = clock.now(), None
    notice.tries, notice.last_error = notice.tries + 1, None
    notice.save()
    _try_again_what_was_not_known(notice)
    return True


def _attempt_of(notice: Notice) -> Any:
    """Return the attempt that the bank names, opened at a terminal of the same kind.

    :raises NotKnown: there is none.
    """
    # By its label, as a foreign key to a higher room is.
    attempts: Any = installed_apps.get_model("intents", "Attempt")
    rows = attempts.objects.select_related("intent", "terminal")
    same_kind = rows.filter(terminal__kind=notice.terminal.kind)
    found = same_kind.filter(acquirer_reference=notice.reference).first()
    if found is None:
        raise NotKnown
    return found


def _try_again_what_was_not_known(applied: Notice) -> None:
    """Let notices about the same object be tried at once that came before it could be known."""
    same = Notice.objects.filter(terminal=applied.terminal_id, about=applied.about, applied_at=None)
    same.filter(last_error=NOT_KNOWN).update(next_try_at=clock.now())


@transaction.atomic(durable=True)
def _count_failure(notice_id: int, problem: Exception) -> None:
    rows = Notice.objects.filter(id=notice_id, applied_at=None)
    notice = rows.select_for_update().first()
    if notice is None:
        return  # Another process has applied it meanwhile.
    wait = TRY_WAITS[min(notice.tries, len(TRY_WAITS) - 1)]
    notice.tries, notice.last_error = notice.tries + 1, type(problem).__name__[:100]
    notice.next_try_at = clock.now() + wait
    notice.save()


@cache
def _handler(path: str) -> Handler:
    handler: Handler = import_string(path)
    return handler
