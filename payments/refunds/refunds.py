"""Refunds: captured money given back, written down before the bank is asked."""

from collections.abc import Callable
from typing import Any

from django.db import transaction

import acquirers
from acquirers import references, slots
from acquirers.conversation import leases, settling
from acquirers.conversation.models import begun
from api import idempotency
from core import clock, context, ids
from core.metadata import merge
from events import outbox
from merchants import audit_log
from merchants.models import Merchant
from payments.bank import inquiries
from payments.intents import deadlines, given_back
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.refusals import IntentUnexpectedState
from payments.intents.states import AttemptStatus, NextStep, PaymentStatus
from payments.refunds import asking, nameless, render, steps
from payments.refunds.models import Refund
from payments.refunds.refusals import AlreadyRefunded, AmountAboveRefundable, PaymentDisputed
from payments.refunds.states import CREATED, UPDATED, Method

PARAM = "payment_intent"


@slots.in_a_slot
def create(
    merchant: Merchant, draft: dict[str, Any], agree: Callable[[Refund], object] | None = None
) -> Refund:
    """Give back all that can be refunded of a payment, or a part of it.

    Left pending when the bank does not answer, or when it must wait for the merchant's funds.

    :param draft: a body that `CreateRefundForm` has validated; the amount in minor units.
    :param agree: looks at the refund as it is written, with its payment locked, before the commit;
        if it raises, nothing was written.
    :raises ResourceMissing: the merchant has no such payment.
    :raises IntentUnexpectedState: nothing was captured, or it is not known whether.
    :raises AlreadyRefunded: all of it has been refunded.
    :raises PaymentDisputed: only what is disputed at the bank is missing.
    :raises AmountAboveRefundable: more than is left.
    :raises LockTimeout: the payment's bank is being asked already.
    :raises UpstreamUnavailable: the installation cannot reach the attempt's bank.
    """
    inquiries.ask_first(merchant, draft[PARAM])
    refund = _open(merchant, draft, agree)
    return refund if refund.sent_at is None else settling.pursue(asking.KIND, refund)


@transaction.atomic(durable=True)
def _open(
    merchant: Merchant, draft: dict[str, Any], agree: Callable[[Refund], object] | None
) -> Refund:
    """Write the refund down, in one transaction with the claim of the request's key."""
    refund_id = ids.new("re")
    idempotency.take(refund_id, is_finished=False)
    payments = PaymentIntent.objects.for_merchant(merchant).select_related("merchant")
    intent = payments.lock(draft[PARAM], param=PARAM)
    attempt = _captured(intent)
    amount = _amount(intent, draft.get("amount"))
    refund = _drafted(refund_id, intent, attempt, amount, draft)
    given_back.reserve_refund(intent, amount)
    steps.book_or_wait(refund)
    if refund.is_waiting or not nameless.has_turn(refund):
        _leave_waiting(refund)
    refund.save(force_insert=True)
    outbox.record(intent.merchant, CREATED, render.refund(refund))
    after = {"payment_intent": intent.id, "amount": amount, "reason": refund.reason}
    audit_log.record_by_person("refund.created", merchant=merchant, subject=refund.id, after=after)
    if agree:
        agree(refund)
    return refund


def method_now(intent: PaymentIntent) -> Method:
    """Return how all that can be refunded of a payment would go back now.

    :raises UpstreamUnavailable: the installation cannot reach the attempt's bank.
    """
    attempt = intent.attempts.select_related("terminal").get(status=AttemptStatus.SUCCEEDED)
    return _method(intent, attempt, intent.amount_refundable)


def _captured(intent: PaymentIntent) -> Attempt:
    """Return the attempt that took the payment's money, locked; the caller has locked the payment.

    :raises IntentUnexpectedState: none did.
    :raises LockTimeout: one is being asked to this moment.
    """
    if intent.status != PaymentStatus.SUCCEEDED:
        inquiries.refuse_in_flight(intent)
        raise IntentUnexpectedState(intent, "A refund", [PaymentStatus.SUCCEEDED])
    attempts = intent.attempts.select_related("terminal").select_for_update(of=("self",))
    return attempts.get(status=AttemptStatus.SUCCEEDED)


def _amount(intent: PaymentIntent, asked: int | None) -> int:
    """Return what goes back, in minor units (contract-money, Refund: refused in this order)."""
    left = intent.captured_minor - intent.refunded_minor
    amount = intent.amount_refundable if asked is None else asked
    if left == 0:
        raise AlreadyRefunded(intent)
    if amount == 0 or intent.amount_refundable < amount <= left:
        raise PaymentDisputed(intent)
    if amount > left:
        raise AmountAboveRefundable(advice=f"amount_refundable is {intent.amount_refundable}.")
    return amount


def _drafted(
    refund_id: str, intent: PaymentIntent, attempt: Attempt, amount: int, draft: dict[str, Any]
) -> Refund:
    now = clock.now()
    refund = Refund(
        id=refund_id,
        merchant=intent.merchant,
        intent=intent,
        attempt=attempt,
        acquirer_reference=references.new(),
        amount=amount,
        currency=intent.currency,
        method=_method(intent, attempt, amount),
        reason=draft.get("reason"),
        description=draft.get("description"),
        metadata=merge({}, draft.get("metadata")),
        sent_at=now,
        request_id=context.request_id(),
        created_at=now,
        **begun(now, lease_until=leases.end()),
    )
    refund.next_step = NextStep.SEND
    return refund


def _method(intent: PaymentIntent, attempt: Attempt, amount: int) -> Method:
    """Choose a void for a whole payment of which nothing is gone, on the bank's same day."""
    gateway = acquirers.of(attempt)  # Without an adapter nothing is written down.
    is_whole = amount == intent.captured_minor and not intent.disputed_minor
    if not is_whole or intent.refunded_minor:
        return Method.REFUND
    ends_at = gateway.voidable_until(deadlines.money_asked_at(attempt))
    return Method.VOID if ends_at is None or clock.now() < ends_at else Method.REFUND


def _leave_waiting(refund: Refund) -> None:
    """Note that nothing leaves for the bank, and that only the request's answer is missing.

    The refund waits for funds, or for its turn at a bank without names of refunds.
    """
    if refund.is_waiting:
        refund.sent_at = None
        leases.end_with(refund)
    else:
        nameless.wait(refund)
    idempotency.finish()


@transaction.atomic(durable=True)
def update(merchant: Merchant, refund_id: str, changes: dict[str, Any]) -> Refund:
    """Change the given fields and leave the rest; null clears. No event if nothing changes.

    :param changes: a body that `UpdateRefundForm` has validated.
    :raises ResourceMissing: the merchant has no such refund.
    """
    idempotency.take(refund_id)
    refund = Refund.objects.for_merchant(merchant).lock(refund_id)
    before = render.refund(refund)
    if "description" in changes:
        refund.description = changes["description"]
    if "metadata" in changes:
        refund.metadata = merge(refund.metadata, changes["metadata"])
    after = render.refund(refund)
    if after != before:
        refund.save(update_fields=["description", "metadata"])
        outbox.record(merchant, UPDATED, after, before)
    return refund
