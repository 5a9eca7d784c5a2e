"""Notices written down as they came, before anything is done with them."""

from collections.abc import Sequence
from typing import Any

from django.apps import apps as installed_apps
from django.db import DataError, IntegrityError, transaction
from django.db.models import Max

from acquirers import echoes, noticed
from acquirers.models import Terminal
from acquirers.noticed import NoticesUnreadable
from acquirers.notices.models import Notice
from core import clock


def last_number(terminal: Terminal) -> int:
    """Return the number of the terminal's last stored notice, 0 before the first."""
    found = Notice.objects.filter(terminal=terminal).aggregate(last=Max("number"))["last"]
    return found or 0


def store(terminal: Terminal, told: Sequence[noticed.Notice]) -> None:
    """Write a page of notices down, all in one statement; those that are there already stay.

    Pollers that meet read from the same last number on, and so leave no gap between them.

    :raises NoticesUnreadable: one of them is of no form that can be kept, so none is.
    """
    try:
        with transaction.atomic():
            cards = _cards_of(told)
            rows = [_row(terminal, one, cards.get(one.reference)) for one in told]
            Notice.objects.bulk_create(rows, ignore_conflicts=True)
    except (DataError, IntegrityError, TypeError, ValueError) as error:
        raise NoticesUnreadable("One of the notices cannot be stored.") from error


def _cards_of(told: Sequence[noticed.Notice]) -> dict[str, Any]:
    # By its label, as a foreign key to a higher room is.
    attempts: Any = installed_apps.get_model("intents", "Attempt")
    references = [one.reference for one in told]
    rows = attempts.objects.filter(acquirer_reference__in=references)
    return dict(rows.values_list("acquirer_reference", "card"))


def _row(terminal: Terminal, told: noticed.Notice, card: Any) -> Notice:
    if card is not None:
        told = echoes.of_notice(told, echoes.ends_of(card))
    now = clock.now()
    return Notice(
        terminal=terminal,
        number=told.number,
        # A word that is no `NoticeKind` is kept, until a handler knows it.
        kind=getattr(told.kind, "value", told.kind),
        reference=told.reference,
        refund_reference=told.refund_reference,
        dispute=told.dispute,
        about=told.dispute or told.refund_reference or told.reference,
        amount=told.amount,
        currency=told.currency,
        reason=told.reason,
        network_reason_code=told.network_reason_code,
        due_by=told.due_by,
        at=told.at,
        stored_at=now,
        next_try_at=now,
    )
