"""Payouts at the bank: sent when their delay is over, asked about, sent again where that is safe.

The sweeper does all of it: a payout is in transit before the bank hears of it.
"""

import structlog
from django.db import transaction

from acquirers import rails
from acquirers.in_doubt import answers, leases, schedule
from acquirers.in_doubt.kinds import Kind
from acquirers.outcomes import NEVER_SENT, Answer, Outcome
from acquirers.rails import TransferOrder, TransferOutcome
from core import clock, context
from core.errors import UpstreamUnavailable
from payouts import render, rows
from payouts.models import Payout
from payouts.states import Status

OPEN = (Status.PENDING, Status.IN_TRANSIT)
log = structlog.get_logger(__name__)


class Payouts(Kind[Payout]):
    """Payouts that are to be sent, or whose end is not known."""

    model = Payout

    def begun(self, row: Payout) -> Payout | None:
        return begun(row)

    def ask(self, row: Payout) -> Outcome:
        return ask(row)

    def resolve(self, row: Payout, outcome: Outcome) -> Payout:
        return apply(row, outcome)


@transaction.atomic(durable=True)
def begun(leased: Payout) -> Payout | None:
    """Write down that a payout leaves for the bank now, if it does.

    :param leased: the caller holds its lease.
    :returns: the payout with `is_to_send`; None if there is nothing to do at the bank.
    """
    payout = rows.locked(leased)
    if payout.status not in OPEN or leases.is_overtaken(leased, payout):
        return None
    is_again = payout.sent_at is not None
    to_send = not is_again or _may_be_sent_again(payout)
    if to_send:
        # With the first sending the waits between inquiries begin anew: nobody has waited before.
        is_first = payout.status == Status.PENDING
        begin = schedule.begin_asking if is_first else schedule.begin_again
        begin(payout, clock.now())
        payout.sent_at = payout.sent_at or clock.now()
    if payout.status == Status.PENDING:
        rows.move(payout, Status.IN_TRANSIT, render.payout(payout))
    elif to_send:
        payout.save()
    # In memory alone: written down it would outlive the process that does it.
    payout.is_to_send, payout.is_sent_again = to_send, is_again  # type: ignore[attr-defined]
    return payout


def _may_be_sent_again(payout: Payout) -> bool:
    try:
        is_idempotent = rails.rail().references_are_idempotent
    except UpstreamUnavailable:
        return False
    return is_idempotent and schedule.absence_is_confirmed(payout)


def ask(payout: Payout) -> Outcome:
    """Send the payout or ask about it; the caller holds its lease, and no transaction is open."""
    context.mark_irrevocable()
    order = _order(payout)
    try:
        rail = rails.rail()
    except UpstreamUnavailable:
        # The installation has lost its bank: nothing left, and nothing is known.
        return TransferOutcome(Answer.NOT_SENT if payout.is_to_send else Answer.UNKNOWN)  # type: ignore[attr-defined]
    if not payout.is_to_send:  # type: ignore[attr-defined]
        return rail.inquire(order)
    outcome = rail.send(order)
    return answers.in_doubt(outcome) if payout.is_sent_again else outcome  # type: ignore[attr-defined]


def _order(payout: Payout) -> TransferOrder:
    return TransferOrder(
        reference=payout.acquirer_reference,
        merchant_id=payout.merchant_id,
        destination=payout.destination,
        amount=payout.amount,
        currency=payout.currency,
        holder_name=payout.holder_name,
        iban=payout.iban,
        statement=payout.statement_descriptor,
    )


@transaction.atomic(durable=True)
def apply(asked: Payout, outcome: Outcome) -> Payout:
    """Apply the bank's answer to the payout that it was asked for; safe to call twice.

    :param asked: as the asker read it before it asked, with its lease.
    """
    assert isinstance(outcome, TransferOutcome)
    payout = rows.locked(asked)
    if payout.status != Status.IN_TRANSIT:
        _tell_contradiction(payout, outcome)
        return payout  # A notice came first.
    if not answers.counts(outcome, asked=asked, locked=payout):
        return payout
    leases.end_with(payout)
    if outcome.answer is Answer.APPROVED:
        rows.pay(payout, outcome.trace_id, arrived_at=outcome.arrived_at)
    elif outcome.answer is Answer.DECLINED:
        rows.fail(payout, outcome.failure_code, outcome.trace_id)
    else:
        _still_in_transit(payout, outcome)
    return payout


def _tell_contradiction(payout: Payout, outcome: TransferOutcome) -> None:
    if outcome.answer is Answer.APPROVED and payout.status == Status.FAILED:
        log.warning("payout_paid_before_its_end", payout=payout.id)


def _still_in_transit(payout: Payout, outcome: TransferOutcome) -> None:
    schedule.ask_later(payout)
    payout.trace_id = outcome.trace_id or payout.trace_id
    if outcome.answer in NEVER_SENT:
        payout.sent_at = None  # It certainly did not leave; it is sent again by itself.
    if outcome.answer is Answer.NO_RECORD:
        schedule.count_no_record(payout)
        if _may_be_sent_again(payout):
            schedule.look_at(payout, clock.now())  # It is sent again in the next round.
    payout.save()
