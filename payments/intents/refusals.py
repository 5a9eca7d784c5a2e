"""Refusals that more than one module of payments raises."""

from core.errors import DomainError
from payments.intents import render
from payments.intents.models import PaymentIntent


class IntentUnexpectedState(DomainError):
    """The payment is in a state that does not allow this; the answer carries the payment."""

    code = "payment_intent_unexpected_state"
    message = "The payment's status does not allow this."
    is_lasting = True

    def __init__(self, intent: PaymentIntent) -> None:
        super().__init__(
            f"The payment's status, {intent.status}, does not allow this.",
            shown={"payment_intent": render.payment_intent(intent)},
        )


class CardNotSupported(DomainError):
    code = "card_not_supported"
    message = "This installation does not take the card."
    param = "payment_method_data[card][number]"


class InstallmentsNotAvailable(DomainError):
    code = "installments_not_available"
    message = "The number of installments is not available for this payment."
    param = "installments"


class SurchargeMismatch(DomainError):
    code = "surcharge_mismatch"
    message = "The surcharge is not what the payment's installments cost."
    param = "surcharge"


class LineItemsAmountMismatch(DomainError):
    code = "line_items_amount_mismatch"
    message = "The line items' amounts do not sum to the payment's amount."
    param = "line_items"
