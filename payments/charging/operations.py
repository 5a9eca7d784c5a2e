"""The description of the actions on payments in the API's schema."""

from core.errors import ResourceMissing
from core.rest import schema
from core.rest.schema import Operation, ref
from merchants.accounts import MerchantRestricted
from merchants.sites import ReturnUrlNotAllowed
from payments.charging.cancellations import CancelFailed
from payments.charging.captures import (
    AmountAboveCapturable,
    CaptureExpired,
    PartialCaptureNotAllowed,
)
from payments.intents import forms, refusals
from payments.intents.non_secure import NonSecureNotAllowed

_CONFIRMING = (
    MerchantRestricted, ReturnUrlNotAllowed, NonSecureNotAllowed, refusals.CardNotSupported,
    refusals.InstallmentsNotAvailable, refusals.SurchargeMismatch,
)  # fmt: skip

PAYMENT_INTENTS = {
    "list": Operation(
        "List payments",
        schema.list_of("PaymentIntentList", ref("PaymentIntent")),
        description="Your payments, the newest first unless `sort` says otherwise.",
    ),
    "create": Operation(
        "Create a payment",
        ref("PaymentIntent"),
        forms.CreateIntentForm,
        description=(
            "With `confirm: true` it is made in the same call. A declined card is no error: the "
            "answer is 200, the status `requires_payment_method`, and `last_payment_error` says "
            "why."
        ),
        refuses=(*_CONFIRMING, refusals.LineItemsAmountMismatch, ResourceMissing),
    ),
    "retrieve": Operation(
        "Read a payment", ref("PaymentIntent"), description="The payment as it is now."
    ),
    "update": Operation(
        "Change a payment",
        ref("PaymentIntent"),
        forms.UpdateIntentForm,
        description="What concerns money can be changed before the first attempt only.",
        refuses=(
            refusals.InstallmentsNotAvailable, refusals.LineItemsAmountMismatch,
            refusals.IntentUnexpectedState,
        ),
    ),
    "confirm": Operation(
        "Confirm a payment",
        ref("PaymentIntent"),
        forms.ConfirmIntentForm,
        description=(
            "Ask the bank for the money. Possible while the status is `requires_payment_method`, "
            "`requires_confirmation` or `requires_action`. A declined card is no error: the answer "
            "is 200, and `last_payment_error` says why."
        ),
        refuses=(*_CONFIRMING, refusals.IntentUnexpectedState),
    ),
    "capture": Operation(
        "Capture a payment",
        ref("PaymentIntent"),
        forms.CaptureIntentForm,
        description="Once; what is not captured is released.",
        refuses=(
            refusals.IntentUnexpectedState, CaptureExpired, AmountAboveCapturable,
            PartialCaptureNotAllowed, MerchantRestricted,
        ),
    ),
    "cancel": Operation(
        "Cancel a payment",
        ref("PaymentIntent"),
        forms.CancelIntentForm,
        description=(
            "Possible until it is charged: an authorised amount is released. After that, refund it."
        ),
        refuses=(refusals.IntentUnexpectedState, CancelFailed),
    ),
}  # fmt: skip
