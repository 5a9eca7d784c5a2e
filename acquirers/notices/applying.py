"""Notices applied, each to the attempt that its bank names."""

from collections.abc import Callable
from typing import Any

from django.apps import apps as installed_apps
from django.db.models import Exists, OuterRef, QuerySet

from acquirers import notice_applier
from acquirers.notices.models import Notice
from acquirers.notices.refusals import NotKnown
from core import clock
from core.registry import Registry

NOT_KNOWN = NotKnown.__name__
Handler = Callable[[Notice, Any], None]
# By the notice's kind. A notice without a handler is kept until there is one.
HANDLERS: Registry[Handler] = Registry("handler of notices")


def register(**handlers: Handler) -> None:
    """Add functions that apply notices of a kind; called in `AppConfig.ready()`."""
    for kind, handler in handlers.items():
        HANDLERS.add(kind, handler)


class Notices(notice_applier.NoticeApplier):
    """Notices about payments.

    Its handlers get the notice and the attempt, which they read again under their locks.
    """

    model, called, not_known = Notice, "notice", NotKnown

    def appliable(self) -> QuerySet[Notice]:
        """Return those that may be applied.

        One that was not known keeps no later one waiting until it is due again.
        """
        waiting = Notice.objects.filter(applied_at=None, kind__in=HANDLERS)
        same = {name: OuterRef(name) for name in ("terminal", "about")}
        before = waiting.filter(**same, number__lt=OuterRef("number"))
        before = before.exclude(last_error=NOT_KNOWN, next_try_at__gt=clock.now())
        return waiting.exclude(Exists(before)).select_related("terminal")

    def hand_over(self, notice: Notice) -> None:
        attempt = attempt_of(notice)
        # Terminals of one bank may be told the same. The one that opened the attempt applies it.
        if attempt.terminal_id == notice.terminal_id:
            HANDLERS[notice.kind](notice, attempt)
        _try_again_those_not_known(notice)


def apply_new(*, job: str) -> int:
    """Apply the notices that are due, and return how many were tried.

    :param job: the name of this work in the request logs.
    """
    return NOTICES.run(job=job)


def try_now(rows: QuerySet[Notice]) -> int:
    """Let notices that could not be applied be tried by the next run; return how many."""
    return rows.filter(applied_at=None).update(next_try_at=clock.now())


def attempt_of(notice: Notice) -> Any:
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


def _try_again_those_not_known(applied: Notice) -> None:
    """Let notices about the same object be tried at once that came before it could be known."""
    same = Notice.objects.filter(terminal=applied.terminal_id, about=applied.about, applied_at=None)
    same.filter(last_error=NOT_KNOWN).update(next_try_at=clock.now())


NOTICES = Notices()
