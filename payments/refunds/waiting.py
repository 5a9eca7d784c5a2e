"""Refunds that wait for the merchant's funds: sent when money has come, the oldest first."""

from django.db import transaction
from django.db.models import F, Sum

from acquirers.conversation import schedule
from api import request_logs
from core import clock, context
from core.one_by_one import alone
from payments.intents.models import PaymentIntent
from payments.refunds import render, steps
from payments.refunds.models import WAITING, Refund
from payments.refunds.states import FailureReason, RefundStatus

# The next look goes on with the others.
AT_ONCE = 500
NOT_SENT = "waiting_refunds_not_sent"


def look(*, job: str) -> None:
    """Send what can be sent, merchant by merchant, and fail what a dispute left no room for.

    One that cannot be looked at, because its payment is locked for one, stops no other merchant's.

    :param job: the name of this work in the request logs.
    """
    for refund in _crowded():
        with alone(NOT_SENT, merchant=refund.merchant_id), request_logs.job(job):
            _fail_if_crowded(refund)
    waiting = Refund.objects.filter(WAITING)
    for merchant_id, currency in waiting.values_list("merchant_id", "currency").distinct():
        with alone(NOT_SENT, merchant=merchant_id):
            send_waiting(merchant_id, currency, job=job)


def needed(merchant_id: str, currency: str) -> int:
    """Return what a merchant's waiting refunds need, in minor units, fees not taken off."""
    waiting = Refund.objects.filter(WAITING, merchant_id=merchant_id, currency=currency)
    return waiting.aggregate(total=Sum("amount"))["total"] or 0


def send_waiting(merchant_id: str, currency: str, *, job: str) -> None:
    """Send a merchant's refunds that wait, the oldest first, as far as the funds reach.

    One that the funds do not reach keeps the younger ones waiting, or it might never be sent.
    """
    for refund in _oldest_first(merchant_id, currency):
        if context.remaining_seconds() <= 0:
            return  # The next look goes on.
        with request_logs.job(job):
            if not _send(refund):
                return


def _oldest_first(merchant_id: str, currency: str) -> list[Refund]:
    waiting = Refund.objects.filter(WAITING, merchant_id=merchant_id, currency=currency)
    return list(waiting.order_by("created_at", "id")[:AT_ONCE])


@transaction.atomic(durable=True)
def _send(found: Refund) -> bool:
    """Take the refund's money and let the sweeper send it; return whether the funds reached."""
    refund = steps.locked(found)
    if not refund.is_waiting or _is_crowded(refund.intent):
        return True  # It was sent or canceled since it was found, or it is about to fail.
    before = render.refund(refund)
    steps.book_or_wait(refund)
    if refund.is_waiting:
        return False
    schedule.look_at(refund, clock.now())
    steps.move(refund, RefundStatus.PENDING, before)
    return True


def _crowded() -> list[Refund]:
    """Return the refunds of payments that cannot pay both refunds and disputes, newest first."""
    taken = F("intent__refunded_minor") + F("intent__disputed_minor")
    found = Refund.objects.filter(WAITING, intent__captured_minor__lt=taken)
    return list(found.order_by("-created_at", "-id"))


@transaction.atomic(durable=True)
def _fail_if_crowded(found: Refund) -> None:
    refund = steps.locked(found)
    if refund.is_waiting and _is_crowded(refund.intent):
        steps.fail(refund, FailureReason.DISPUTED)


def _is_crowded(intent: PaymentIntent) -> bool:
    return intent.captured_minor < intent.refunded_minor + intent.disputed_minor
