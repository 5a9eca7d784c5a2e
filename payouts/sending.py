"""Payouts at the bank: sent when their delay is over, asked about, sent again where that is safe.

The sweeper does all of it: a payout is in transit before the bank is asked.
"""

import structlog
from django.db import transaction

from acquirers import rails
from acquirers.conversation import answers, leases, schedule
from acquirers.conversation.kinds import Effect, Facts, Kind, Said, still_open
from acquirers.outcomes import Answer, Outcome
from acquirers.rails import TransferOrder, TransferOutcome
from core import clock, context
from core.errors import UpstreamUnavailable
from payouts import render, steps
from payouts.models import Payout
from payouts.states import PayoutStatus

OPEN = (PayoutStatus.PENDING, PayoutStatus.IN_TRANSIT)
log = structlog.get_logger(__name__)


class Payouts(Kind[Payout]):
    """Payouts that are to be sent, or whose end is not known."""

    model = Payout
    slots = 4
    door = steps.DOOR

    def facts(self, asked: Payout, outcome: Outcome) -> Facts[Payout]:
        payout = steps.locked(asked)
        is_open = payout.status == PayoutStatus.IN_TRANSIT
        return Facts(payout, payout, None, answers.believed(payout, outcome), is_open)

    @transaction.atomic(durable=True)
    def begun(self, row: Payout) -> Payout | None:
        """Write down that a payout leaves for the bank now, if it does.

        :param row: the caller holds its lease.
        :returns: the payout with `is_to_send`; None if there is nothing to do at the bank.
        """
        payout = steps.locked(row)
        if payout.status not in OPEN or leases.is_overtaken(row, payout):
            return None
        is_again = payout.sent_at is not None
        to_send = not is_again or _may_be_sent_again(payout)
        if to_send:
            # With the first sending the waits between inquiries begin at the shortest one.
            is_first = payout.status == PayoutStatus.PENDING
            begin = schedule.begin_asking if is_first else schedule.begin_again
            begin(payout, clock.now())
            payout.sent_at = payout.sent_at or clock.now()
        if payout.status == PayoutStatus.PENDING:
            steps.move(payout, PayoutStatus.IN_TRANSIT, render.payout(payout))
        elif to_send:
            payout.save()
        # In memory alone: written down it would outlive the process that does it.
        payout.is_to_send, payout.is_sent_again = to_send, is_again  # type: ignore[attr-defined]
        return payout

    def ask(self, row: Payout) -> Outcome:
        """Send the payout, or ask about it."""
        outcome = self._told(row)
        rails.count("send" if row.is_to_send else "inquire", outcome)  # type: ignore[attr-defined]
        return outcome

    def _told(self, row: Payout) -> Outcome:
        context.mark_irrevocable()
        order = _order(row)
        try:
            rail = rails.rail()
        except UpstreamUnavailable:
            # The installation has lost its bank: nothing left, and nothing is known.
            return TransferOutcome(Answer.NOT_SENT if row.is_to_send else Answer.UNKNOWN)  # type: ignore[attr-defined]
        if not row.is_to_send:  # type: ignore[attr-defined]
            return rail.inquire(order)
        outcome = rail.send(order)
        return answers.in_doubt(outcome) if row.is_sent_again else outcome  # type: ignore[attr-defined]

    def consequences(self, row: Payout, said: Said[Payout]) -> Effect:
        outcome = said.outcome
        assert isinstance(outcome, TransferOutcome)
        if outcome.answer is Answer.APPROVED:
            end = steps.end_paid(row, outcome.trace_id, arrived_at=outcome.arrived_at)
            return Effect(end)
        if outcome.answer is Answer.DECLINED:
            return Effect(steps.end_failed(row, outcome.failure_code, outcome.trace_id))
        row.trace_id = outcome.trace_id or row.trace_id
        may_send = _may_be_sent_again(row)
        still_open(row, outcome, not_sent=lambda: _not_sent(row), send_again=may_send)
        return Effect()

    def hear_late(self, asked: Payout, row: Payout, outcome: Outcome) -> None:
        if outcome.answer is Answer.APPROVED and row.status == PayoutStatus.FAILED:
            log.error("payout_paid_before_its_end", payout=row.id)


KIND = Payouts()


def _not_sent(payout: Payout) -> None:
    payout.sent_at = None


def _may_be_sent_again(payout: Payout) -> bool:
    try:
        is_idempotent = rails.rail().references_are_idempotent
    except UpstreamUnavailable:
        return False
    return is_idempotent and schedule.absence_is_confirmed(payout)


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
