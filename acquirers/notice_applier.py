"""The applier of notices: each in one transaction with its mark, in the order of their numbers.

Runs may meet: a notice is applied by the run that locks it. One whose handler raises stops no
other object's; it stays, and is tried again.
"""

import time
from abc import ABC, abstractmethod
from datetime import timedelta
from typing import Any

import structlog
from django.db import DatabaseError, models, transaction

from api import request_logs
from core import clock, context

# The waits before the second try, the third, …; the last one repeats.
TRY_WAITS = [timedelta(seconds=s) for s in (10, 30, 120, 600, 3600, 21_600, 86_400)]
# Notices looked for at once.
BATCH = 200
# A run applies no further notice after this time; the next one goes on.
APPLY_SECONDS = 20

log = structlog.get_logger(__name__)


class NeedsPerson(Exception):
    """Raised by a handler whose notice contradicts the book.

    It stays, and each try logs it for a person: a later notice may still explain it.
    """


class NoticeApplier(ABC):
    """The tries of one table of notices.

    Its rows have `number applied_at next_try_at tries last_error`.
    """

    model: type[models.Model]
    # The beginning of names in the log.
    called: str
    # Raised by a handler to which a notice's object is not known, or not yet.
    not_known: type[Exception]

    @abstractmethod
    def appliable(self) -> models.QuerySet[Any]:
        """Return the notices that have a handler, and none before them about the same object."""

    @abstractmethod
    def hand_over(self, notice: Any) -> None:
        """Let its handler apply a notice that the caller has locked."""

    def run(self, *, job: str) -> int:
        """Apply the notices that are due, and return how many were tried.

        :param job: the name of this work in the request logs.
        """
        enough = time.monotonic() + min(APPLY_SECONDS, context.remaining_seconds())
        tried = 0
        # A notice may wait for the one before it about the same object: look again each time.
        while due := self._due():
            done = [self._try(notice, job) for notice in due if time.monotonic() < enough]
            tried += sum(done)
            if not any(done):
                break  # Others are at them this moment, or the time is over.
        return tried

    @transaction.atomic(durable=True)
    def apply(self, notice_id: int) -> bool:
        """Apply a notice and mark it; False if another process has it."""
        rows = self.appliable().filter(id=notice_id)
        notice = rows.select_for_update(of=("self",), skip_locked=True).first()
        if notice is None:
            return False
        self.hand_over(notice)
        notice.applied_at, notice.next_try_at = clock.now(), None
        notice.tries, notice.last_error = notice.tries + 1, None
        notice.save()
        return True

    @transaction.atomic(durable=True)
    def count_failure(self, notice_id: int, problem: Exception) -> None:
        """Count a try that failed, and plan the next; not of a notice that is applied."""
        rows = self.model._default_manager.filter(id=notice_id, applied_at=None)
        notice: Any = rows.select_for_update().first()
        if notice is None:
            return  # Another process has applied it meanwhile.
        wait = TRY_WAITS[min(notice.tries, len(TRY_WAITS) - 1)]
        notice.tries, notice.last_error = notice.tries + 1, type(problem).__name__[:100]
        notice.next_try_at = clock.now() + wait
        notice.save()

    def _due(self) -> list[int]:
        rows = self.appliable().filter(next_try_at__lte=clock.now())
        return list(rows.order_by("next_try_at", "number").values_list("id", flat=True)[:BATCH])

    def _try(self, notice_id: int, job: str) -> bool:
        """Apply a notice, or count the try that failed; False if another process has it."""
        try:
            with request_logs.job(job):
                return self.apply(notice_id)
        except self.not_known as problem:
            log.warning(f"{self.called}_not_known", notice=notice_id)
            self.count_failure(notice_id, problem)
        except NeedsPerson as problem:
            reason = type(problem).__name__
            log.error(f"{self.called}_needs_person", notice=notice_id, reason=reason)
            self.count_failure(notice_id, problem)
        except DatabaseError as problem:
            # Its object is locked, or the database is away.
            log.warning(f"{self.called}_not_applied", notice=notice_id, exc_info=True)
            self.count_failure(notice_id, problem)
        except Exception as problem:  # A bug of ours: the others still get their turn.
            log.exception(f"{self.called}_not_applied", notice=notice_id)
            self.count_failure(notice_id, problem)
        return True
