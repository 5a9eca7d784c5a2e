"""Refunds in conversation with the bank: sent, asked about, sent again where that is safe."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

import acquirers
from acquirers import declines
from acquirers.conversation import answers, leases, schedule
from acquirers.conversation.kinds import Effect, Facts, Kind, Said, still_open
from acquirers.declines import Decline
from acquirers.exchanges import Spoken
from acquirers.gateway import SoughtRefund
from acquirers.models import BankExchange
from acquirers.outcomes import NEVER_SENT, Answer, OperationKind, Outcome
from cases.states import CaseDecision, CaseKind
from core import clock, installation
from ledger import book
from payments.bank import repayments
from payments.intents.states import NextStep
from payments.refunds import late, nameless, render, steps
from payments.refunds.models import Refund
from payments.refunds.states import FailureReason, Method, PendingReason, RefundStatus

EXCHANGES = {
    Method.VOID: BankExchange.Operation.VOID,
    Method.REFUND: BankExchange.Operation.REFUND,
}
# A refund that left in vain so often does not only wait for its turn: its terminal is wrongly set
# up, or its bank is away.
OFTEN = 4
# Longer than the longest holidays of banks: a bank that then still says "not yet" takes it never.
NOT_YET_FOR = timedelta(days=14)
# The answers whose numbers are the refund's own.
NUMBERED = (Answer.APPROVED, Answer.PENDING, Answer.DECLINED)
FAILURES = {
    "lost_card": FailureReason.LOST_OR_STOLEN_CARD,
    "stolen_card": FailureReason.LOST_OR_STOLEN_CARD,
    "expired_card": FailureReason.EXPIRED_OR_CANCELED_CARD,
}


class Refunds(Kind[Refund]):
    """Refunds that are on their way, or whose end is not known."""

    model = Refund
    id_prefix = "re"
    slots = 4
    door = steps.DOOR

    def facts(self, asked: Refund, outcome: Outcome) -> Facts[Refund]:
        refund = steps.locked(asked)
        spoken = Spoken(asked.attempt, EXCHANGES[Method(asked.method)], asked.id)
        # The answer to a void says nothing about the refund that the void has become since.
        is_pending, is_followed = (
            refund.status == RefundStatus.PENDING,
            refund.method != asked.method,
        )
        is_absent = outcome.answer is Answer.NO_RECORD
        not_before = nameless.absence_not_before(refund) if is_absent else None
        known = answers.believed(refund, outcome, not_before=not_before)
        return Facts(refund, refund, spoken, known, is_pending and not is_followed, is_followed)

    @transaction.atomic(durable=True)
    def begun(self, row: Refund) -> Refund | None:
        """Write down the refund's next step at the bank, and return it with that.

        :param row: the caller holds its lease.
        :returns: None if there is nothing to do at the bank; the lease is over then.
        """
        refund = steps.locked(row)
        if leases.is_overtaken(row, refund):
            return None
        refund.sought = nameless.sought(refund)
        if refund.status != RefundStatus.PENDING:
            # Decided by a person, or learnt by an inquiry: the bank is asked what it says by now.
            return refund if refund.due_at is not None else None
        if refund.is_waiting:
            _wait_on(refund)
            return None
        refund.next_step = _next_step(refund)
        if refund.next_step is NextStep.SEND and not nameless.has_turn(refund):
            nameless.wait(refund)
            refund.save()
            return None
        if refund.next_step is not NextStep.ASK:
            refund.sent_at = refund.sent_at or clock.now()
            schedule.begin_again(refund, clock.now())
            refund.save(update_fields=["sent_at", "asked_at", "no_record_count"])
        return refund

    def ask(self, row: Refund) -> Outcome:
        """Do the refund's next step at the bank.

        A void is simply asked for again: a bank releases an authorisation once. A refund that has
        ended is asked about only.
        """
        if row.status != RefundStatus.PENDING:
            return self.inquire(row)
        if row.method == Method.VOID:
            is_first = row.next_step is NextStep.SEND
            return repayments.void(row.attempt) if is_first else repayments.void_again(row.attempt)
        return repayments.send_or_ask(row.next_step, row.attempt, row.sought or _first(row))

    def inquire(self, row: Refund) -> Outcome:
        if row.method == Method.VOID:
            return repayments.inquire(row.attempt, OperationKind.VOID)
        return repayments.inquire_refund(row.attempt, row.sought or nameless.sought(row))

    def consequences(self, row: Refund, said: Said[Refund]) -> Effect:
        outcome = said.outcome
        _keep_numbers(row, outcome)
        match outcome.answer:
            case Answer.APPROVED:
                return _succeed(row, outcome)
            case Answer.DECLINED:
                reason = _failure(declines.of_refusal(outcome)) or FailureReason.DECLINED
                return Effect(steps.end_failed(row, reason))
            case Answer.SETTLED if row.method == Method.VOID:
                return _become_refund(row, goes_on=said.goes_on)
            case Answer.DAY_OPEN if row.method == Method.REFUND:
                _wait_for_the_day(row, is_first=said.asked.next_step is not NextStep.ASK)
                return _still_pending(row, said)
            case answer if answer not in NEVER_SENT:
                row.pending_reason = PendingReason.PROCESSING
        still_open(row, outcome, not_sent=lambda: _not_sent(row), send_again=True)
        schedule.ask_by(row, nameless.absence_not_before(row))
        if outcome.answer is Answer.PENDING:
            _note_reference(row, outcome)
        return _still_pending(row, said)

    def hear_late(self, asked: Refund, row: Refund, outcome: Outcome) -> None:
        if row.method != asked.method:
            late.hear_void(row, outcome.answer)
        else:
            late.hear(self, asked, row, outcome.answer)

    def unanswered(self, since: datetime) -> dict[str, QuerySet[Any]]:
        refused = Q(sent_at=None, created_at__lte=since, inquiry_count__gte=OFTEN)
        not_yet = Q(pending_reason=PendingReason.BANK_DAY_OPEN, created_at__lte=since - NOT_YET_FOR)
        silent = Refund.objects.filter(
            Q(Q(sent_at__lte=since) | refused, pending_reason=PendingReason.PROCESSING) | not_yet,
            status=RefundStatus.PENDING,
            due_at__isnull=False,
        )
        silent = silent.select_related("attempt__intent").order_by("sent_at", "created_at")
        return {CaseKind.UNKNOWN_OUTCOME: silent}

    def decisions(self, row: Refund) -> tuple[str, ...]:
        return (CaseDecision.RELEASED, CaseDecision.NOT_RELEASED)

    def outcome_of(self, decided: Answer, inquiry: Outcome) -> Outcome:
        # A refund fails by the bank's refusal; "not charged" would send it again.
        return Outcome(Answer.APPROVED if decided is Answer.APPROVED else Answer.DECLINED)


KIND = Refunds()


def reason_of(response_code: str | None) -> FailureReason | None:
    """Return the `failure_reason` that a bank's code stands for.

    :param response_code: ISO 8583.
    """
    return _failure(declines.BY_RESPONSE_CODE.get(response_code or ""))


def _failure(decline: Decline | None) -> FailureReason | None:
    return FAILURES.get(decline.decline_code or "") if decline else None


def _first(refund: Refund) -> SoughtRefund:
    """Return the refund as it is first sent: nothing has to be known of the order's others."""
    return SoughtRefund(refund.acquirer_reference, refund.amount, refund.sent_at or clock.now())


def _next_step(refund: Refund) -> NextStep:
    if refund.sent_at is None:
        return NextStep.SEND
    return NextStep.SEND_AGAIN if schedule.absence_is_confirmed(refund) else NextStep.ASK


def _wait_on(refund: Refund) -> None:
    """Let a refund that waits for funds fail once it has waited for 30 days."""
    leases.end_with(refund)
    if clock.now() >= steps.gives_up_at(refund):
        steps.fail(refund, FailureReason.INSUFFICIENT_FUNDS)
        return
    schedule.look_at(refund, steps.gives_up_at(refund))
    refund.save(update_fields=["due_at", "lease_until"])


def _succeed(refund: Refund, outcome: Outcome) -> Effect:
    book.refund_paid(refund.id, merchant_id=refund.merchant_id, now=clock.now())
    _note_reference(refund, outcome)
    # A person may know that it went back in another way, although it never left from here.
    refund.sent_at = refund.sent_at or clock.now()
    steps.close(refund)
    if outcome.is_from_inquiry:
        late.look_once_more(refund)
    return Effect(RefundStatus.SUCCEEDED)


def _become_refund(refund: Refund, *, goes_on: bool) -> Effect:
    """Go on as a refund, in the same object: the bank's day is over, and nothing was voided."""
    if _is_older_than_a_restore(refund):
        # The lost server may have sent the refund already.
        steps.ask_whether_it_left(refund)
        return Effect(RefundStatus.PENDING)
    book.void_undone(refund.id, merchant_id=refund.merchant_id, now=clock.now())
    refund.method, refund.sent_at = Method.REFUND, None
    schedule.look_at(refund, clock.now())
    steps.book_or_wait(refund)
    if refund.is_waiting or not goes_on:
        return Effect(RefundStatus.PENDING)
    leases.begin(refund)
    return Effect(RefundStatus.PENDING, follow=lambda: refund)


def _is_older_than_a_restore(refund: Refund) -> bool:
    opened_at = installation.opened_at()
    return opened_at is not None and refund.created_at <= clock.moved(opened_at)


def _wait_for_the_day(refund: Refund, *, is_first: bool) -> None:
    """Let a refund that came before the end of the bank's day be sent again, in memory.

    Ten minutes after that end at first; a bank that still refuses it then is asked as by a silence.

    :param is_first: no earlier request may be on its way. One that is may reach the bank after its
        day, so that the refund has left, and cannot be canceled.
    """
    if refund.waits_for_the_day:
        schedule.ask_later(refund)
    else:
        ends_at = acquirers.of(refund.attempt).voidable_until(clock.now())
        schedule.look_after_day(refund, ends_at)
    refund.pending_reason = PendingReason.BANK_DAY_OPEN
    if is_first:
        refund.sent_at = None


def _still_pending(refund: Refund, said: Said[Refund]) -> Effect:
    """Return the effect of an answer that has not ended the refund: an event if it shows."""
    return Effect(RefundStatus.PENDING if render.refund(refund) != said.before else None)


def _not_sent(refund: Refund) -> None:
    refund.sent_at = None


def _keep_numbers(refund: Refund, outcome: Outcome) -> None:
    """Keep the bank's numbers of a refund, by which an inquiry knows it from the order's others."""
    if refund.method == Method.REFUND and outcome.answer in NUMBERED and outcome.exchange.numbers:
        refund.bank_numbers = {**(refund.bank_numbers or {}), **outcome.exchange.numbers}


def _note_reference(refund: Refund, outcome: Outcome) -> None:
    # A void is on no statement: whatever number the bank gives it, the cardholder never sees it.
    if refund.method == Method.REFUND:
        refund.reference = outcome.network_reference or refund.reference
