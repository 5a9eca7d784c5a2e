"""Decisions of people at the bank, by its references: disputes, bounced refunds, transfers in."""

from collections.abc import Callable

from django.db import transaction

from core import clock
from testbank import book, chargebacks, incoming, repayments
from testbank.models import Dispute
from testbank.router import BANK
from testbank.states import DisputeState, IncomingState, RefundState, State

GENERAL, FRAUDULENT = "general", "fraudulent"
REASONS = tuple(chargebacks.NETWORK_CODES)


class Undecidable(Exception):
    """The book does not allow the decision. The text says why."""


@transaction.atomic(using=BANK, durable=True)
def dispute(authorization: str, *, reason: str = FRAUDULENT, amount: int | None = None) -> str:
    """Open a dispute about an amount in minor units, default all that is left; return its name.

    :raises Undecidable: less is left of the money, or there is no such payment or reason.
    """
    return _complain(authorization, DisputeState.OPEN, reason, amount)


@transaction.atomic(using=BANK, durable=True)
def inquiry(authorization: str, *, reason: str = GENERAL, amount: int | None = None) -> str:
    """Open an inquiry, which touches no money; return its name.

    :raises Undecidable: less is left of the money, or there is no such payment or reason.
    """
    return _complain(authorization, DisputeState.INQUIRY, reason, amount)


@transaction.atomic(using=BANK, durable=True)
def reverse(authorization: str) -> None:
    """Take an approved payment back by the bank itself, on any day.

    :raises Undecidable: there is no such payment, or money of it went back already.
    """
    row = book.locked(authorization)
    if row is None or row.state != State.AUTHORIZED:
        raise Undecidable(_not_that(row.state if row else None, "payment"))
    book.reverse(row, at=clock.now())
    if row.state != State.VOIDED:
        raise Undecidable("Money of this payment was refunded or disputed")


@transaction.atomic(using=BANK, durable=True)
def win(reference: str) -> None:
    """Decide an open dispute for the merchant.

    :raises Undecidable: there is no such dispute, or it is not open.
    """
    _decide(reference, [DisputeState.OPEN], chargebacks.win)


@transaction.atomic(using=BANK, durable=True)
def lose(reference: str) -> None:
    """Decide an open dispute for the cardholder, or after all one that was won.

    :raises Undecidable: there is no such dispute, it is neither, or its money has been refunded.
    """
    _decide(reference, [DisputeState.OPEN, DisputeState.WON], _lose)


@transaction.atomic(using=BANK, durable=True)
def regain(reference: str) -> None:
    """Decide a lost dispute for the merchant after all.

    :raises Undecidable: there is no such dispute, or it is not lost.
    """
    _decide(reference, [DisputeState.LOST, DisputeState.ACCEPTED], chargebacks.regain)


@transaction.atomic(using=BANK, durable=True)
def end(reference: str) -> None:
    """End an inquiry.

    :raises Undecidable: there is no such inquiry, or it has ended.
    """
    _decide(reference, [DisputeState.INQUIRY], chargebacks.close)


@transaction.atomic(using=BANK, durable=True)
def escalate(reference: str) -> None:
    """Make an inquiry, also one that ended, a dispute about what is left of its money.

    :raises Undecidable: there is no such inquiry, or nothing is left.
    """
    _decide(reference, [DisputeState.INQUIRY, DisputeState.CLOSED], _escalate)


@transaction.atomic(using=BANK, durable=True)
def bounce(reference: str) -> None:
    """Let a refund come back because its card cannot be credited.

    :raises Undecidable: there is no such refund, or it did not succeed.
    """
    refund = book.locked_refund(reference)
    if refund is None or refund.state != RefundState.REFUNDED:
        raise Undecidable(_not_that(refund.state if refund else None, "refund"))
    repayments.bounce(refund)


@transaction.atomic(using=BANK, durable=True)
def take_back(reference: str) -> None:
    """Take a transfer that came in back from the account.

    :raises Undecidable: there is no such transfer, or it did not come.
    """
    transfer = incoming.locked(reference)
    if transfer is None or transfer.state != IncomingState.RECEIVED:
        raise Undecidable(_not_that(transfer.state if transfer else None, "transfer"))
    incoming.take_back(transfer, at=clock.now())


def _complain(authorization: str, opens_as: DisputeState, reason: str, amount: int | None) -> str:
    row = book.locked(authorization)
    if row is None:
        raise Undecidable(_not_that(None, "payment"))
    if reason not in REASONS:
        raise Undecidable(f"The reasons are {', '.join(REASONS)}")
    left = row.available_amount
    if not 1 <= (left if amount is None else amount) <= left:
        raise Undecidable(f"Of this payment {left} are left to dispute")
    begun = chargebacks.begin(row, opens_as, reason=reason, due_at=clock.now(), amount=amount)
    chargebacks.open_(begun)
    return begun.reference


def _decide(reference: str, states: list[DisputeState], change: Callable[[Dispute], None]) -> None:
    found = book.locked_dispute(reference)
    if found is None or found.state not in states:
        raise Undecidable(_not_that(found.state if found else None, "dispute"))
    change(found)


def _lose(dispute: Dispute) -> None:
    left = dispute.authorization.available_amount
    if dispute.state == DisputeState.WON and left < dispute.amount:
        raise Undecidable(f"Of the money of this dispute {left} are left")
    chargebacks.lose(dispute)


def _escalate(dispute: Dispute) -> None:
    if not dispute.authorization.available_amount:
        raise Undecidable("Nothing of the payment is left to dispute")
    chargebacks.escalate(dispute)


def _not_that(state: str | None, noun: str) -> str:
    return f"The {noun} is {state} at the bank" if state else f"The bank knows no such {noun}"
