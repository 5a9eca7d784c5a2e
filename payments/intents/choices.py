"""The values of payments' fields in the API, each with its meaning."""

from core.rest.components import Choices
from payments.intents.models import LineItem, PaymentIntent
from payments.intents.states import ATTEMPTS, EXPIRED, PaymentStatus

_Is = PaymentStatus
PAYMENT_STATUS = Choices(
    "PaymentIntentStatus",
    {
        _Is.REQUIRES_PAYMENT_METHOD: (
            "No card is known, or the last attempt failed: confirm with a card."
        ),
        _Is.REQUIRES_CONFIRMATION: "A card is known, and the payment waits for `confirm`.",
        _Is.REQUIRES_ACTION: "The customer must authenticate: send them to `next_action`.",
        _Is.PROCESSING: "The bank has not said whether it charged. An event follows.",
        _Is.REQUIRES_CAPTURE: "The amount is authorised: capture it, or cancel the payment.",
        _Is.SUCCEEDED: "The card was charged. Final.",
        _Is.CANCELED: "The payment was called off. Final.",
    },
)
ATTEMPT_STATUS = Choices("PaymentAttemptStatus", ATTEMPTS.meanings)
CAPTURE_METHOD = Choices(
    "CaptureMethod",
    {
        PaymentIntent.CaptureMethod.AUTOMATIC: "The card is charged as soon as the bank agrees.",
        PaymentIntent.CaptureMethod.MANUAL: "The amount is authorised, and you capture it later.",
    },
)
AUTHENTICATION = Choices(
    "ThreeDSecureRequest",
    {
        "automatic": "3-D Secure is used if the card, the bank or your limits ask for it.",
        "required": "3-D Secure is always used.",
        "none": "3-D Secure is not used, unless the card or its bank demands it.",
    },
)
METHOD_TYPE = Choices("PaymentMethodType", {"card": "A payment card."})
ITEM_TYPE = Choices(
    "LineItemType",
    {
        LineItem.ItemType.PHYSICAL: "A thing that is shipped.",
        LineItem.ItemType.VIRTUAL: "A service, or a thing that is delivered digitally.",
    },
)
_REASONS = {
    "duplicate": "The payment exists twice.",
    "fraudulent": "The payment looks fraudulent.",
    "requested_by_customer": "The customer no longer wants to pay.",
    "abandoned": "The customer did not finish the payment.",
}
CANCELLATION_REASON = Choices("CancellationReason", _REASONS)
SHOWN_CANCELLATION_REASON = Choices(
    "ShownCancellationReason", {**_REASONS, EXPIRED: "The authorisation ended before a capture."}
)
ERROR_TYPE = Choices(
    "PaymentErrorType",
    {
        "card_error": "The card, its bank or a rule refused the payment.",
        "api_error": "The payment could not be processed.",
    },
)
ERROR_CODE = Choices(
    "PaymentErrorCode",
    {
        "authentication_abandoned": "The customer did not come back from 3-D Secure in time.",
        "authentication_failed": "The customer failed 3-D Secure, or it could not start.",
        "authentication_required": "The bank demands 3-D Secure: confirm with a `return_url`.",
        "card_declined": "The bank declined the card: see `decline_code`.",
        "expired_card": "The card has expired.",
        "fraud_blocked": "A risk rule or the bank blocked the payment.",
        "incorrect_cvc": "The security code is wrong.",
        "incorrect_number": "The bank knows no card with this number.",
        "processing_error": "The bank could not process the payment. Nothing was charged.",
    },
)
DECLINE_CODE = Choices(
    "DeclineCode",
    {
        "authentication_required": "The bank demands 3-D Secure.",
        "card_not_supported": "The card cannot be used for this kind of payment.",
        "do_not_honor": "The bank declined and gives no reason.",
        "expired_card": "The card has expired.",
        "fraudulent": "The bank or a risk rule suspects fraud.",
        "generic_decline": "The bank declined for a reason that has no code here.",
        "incorrect_cvc": "The security code is wrong.",
        "incorrect_number": "The bank knows no card with this number.",
        "insufficient_funds": "The account has too little money, or the limit is reached.",
        "lost_card": "The card was reported lost. Do not tell the payer.",
        "processing_error": "The bank could not process the payment.",
        "restricted_card": "The bank does not allow the card to be used.",
        "service_not_allowed": "The card or your account may not use this service.",
        "stolen_card": "The card was reported stolen. Do not tell the payer.",
        "transaction_not_allowed": "The bank does not allow this transaction.",
    },
)
ADVICE_CODE = Choices(
    "AdviceCode",
    {
        "try_again_later": "The same card may work later.",
        "do_not_try_again": "Do not try the same card again.",
        "confirm_card_data": "Ask the payer to check the card's data.",
    },
)
FRAUD_STATUS = Choices(
    "FraudStatus",
    {
        "pending": "The verdict is not known yet.",
        "clear": "The payment is not suspicious.",
        "review": "A person should look at the payment.",
        "fraud": "The payment is believed to be fraud.",
    },
)
RISK_LEVEL = Choices(
    "RiskLevel",
    {
        "normal": "The risk is ordinary.",
        "elevated": "The risk is higher than usual.",
        "highest": "The risk is so high that the payment is blocked.",
    },
)
