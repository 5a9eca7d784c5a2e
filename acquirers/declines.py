"""Declines: a bank's refusal, explained to people (contract 2, `last_payment_error`)."""

from dataclasses import dataclass

from acquirers.outcomes import NEVER_AT_THE_BANK, Answer, Outcome

TRY_AGAIN_LATER = "try_again_later"
DO_NOT_TRY_AGAIN = "do_not_try_again"
CONFIRM_CARD_DATA = "confirm_card_data"

# One sentence for most declines: a payer with a stolen card must not learn that the bank knows it.
DECLINED = "Your card was declined. Try another card."
NOT_FOR_THIS = "Your card does not support this payment. Try another card."


@dataclass(frozen=True, slots=True)
class Decline:
    """One reason as `last_payment_error` shows it; `message` is safe to show the payer."""

    code: str
    decline_code: str | None
    message: str
    advice_code: str | None


def _declined(decline_code: str, message: str, advice_code: str | None) -> Decline:
    return Decline("card_declined", decline_code, message, advice_code)


GENERIC_DECLINE = _declined("generic_decline", DECLINED, None)
PROCESSING_ERROR = Decline(
    "processing_error",
    "processing_error",
    "The payment could not be made right now. Nothing was charged. Try again later.",
    TRY_AGAIN_LATER,
)
INCORRECT_CVC = Decline(
    "incorrect_cvc",
    "incorrect_cvc",
    "Your card's security code is not right.",
    CONFIRM_CARD_DATA,
)
AUTHENTICATION_REQUIRED = Decline(
    "authentication_required",
    "authentication_required",
    "Your bank asks you to confirm this payment.",
    None,
)
AUTHENTICATION_FAILED = Decline(
    "authentication_failed",
    None,
    "The payment was not confirmed with your bank. Try again, or use another card.",
    None,
)
AUTHENTICATION_ABANDONED = Decline(
    "authentication_abandoned",
    None,
    "The payment was not confirmed with your bank in time. Try again.",
    None,
)
FRAUD_BLOCKED = Decline("fraud_blocked", "fraudulent", DECLINED, DO_NOT_TRY_AGAIN)

BY_RESPONSE_CODE = {
    "05": _declined("do_not_honor", DECLINED, None),
    "12": _declined("transaction_not_allowed", NOT_FOR_THIS, DO_NOT_TRY_AGAIN),
    "14": Decline(
        "incorrect_number",
        "incorrect_number",
        "Your card number is not right.",
        CONFIRM_CARD_DATA,
    ),
    "1A": AUTHENTICATION_REQUIRED,
    "34": _declined("fraudulent", DECLINED, DO_NOT_TRY_AGAIN),
    "41": _declined("lost_card", DECLINED, DO_NOT_TRY_AGAIN),
    "43": _declined("stolen_card", DECLINED, DO_NOT_TRY_AGAIN),
    "51": _declined("insufficient_funds", "Your card has insufficient funds.", TRY_AGAIN_LATER),
    "54": Decline(
        "expired_card",
        "expired_card",
        "Your card has expired.",
        CONFIRM_CARD_DATA,
    ),
    "57": _declined("card_not_supported", NOT_FOR_THIS, DO_NOT_TRY_AGAIN),
    "58": _declined("service_not_allowed", NOT_FOR_THIS, DO_NOT_TRY_AGAIN),
    "65": AUTHENTICATION_REQUIRED,
    "82": INCORRECT_CVC,
    "84": INCORRECT_CVC,
    "91": PROCESSING_ERROR,
    "93": _declined("restricted_card", DECLINED, DO_NOT_TRY_AGAIN),
    "96": PROCESSING_ERROR,
}

_DECLINES = (
    GENERIC_DECLINE, AUTHENTICATION_FAILED, AUTHENTICATION_ABANDONED, FRAUD_BLOCKED,
    *BY_RESPONSE_CODE.values(),
)  # fmt: skip
# All codes that a payment can show, for the API's schema.
CODES = sorted({decline.code for decline in _DECLINES})
DECLINE_CODES = sorted({decline.decline_code for decline in _DECLINES if decline.decline_code})
ADVICE_CODES = (TRY_AGAIN_LATER, DO_NOT_TRY_AGAIN, CONFIRM_CARD_DATA)


def explain(outcome: Outcome) -> Decline:
    """Return the reason of an outcome that charged nothing: declined, never sent, or released."""
    if outcome.answer in (*NEVER_AT_THE_BANK, Answer.VOIDED, Answer.LAPSED):
        return PROCESSING_ERROR
    if outcome.risk_level == "highest":
        return FRAUD_BLOCKED
    return BY_RESPONSE_CODE.get(outcome.response_code or "", GENERIC_DECLINE)
