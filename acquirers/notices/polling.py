"""Polling: ask the bank of each terminal for its new notices.

Pollers may run at the same time. To hold a terminal's inbox only spares the bank questions.
"""

from collections.abc import Iterator
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.db.models import F, Q
from django.utils import timezone

import acquirers
from acquirers import doubt
from acquirers.models import Terminal
from acquirers.noticed import NoticesUnreadable
from acquirers.notices import applying, storing
from acquirers.notices.models import Inbox
from core import context

# Notices asked for at once.
PAGE = 200
# A poller whose process died keeps the others from its terminal for so long.
HOLD = timedelta(seconds=10)
# A bank that gives no notices is left alone for longer each time, up to a minute.
FAILURE_WAITS = [timedelta(seconds=seconds) for seconds in (2, 5, 15, 60)]
# A run asks no further bank after this time; the next one goes on.
POLL_SECONDS = 20

log = structlog.get_logger(__name__)


def take_in(*, job: str) -> None:
    """Ask the banks for their notices and apply them, after those that are there already.

    :param job: the name of this work in the request logs.
    """
    try:
        applying.apply_new(job=job)
        for _terminal in poll():
            # Before the next bank is asked, which may be slow.
            applying.apply_new(job=job)
    except DatabaseError:
        # It is away: all that a run does is in the database, and the next one goes on.
        log.warning("notices_not_taken_in", exc_info=True)


def poll() -> Iterator[Terminal]:
    """Store the banks' new notices, and yield each terminal whose bank was asked.

    The terminal that was not asked for the longest time comes first.
    """
    enough = context.remaining_seconds() - POLL_SECONDS
    for inbox in _free():
        if context.remaining_seconds() < enough:
            return
        if _hold(inbox):
            _take_in(inbox)
            yield inbox.terminal


def _free() -> list[Inbox]:
    """Return the inboxes that no poller holds, of terminals whose bank may be asked."""
    asked = Terminal.objects.filter(kind__in=settings.ACQUIRERS)
    asked = asked.exclude(status=Terminal.Status.DISABLED)
    known = Inbox.objects.values("terminal")
    Inbox.objects.bulk_create(
        [Inbox(terminal=terminal) for terminal in asked.exclude(pk__in=known)],
        ignore_conflicts=True,
    )
    rows = Inbox.objects.filter(_is_free(), terminal__in=asked).select_related("terminal")
    return list(rows.order_by(F("polled_at").asc(nulls_first=True), "pk"))


def _is_free() -> Q:
    return Q(held_until=None) | Q(held_until__lt=timezone.now())


def _hold(inbox: Inbox) -> bool:
    rows = Inbox.objects.filter(_is_free(), pk=inbox.pk)
    return bool(rows.update(held_until=timezone.now() + HOLD))


def _take_in(inbox: Inbox) -> None:
    try:
        while _takes_in_a_page(inbox.terminal):
            pass
    except NoticesUnreadable:
        _note_failure(inbox)
    else:
        Inbox.objects.filter(pk=inbox.pk).update(
            polled_at=timezone.now(), held_until=None, failures=0
        )


def _takes_in_a_page(terminal: Terminal) -> bool:
    """Store the next page of notices; return whether there may be more of them."""
    last = storing.last_number(terminal)
    told = doubt.notices_of(acquirers.at(terminal), terminal, after=last, limit=PAGE)
    if not told:
        return False
    storing.store(terminal, told)
    # A bank that goes on telling the same is asked again by the next run.
    return len(told) >= PAGE and max(one.number for one in told) > last


def _note_failure(inbox: Inbox) -> None:
    wait = FAILURE_WAITS[min(inbox.failures, len(FAILURE_WAITS) - 1)]
    now = timezone.now()
    Inbox.objects.filter(pk=inbox.pk).update(
        polled_at=now, held_until=now + wait, failures=inbox.failures + 1
    )
    log.warning(
        "notices_not_read", terminal=inbox.terminal.name, failures=inbox.failures + 1, exc_info=True
    )
