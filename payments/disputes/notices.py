"""Notices of disputes applied: the handlers that the app registers, by kind.

Each is called in the transaction that marks its notice, and does nothing if the notice
brings nothing new. An unlisted change (`UnlistedTransition`) leaves the notice to a person.
A dispute of a late charge is no merchant's: it decides how that charge goes back (`late_charges`).
"""

from datetime import timedelta

from acquirers.notices.models import Notice
from acquirers.notices.refusals import NotKnown
from payments.disputes import decisions, late_charges, locks
from payments.disputes.decisions import Claim
from payments.disputes.models import Dispute
from payments.disputes.refusals import ClaimUnusable
from payments.disputes.states import INQUIRY, DisputeStatus, Reason
from payments.intents.models import Attempt

# The time to answer, where the bank does not tell it, from when the dispute began at the bank.
TIME_TO_ANSWER = timedelta(days=7)


def dispute_opened(notice: Notice, attempt: Attempt) -> None:
    """Write down a chargeback; one that began as an inquiry is escalated."""
    attempt = locks.payment_of(attempt)
    if late_charges.disputed(notice, attempt):
        return
    dispute = locks.told_by_bank(attempt, _bank_reference(notice))
    if dispute is None:
        decisions.charge_back(attempt, _claim(notice, attempt))
    elif dispute.status in INQUIRY:
        decisions.escalate(dispute, _claim(notice, attempt))


def inquiry_opened(notice: Notice, attempt: Attempt) -> None:
    """Write down an inquiry."""
    attempt = locks.payment_of(attempt)
    if late_charges.inquired(attempt):
        return
    if locks.told_by_bank(attempt, _bank_reference(notice)) is None:
        decisions.inquire(attempt, _claim(notice, attempt))


def dispute_escalated(notice: Notice, attempt: Attempt) -> None:
    """Turn an inquiry into a chargeback."""
    attempt = locks.payment_of(attempt)
    if late_charges.disputed(notice, attempt):
        return
    dispute = _known(notice, attempt)
    if dispute.status in INQUIRY:
        decisions.escalate(dispute, _claim(notice, dispute.attempt))


def dispute_won(notice: Notice, attempt: Attempt) -> None:
    """Release the money, also of a dispute that was lost or accepted before."""
    attempt = locks.payment_of(attempt)
    if late_charges.won(notice, attempt):
        return
    dispute = _known(notice, attempt)
    if dispute.status != DisputeStatus.WON:
        decisions.win(dispute)


def dispute_lost(notice: Notice, attempt: Attempt) -> None:
    """Write the money off, unless the merchant or the due date has done so already."""
    attempt = locks.payment_of(attempt)
    if late_charges.lost(notice, attempt):
        return
    dispute = _known(notice, attempt)
    if dispute.status != DisputeStatus.LOST:
        decisions.lose(dispute)


def inquiry_closed(notice: Notice, attempt: Attempt) -> None:
    """End an inquiry, unless the merchant or the due date has done so already."""
    attempt = locks.payment_of(attempt)
    if late_charges.inquired(attempt):
        return
    dispute = _known(notice, attempt)
    if dispute.status != DisputeStatus.WARNING_CLOSED:
        decisions.end_inquiry(dispute)


def _known(notice: Notice, attempt: Attempt) -> Dispute:
    """Return the dispute that the notice is about, locked.

    :param attempt: locked behind its payment.
    """
    dispute = locks.told_by_bank(attempt, _bank_reference(notice))
    if dispute is None:
        raise NotKnown
    return dispute


def _bank_reference(notice: Notice) -> str:
    if not notice.dispute:
        raise ClaimUnusable("it names no dispute")
    return notice.dispute


def _claim(notice: Notice, attempt: Attempt) -> Claim:
    """Return the terms that the bank gives.

    :param attempt: locked.
    """
    if not attempt.captured_minor:
        raise NotKnown
    if notice.amount is None or notice.currency != attempt.currency:
        raise ClaimUnusable("it names no amount in the payment's currency")
    is_listed = notice.reason in Reason.values
    return Claim(
        bank_reference=_bank_reference(notice),
        amount=notice.amount,
        reason=notice.reason if notice.reason and is_listed else Reason.GENERAL,
        network_reason_code=notice.network_reason_code,
        due_by=notice.due_by or notice.at + TIME_TO_ANSWER,
    )
