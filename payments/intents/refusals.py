"""Refusals that more than one module of payments raises."""

from collections.abc import Iterable

from core.errors import DomainError, Explained
from core.rest.messages import listed
from payments.intents import render
from payments.intents.models import PaymentIntent


class IntentUnexpectedState(DomainError):
    """The payment is in a state that does not allow this; the answer carries the payment."""

    explained = Explained(
        cause=(
            "The payment's status does not allow this. For example, a succeeded payment cannot be "
            "confirmed again. The answer carries the payment."
        ),
        remedy=(
            "Read `payment_intent.status` in the answer and decide from it. While the payment is "
            "`processing`, wait for its event."
        ),
    )
    code = "payment_intent_unexpected_state"
    message = "The payment's status does not allow this."
    is_lasting = True

    def __init__(
        self,
        intent: PaymentIntent,
        act: str = "",
        statuses: Iterable[str] = (),
        *,
        advice: str = "",
    ) -> None:
        """:param statuses: those that allow the act, `A refund`."""
        allowed = listed(map(str, statuses), last="or") if act else ""
        super().__init__(
            f"The payment's status, {intent.status}, does not allow this.",
            shown={"payment_intent": render.payment_intent(intent)},
            advice=f"{act} needs the status {allowed}." if act else advice,
        )


class CardNotSupported(DomainError):
    explained = Explained(
        cause="The installation does not take this card. A sandbox takes its test cards only.",
        remedy=(
            "In a sandbox, use one of the test cards. In live, ask the customer for another card."
        ),
    )
    code = "card_not_supported"
    message = "This installation does not take the card."
    param = "payment_method_data[card][number]"


class InstallmentsNotAvailable(DomainError):
    explained = Explained(
        cause=(
            "This card, amount or currency cannot be paid in so many installments. More than 1 "
            "needs a domestic credit card, and a plan that your account has."
        ),
        remedy=(
            "Ask `GET /v1/installments` for the counts that the card's first digits allow, or send "
            "`installments` 1."
        ),
    )
    code = "installments_not_available"
    message = "The number of installments is not available for this payment."
    param = "installments"


class SurchargeMismatch(DomainError):
    explained = Explained(
        cause=(
            "The `surcharge` that you sent is not the one that the installments cost. The table of "
            "rates may have changed since you asked."
        ),
        remedy=(
            "Ask `GET /v1/installments` again and show the customer the new total, or leave "
            "`surcharge` out."
        ),
    )
    code = "surcharge_mismatch"
    message = "The surcharge is not what the payment's installments cost."
    param = "surcharge"


class LineItemsAmountMismatch(DomainError):
    explained = Explained(
        cause="The amounts of the line items do not sum to the payment's `amount`.",
        remedy=(
            "Make `quantity` × `unit_amount` + `tax_amount` − `discount_amount` of all lines equal "
            "to `amount`, with shipping as a line of its own."
        ),
    )
    code = "line_items_amount_mismatch"
    message = "The line items' amounts do not sum to the payment's amount."
    param = "line_items"
