"""Refusals of refunds (contract-money, Refund): all but the amount's carry the object they mean."""

from core.errors import DomainError
from payments.intents import render as intents_render
from payments.intents.models import PaymentIntent
from payments.refunds import render
from payments.refunds.models import Refund


class AlreadyRefunded(DomainError):
    """All of it has been refunded, or is being refunded; the answer carries the payment."""

    code = "payment_already_refunded"
    message = "All that was captured has been refunded."
    is_lasting = True

    def __init__(self, intent: PaymentIntent) -> None:
        super().__init__(shown={"payment_intent": intents_render.payment_intent(intent)})


class PaymentDisputed(DomainError):
    """Only what is disputed at the bank is missing; the answer carries the payment."""

    code = "payment_disputed"
    message = "What is left of the payment is disputed at the bank."
    is_lasting = True

    def __init__(self, intent: PaymentIntent) -> None:
        super().__init__(shown={"payment_intent": intents_render.payment_intent(intent)})


class AmountAboveRefundable(DomainError):
    code = "amount_too_large"
    message = "The amount is above what can be refunded."
    param = "amount"
    is_lasting = True


class RefundUnexpectedState(DomainError):
    """The refund has left for the bank, or has ended; the answer carries the refund."""

    code = "refund_unexpected_state"
    message = "The refund's status does not allow this."
    is_lasting = True

    def __init__(self, refund: Refund) -> None:
        super().__init__(
            f"The refund is {refund.status}, and has left for the bank or has ended.",
            shown={"refund": render.refund(refund)},
        )
