"""A payment's refunds in all books: its own columns, the refunds' rows, and the bank's."""

from typing import NamedTuple

from payments.intents.models import Attempt, PaymentIntent
from payments.refunds.models import Refund
from payments.refunds.states import PendingReason, RefundStatus
from tests.stage import bank_books


class GivenBack(NamedTuple):
    """Money of one payment, in minor units.

    :param counted: what the payment counts as refunded, pending refunds included.
    :param at_the_bank: what the bank has given back to the card.
    """

    counted: int
    at_the_bank: int


def given_back(payment_id: str) -> GivenBack:
    """Return what goes back of a payment, and compare the books that tell of it.

    The bank has given back what succeeded, and at most what is pending too.
    """
    intent = PaymentIntent.objects.get(id=payment_id)
    refunds = Refund.objects.filter(intent_id=payment_id)
    known = list(refunds.values_list("status", "pending_reason", "amount"))
    sums = {
        one: sum(amount for status, _, amount in known if status == one) for one in RefundStatus
    }
    counted = sums[RefundStatus.PENDING] + sums[RefundStatus.SUCCEEDED]
    lacking = PendingReason.INSUFFICIENT_FUNDS
    waiting = sum(amount for _, reason, amount in known if reason == lacking)
    at_the_bank = _at_the_bank(payment_id)
    told = f"{sums}, {waiting} waits, the payment says {intent.refunded_minor} of"
    told += f" {intent.captured_minor}, the bank gave back {at_the_bank}"
    assert counted == intent.refunded_minor <= intent.captured_minor, told
    assert sums[RefundStatus.SUCCEEDED] <= at_the_bank <= counted - waiting, told
    return GivenBack(counted, at_the_bank)


def assert_every_payment_agrees() -> None:
    """Compare the books of every payment that there is."""
    for payment_id in PaymentIntent.objects.values_list("id", flat=True):
        given_back(payment_id)


def _at_the_bank(payment_id: str) -> int:
    attempts = Attempt.objects.filter(intent_id=payment_id)
    references = list(attempts.values_list("acquirer_reference", flat=True))
    return sum(amount for one in bank_books.orders(references) for amount in one.given_back)
