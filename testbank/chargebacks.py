"""Disputes from their beginning to their end, under the lock of their authorisation.

The one place that changes a dispute: with its money, and with its notice. The
money is set aside while a dispute is open and moves when it is lost; an inquiry sets none aside.
"""

import secrets
from datetime import datetime

from core import clock
from testbank import behaviours, notices
from testbank.models import Authorization, Chargeback, Dispute, Recovery
from testbank.states import DisputeState, EvidenceVerdict, NoticeKind

NAME_CHARACTERS = 20
# Without vowels and zeros: no name reads as a word or as a card number.
ALPHABET = "BCDFGHJKLMNPQRSTVWXYZ123456789"
PARTED_AT = 12
# As the card networks number them.
NETWORK_CODES = {
    "fraudulent": "10.4",
    "product_not_received": "13.1",
    "product_unacceptable": "13.3",
    "duplicate": "12.6.1",
    "credit_not_processed": "13.6",
    "subscription_canceled": "13.2",
    "unrecognized": "4863",
    "general": "4853",
}


def expect(authorization: Authorization) -> None:
    """Write down the complaint that follows a capture with this card, if one does."""
    complaint = behaviours.BY_NAME[authorization.behaviour].complaint
    if complaint is None:
        return
    begin(
        authorization,
        complaint.opens_as,
        reason=complaint.reason,
        due_at=clock.now() + behaviours.DISPUTED_AFTER,
    )


def begin(
    authorization: Authorization,
    opens_as: DisputeState,
    *,
    reason: str,
    due_at: datetime,
    amount: int | None = None,
) -> Dispute:
    """Write down a complaint that opens later, about an amount in minor units or about all."""
    return authorization.disputes.create(
        reference=_name(),
        amount=amount or authorization.captured_amount,
        opens_as=opens_as,
        state=DisputeState.TO_COME,
        reason=reason,
        network_reason_code=NETWORK_CODES[reason],
        created_at=clock.now(),
        due_at=due_at,
    )


def decide_due(authorization: Authorization, now: datetime) -> None:
    """Do what is due with the authorisation's disputes: open, decide, end them."""
    if not authorization.captured_amount:
        return
    for dispute in authorization.disputes.filter(due_at__lte=now).order_by("pk"):
        _decide(dispute)


def _decide(dispute: Dispute) -> None:
    match DisputeState(dispute.state), dispute.verdict:
        case DisputeState.TO_COME, _:
            open_(dispute)
        case DisputeState.INQUIRY, EvidenceVerdict.LOST if dispute.authorization.available_amount:
            escalate(dispute)
        case DisputeState.INQUIRY, _:
            close(dispute)
        case DisputeState.OPEN, EvidenceVerdict.WON:
            win(dispute)
        case _:
            lose(dispute)  # By its evidence, or because none came in time.


def open_(dispute: Dispute) -> None:
    """Open what was to come, about what is left of the money; drop it if nothing is."""
    dispute.amount = min(dispute.amount, dispute.authorization.available_amount) or dispute.amount
    if not dispute.authorization.available_amount:
        _change(dispute, DisputeState.DROPPED)
    elif dispute.opens_as == DisputeState.INQUIRY:
        _await_evidence(dispute)
        _change(dispute, DisputeState.INQUIRY, NoticeKind.INQUIRY_OPENED)
    else:
        _charge_back(dispute, NoticeKind.DISPUTE_OPENED)


def escalate(dispute: Dispute) -> None:
    """Make an inquiry a dispute about what is left of its money, with a new deadline."""
    dispute.amount = min(dispute.amount, dispute.authorization.available_amount)
    _charge_back(dispute, NoticeKind.DISPUTE_ESCALATED)


def win(dispute: Dispute) -> None:
    """Decide for the merchant: the money is free again."""
    _set_aside(dispute, -dispute.amount)
    _change(dispute, DisputeState.WON, NoticeKind.DISPUTE_WON)


def lose(dispute: Dispute, *, ends_as: DisputeState = DisputeState.LOST) -> None:
    """Decide for the cardholder, who gets the money; `ACCEPTED`: the merchant gave it up."""
    if dispute.state == DisputeState.WON:
        _set_aside(dispute, dispute.amount)  # It was free again.
    Chargeback.objects.create(dispute=dispute, amount=dispute.amount, created_at=clock.now())
    _change(dispute, ends_as, NoticeKind.DISPUTE_LOST)


def regain(dispute: Dispute) -> None:
    """Decide for the merchant after all: the money comes back."""
    Recovery.objects.create(dispute=dispute, amount=dispute.amount, created_at=clock.now())
    _set_aside(dispute, -dispute.amount)
    _change(dispute, DisputeState.REGAINED, NoticeKind.DISPUTE_REGAINED)


def close(dispute: Dispute) -> None:
    """End an inquiry: no money was touched."""
    _change(dispute, DisputeState.CLOSED, NoticeKind.INQUIRY_CLOSED)


def weigh(dispute: Dispute, verdict: str) -> None:
    """Let the newest evidence decide soon, or leave the decision to a person."""
    dispute.verdict = verdict
    dispute.due_at = clock.now() + behaviours.DECIDED_AFTER if verdict else None
    dispute.save()


def _charge_back(dispute: Dispute, kind: NoticeKind) -> None:
    _set_aside(dispute, dispute.amount)
    _await_evidence(dispute)
    _change(dispute, DisputeState.OPEN, kind)


def _set_aside(dispute: Dispute, change: int) -> None:
    dispute.authorization.disputed_amount += change
    dispute.authorization.save()


def _await_evidence(dispute: Dispute) -> None:
    dispute.verdict = ""
    dispute.evidence_due_by = clock.now() + behaviours.TAKES_EVIDENCE_FOR


def _change(dispute: Dispute, state: DisputeState, kind: NoticeKind | None = None) -> None:
    is_awaited = state in (DisputeState.INQUIRY, DisputeState.OPEN)
    dispute.state = state
    dispute.due_at = dispute.evidence_due_by if is_awaited else None
    dispute.save()
    if kind is not None:
        notices.tell_of_dispute(kind, dispute)


def _name() -> str:
    """Return the bank's name for a dispute; the letter in it parts its digits."""
    drawn = [secrets.choice(ALPHABET) for _ in range(NAME_CHARACTERS)]
    drawn[PARTED_AT] = "D"
    return "".join(drawn)
