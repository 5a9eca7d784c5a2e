"""Refunds at the bank: sent, asked about, and sent again where that is safe."""

from django.db import transaction

from acquirers.in_doubt import answers, leases, schedule
from acquirers.in_doubt.kinds import Kind
from acquirers.outcomes import Deed, Outcome
from core import clock, context
from payments.intents import repayments
from payments.intents.states import Errand
from payments.refunds import bank_answers, render, rows
from payments.refunds.models import Refund
from payments.refunds.states import FailureReason, Method, Status


class Refunds(Kind[Refund]):
    """Refunds that are on their way, or whose end is not known."""

    model = Refund

    def begun(self, row: Refund) -> Refund | None:
        return begun(row)

    def ask(self, row: Refund) -> Outcome:
        return ask(row)

    def resolve(self, row: Refund, outcome: Outcome) -> Refund:
        return bank_answers.apply(row, outcome)


@transaction.atomic(durable=True)
def begun(leased: Refund) -> Refund | None:
    """Write down that a refund leaves for the bank now, if it does; return it with its errand.

    :param leased: the caller holds its lease.
    :returns: None if there is nothing to do at the bank; the lease is over then.
    """
    refund = rows.locked(leased)
    if leases.is_overtaken(leased, refund):
        return None
    if refund.status != Status.PENDING:
        return _decided(refund)
    if refund.is_waiting:
        _wait_on(refund)
        return None
    refund.errand = _errand(refund)
    if refund.errand is not Errand.ASK:
        refund.sent_at = refund.sent_at or clock.now()
        schedule.begin_again(refund, clock.now())
        refund.save(update_fields=["sent_at", "asked_at", "no_record_count"])
    return refund


def _decided(refund: Refund) -> Refund | None:
    """Return a refund that a person has decided: the bank is asked what it says by now."""
    return refund if refund.due_at is not None else None


def _errand(refund: Refund) -> Errand:
    if refund.sent_at is None:
        return Errand.SEND
    return Errand.SEND_AGAIN if schedule.absence_is_confirmed(refund) else Errand.ASK


def _wait_on(refund: Refund) -> None:
    """Let a refund that waits for funds fail once it has waited for 30 days."""
    leases.end_with(refund)
    if clock.now() >= rows.gives_up_at(refund):
        rows.fail(refund, FailureReason.INSUFFICIENT_FUNDS, render.refund(refund))
        return
    schedule.look_at(refund, rows.gives_up_at(refund))
    refund.save(update_fields=["due_at", "lease_until"])


def ask(refund: Refund) -> Outcome:
    """Do the refund's errand at the bank; the caller holds its lease, and no transaction is open.

    A void is simply asked for again: a bank releases an authorisation once. What a person has
    decided is asked about only.
    """
    attempt = refund.attempt
    if refund.status != Status.PENDING:
        return inquire(refund)
    if refund.method == Method.VOID:
        is_first = refund.errand is Errand.SEND
        return repayments.void(attempt) if is_first else repayments.void_again(attempt)
    reference, amount = refund.acquirer_reference, refund.amount
    return repayments.run(refund.errand, attempt, reference=reference, amount=amount)


def inquire(refund: Refund) -> Outcome:
    """Inquire how the refund ended, which changes nothing at the bank."""
    if refund.method == Method.VOID:
        return repayments.inquire(refund.attempt, Deed.VOID)
    return repayments.inquire_refund(refund.attempt, reference=refund.acquirer_reference)


def pursue(refund: Refund) -> Refund:
    """Ask the bank for a refund, and apply its answer; the caller holds the lease.

    A void that came after the bank's day goes on as a refund at once.
    """
    context.mark_irrevocable()
    with leases.given_back(refund):
        outcome = ask(refund)
        ended = answers.apply_with_retry(refund, lambda: bank_answers.apply(refund, outcome))
    is_unsent = ended.method != refund.method and ended.status == Status.PENDING
    ours = leases.take(ended) if is_unsent else None
    return go_on(ours) if ours else ended


def go_on(leased: Refund) -> Refund:
    """Do the next thing at the bank for a refund whose lease the caller holds."""
    ready = begun(leased)
    return pursue(ready) if ready else leased
