"""The rows of the list of disputes: the time that is left, what helps, and how much is drafted."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext

from core import clock
from merchants.models import Member
from panel.merchants import row_words, waiting
from panel.merchants.dispute_words import HELPS, REASONS
from payments.disputes.models import Dispute
from payments.disputes.states import ANSWERABLE, INQUIRY

BAR = 100


class Countdown(NamedTuple):
    """The time that is left to answer a dispute.

    :param gone: of the time to answer, in parts of `BAR`.
    """

    text: str
    gone: int
    colour: str


def add(member: Member, rows: Sequence[Dispute]) -> None:
    """Give each row its reason and payer, and what is to be done if an answer is possible."""
    now = clock.now()
    payers = row_words.payers(member, [row.intent for row in rows])
    for row in rows:
        shown: Any = row
        is_open = row.status in ANSWERABLE and now < row.evidence_due_by
        payer = payers[row.intent_id]
        shown.payer = payer["email"] or payer["name"] or ""
        shown.is_inquiry = row.status in INQUIRY
        shown.reason_word = REASONS.get(row.reason or "", "")
        shown.countdown = countdown(row, now) if is_open else None
        shown.helps = HELPS.get(row.reason, ("", ()))[0] if is_open else ""
        shown.drafted = drafted(row) if is_open else ""


def countdown(row: Dispute, now: datetime) -> Countdown:
    """Return how much time there is to answer a dispute that is not past due."""
    until = row.evidence_due_by
    whole = max(1.0, (until - row.created_at).total_seconds())
    gone = 1 - (until - now).total_seconds() / whole
    colour = ("bad", "warn", "mute")[waiting.level_of(until, now)]
    return Countdown(waiting.left(until, now), round(BAR * min(1.0, max(0.0, gone))), colour)


def drafted(row: Dispute) -> str:
    """Return how many of the texts that help are drafted."""
    first = HELPS.get(row.reason, ("", ()))[1]
    if not row.evidence:
        return gettext("Nothing drafted yet")
    # Of a reason that is not known here no text is named.
    whole = len(first) or len(row.evidence)
    given = sum(bool(row.evidence.get(key)) for key in first) if first else whole
    words = gettext("Draft: %(given)s of %(whole)s texts")
    return words % {"given": given, "whole": whole}
