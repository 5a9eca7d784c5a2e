"""Decisions about disputes that change a payment's money: opened, escalated, won, lost, ended.

The bank decides by its notices, and an operator, a merchant and the due date by the same functions.
Each is called in the caller's transaction, which has locked payment, attempt and dispute
(`payments.disputes.locks`).
"""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from core import clock, ids
from events import outbox
from events.transitions import UnlistedTransition
from ledger import book
from merchants import owed_mails
from merchants.notices import MailKind
from payments.disputes import deliveries, render
from payments.disputes.models import Dispute
from payments.disputes.refusals import ClaimUnusable
from payments.disputes.states import ANSWERABLE, CREATED_EVENT, DisputeStatus
from payments.disputes.transition import move, require_listed
from payments.intents import given_back
from payments.intents.models import Attempt

# Each once: a mail says so long before the due date that the dispute has no answer yet.
REMINDERS = {
    MailKind.DISPUTE_DUE_SOON: timedelta(days=3),
    MailKind.DISPUTE_DUE_TOMORROW: timedelta(days=1),
}


class Claim(NamedTuple):
    """The terms of a dispute, as the bank gives them.

    :param bank_reference: the bank's own id of it.
    :param amount: in minor units of the payment's currency, surcharge included.
    :param reason: a value of `states.Reason`.
    :param due_by: until when evidence is taken.
    """

    bank_reference: str
    amount: int
    reason: str
    network_reason_code: str | None
    due_by: datetime


def charge_back(attempt: Attempt, claim: Claim, dispute_id: str | None = None) -> Dispute:
    """Write down a dispute that takes its money at once: it is reserved until the end.

    :param dispute_id: made before; None makes one.
    :raises ClaimUnusable: the amount is not a part of what was captured.
    """
    dispute = _drafted(attempt, claim, DisputeStatus.NEEDS_RESPONSE, dispute_id)
    dispute.save(force_insert=True)
    _reserve(dispute)
    _owe_mails(dispute)
    outbox.record(dispute.merchant, CREATED_EVENT, render.dispute(dispute))
    return dispute


def inquire(attempt: Attempt, claim: Claim, dispute_id: str | None = None) -> Dispute:
    """Write down an inquiry, which takes and blocks nothing.

    :param dispute_id: made before; None makes one.
    :raises ClaimUnusable: the amount is not a part of what was captured.
    """
    dispute = _drafted(attempt, claim, DisputeStatus.WARNING_NEEDS_RESPONSE, dispute_id)
    dispute.save(force_insert=True)
    _owe_mails(dispute)
    outbox.record(dispute.merchant, CREATED_EVENT, render.dispute(dispute))
    return dispute


def escalate(dispute: Dispute, claim: Claim) -> None:
    """Turn an inquiry into a chargeback, on the bank's terms of now.

    :raises UnlistedTransition: it is no inquiry.
    :raises ClaimUnusable: the amount is not a part of what was captured.
    """
    require_listed(dispute, DisputeStatus.NEEDS_RESPONSE)
    before = render.dispute(dispute)
    deliveries.supersede(dispute)
    _write_terms(dispute, claim)
    dispute.is_past_due, dispute.closed_at = False, None
    _reserve(dispute)
    _owe_mails(dispute)
    move(dispute, DisputeStatus.NEEDS_RESPONSE, before)


def win(dispute: Dispute) -> None:
    """Release the money of a dispute, or write back what was written off.

    :raises UnlistedTransition: it is an inquiry, or won already.
    """
    require_listed(dispute, DisputeStatus.WON)
    before = render.dispute(dispute)
    came_back = book.dispute_regained if dispute.status == DisputeStatus.LOST else book.dispute_won
    given_back.note_dispute(dispute.intent, -dispute.amount)
    came_back(dispute.id, merchant_id=dispute.merchant_id, now=clock.now())
    _close(dispute, DisputeStatus.WON, before)


def lose(dispute: Dispute) -> None:
    """Write the money of a dispute off: the bank said so, or the merchant accepted it.

    One that was won may be lost after all.

    :raises UnlistedTransition: it is an inquiry, or was lost already: its money goes to the bank
        once.
    """
    before = render.dispute(dispute)
    if dispute.status == DisputeStatus.WON:
        given_back.note_dispute(dispute.intent, dispute.amount)
    try:
        _write_off(dispute, before)
    except book.OutOfTurn as problem:
        raise UnlistedTransition(f"{dispute.id} was lost before it was won") from problem


def end_inquiry(dispute: Dispute) -> None:
    """End an inquiry without a chargeback.

    :raises UnlistedTransition: it is none, or has ended.
    """
    _close(dispute, DisputeStatus.WARNING_CLOSED, render.dispute(dispute))


def run_out(dispute: Dispute) -> None:
    """End a dispute whose due date has passed: it is lost, or the inquiry closed.

    :raises UnlistedTransition: it does not wait for its merchant.
    """
    before = render.dispute(dispute)
    if dispute.status == DisputeStatus.NEEDS_RESPONSE:
        _write_off(dispute, before)
    else:
        _close(dispute, DisputeStatus.WARNING_CLOSED, before)


def _drafted(
    attempt: Attempt, claim: Claim, status: DisputeStatus, dispute_id: str | None
) -> Dispute:
    dispute = Dispute(
        id=dispute_id or ids.new("dp"),
        merchant=attempt.intent.merchant,
        intent=attempt.intent,
        attempt=attempt,
        bank_reference=claim.bank_reference,
        currency=attempt.currency,
        status=status,
        created_at=clock.now(),
    )
    _write_terms(dispute, claim)
    return dispute


def _write_terms(dispute: Dispute, claim: Claim) -> None:
    if not 1 <= claim.amount <= dispute.attempt.captured_minor:
        raise ClaimUnusable("its amount is not a part of what was captured")
    dispute.amount, dispute.reason = claim.amount, claim.reason
    dispute.network_reason_code = claim.network_reason_code
    dispute.evidence_due_by = claim.due_by


def _owe_mails(dispute: Dispute) -> None:
    now, merchant = clock.now(), dispute.merchant
    owed_mails.owe(merchant, MailKind.DISPUTE_OPENED, dispute.id, due_at=now)
    is_opening_silent = MailKind.DISPUTE_OPENED in merchant.silenced_notices
    for kind, before in REMINDERS.items():
        due_at = dispute.evidence_due_by - before
        # Else the mail about the opening says the near date already.
        if due_at > now or is_opening_silent:
            owed_mails.owe(merchant, kind, dispute.id, due_at=due_at)


def _reserve(dispute: Dispute) -> None:
    given_back.note_dispute(dispute.intent, dispute.amount)
    book.dispute_opened(
        dispute.merchant_id,
        amount=dispute.amount,
        charge_id=dispute.attempt_id,
        cause_id=dispute.id,
        now=clock.now(),
    )


def _write_off(dispute: Dispute, before: dict[str, Any]) -> None:
    require_listed(dispute, DisputeStatus.LOST)
    book.dispute_lost(dispute.id, merchant_id=dispute.merchant_id, now=clock.now())
    _close(dispute, DisputeStatus.LOST, before)


def _close(dispute: Dispute, status: DisputeStatus, before: dict[str, Any]) -> None:
    deliveries.supersede(dispute)
    dispute.closed_at = clock.now()
    if dispute.status in ANSWERABLE:  # Nothing was submitted; whoever tells first that it is over.
        dispute.is_past_due = dispute.evidence_due_by <= dispute.closed_at
    move(dispute, status, before)
