"""Refusals of refunds (contract-money, Refund): all but the amount's carry the object they mean."""

from core.errors import DomainError, Explained
from payments.intents import render as intents_render
from payments.intents.models import PaymentIntent
from payments.refunds import render
from payments.refunds.models import Refund


class AlreadyRefunded(DomainError):
    """All of it has been refunded, or is being refunded; the answer carries the payment."""

    explained = Explained(
        cause=(
            "All of the captured amount has been refunded, or is being refunded. The answer carries"
            " the payment."
        ),
        remedy=(
            "Nothing is left to do. List the refunds with `GET /v1/refunds?payment_intent=` and the"
            " payment's id."
        ),
    )
    code = "payment_already_refunded"
    message = "All that was captured has been refunded."
    is_lasting = True

    def __init__(self, intent: PaymentIntent) -> None:
        super().__init__(shown={"payment_intent": intents_render.payment_intent(intent)})


class PaymentDisputed(DomainError):
    """Only what is disputed at the bank is missing; the answer carries the payment."""

    explained = Explained(
        cause=(
            "The rest of the captured amount is disputed at the bank. A refund beside the dispute "
            "could give the money back twice. The answer carries the payment."
        ),
        remedy=(
            "Refund up to `amount_refundable`, answer the dispute, or close it: closing gives the "
            "customer the money."
        ),
    )
    code = "payment_disputed"
    message = "The rest of the payment is disputed at the bank."
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

    explained = Explained(
        cause="The refund has left for the bank, or has ended. The answer carries the refund.",
        remedy=(
            "Read `refund.status` in the answer. A refund can be canceled only before it has left "
            "for the bank."
        ),
    )
    code = "refund_unexpected_state"
    message = "The refund's status does not allow this."
    is_lasting = True

    def __init__(self, refund: Refund) -> None:
        super().__init__(
            f"The refund is {refund.status}, and has left for the bank or has ended.",
            shown={"refund": render.refund(refund)},
        )
