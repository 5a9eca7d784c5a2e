"""Declines: a bank's refusal, explained to people (contract 2, `last_payment_error`)."""

from dataclasses import dataclass

from acquirers.outcomes import NEVER_AT_THE_BANK, Answer, Outcome, Reason
from core.errors import Explained

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

BY_REASON = {Reason(decline.decline_code): decline for decline in BY_RESPONSE_CODE.values()}

DECLINES = (
    GENERIC_DECLINE, AUTHENTICATION_FAILED, AUTHENTICATION_ABANDONED, FRAUD_BLOCKED,
    *BY_RESPONSE_CODE.values(),
)  # fmt: skip
# All codes that a payment can show, for the API's schema and reference.
CODES = sorted({decline.code for decline in DECLINES})
DECLINE_CODES = sorted({decline.decline_code for decline in DECLINES if decline.decline_code})
ADVICE_CODES = (TRY_AGAIN_LATER, DO_NOT_TRY_AGAIN, CONFIRM_CARD_DATA)

# --- The reference: `cause` is what the bank means, `remedy` whether to try again -----------------

EXPLAINED_CODES = {
    "authentication_abandoned": Explained(
        cause=(
            "The customer went to the bank's page and did not come back to your shop within an "
            "hour. Nothing was charged, also if they had approved."
        ),
        remedy="Yes: confirm again with a card. The same card may work.",
    ),
    "authentication_failed": Explained(
        cause=(
            "The customer refused or failed 3-D Secure, or the bank could not begin it. Nothing was"
            " authorised."
        ),
        remedy=(
            "Yes, with the same card or another one. The service never goes on without 3-D Secure "
            "by itself."
        ),
    ),
    "authentication_required": Explained(
        cause=(
            "The bank asks for 3-D Secure, and the payment had no `return_url` to bring the "
            "customer back to."
        ),
        remedy="Yes: confirm again with a `return_url`.",
    ),
    "card_declined": Explained(
        cause="The bank refused the card. `decline_code` has its reason, if it gave one.",
        remedy="It depends on the `decline_code`; `advice_code` sums it up.",
    ),
    "expired_card": Explained(
        cause="The bank says that the card has expired.",
        remedy="Only with another card, or with the date corrected.",
    ),
    "fraud_blocked": Explained(
        cause=(
            "A rule about risk, yours or the installation's, stopped the payment, or the bank gave "
            "it the highest risk. The answer to the customer must not say so."
        ),
        remedy="Not with this card. In the panel you see which rule it was.",
    ),
    "incorrect_cvc": Explained(
        cause="The bank says that the security code is wrong.",
        remedy=(
            "Yes, with the code corrected. Do not repeat it unchanged: banks block cards after some"
            " wrong codes."
        ),
    ),
    "incorrect_number": Explained(
        cause="The bank says that it has no card of this number.",
        remedy="Yes, with the number corrected.",
    ),
    "processing_error": Explained(
        cause=(
            "The bank or the way to it failed, or the bank released the money after all. It says "
            "nothing about the card."
        ),
        remedy="Yes, after some minutes: nothing was charged.",
    ),
}
EXPLAINED_DECLINE_CODES = {
    "authentication_required": Explained(
        cause="Codes 1A and 65. The bank takes the card with 3-D Secure only.",
        remedy=(
            "Yes: confirm again with a `return_url`. With one, the service begins 3-D Secure by "
            "itself."
        ),
    ),
    "card_not_supported": Explained(
        cause=(
            "Code 57. The card is not made for this kind of payment, for example not for the "
            "internet or not for this currency."
        ),
        remedy="Not with this card.",
    ),
    "do_not_honor": Explained(
        cause=(
            "Code 05. The bank refuses and does not say why. Often the customer can ask it to let "
            "the payment through."
        ),
        remedy="Yes, once, after the customer has talked to the bank; otherwise with another card.",
    ),
    "expired_card": Explained(
        cause="Code 54. The card has expired, or the date was mistyped.",
        remedy="Only with another card, or with the date corrected.",
    ),
    "fraudulent": Explained(
        cause="Code 34, or a rule about risk. The bank or the service takes the payment for fraud.",
        remedy="No. Do not tell the customer the reason, for it may not be their card.",
    ),
    "generic_decline": Explained(
        cause=(
            "The bank refuses with a code that has no meaning of its own here. "
            "`network_decline_code` shows it as the bank wrote it."
        ),
        remedy="Yes, once; otherwise with another card.",
    ),
    "incorrect_cvc": Explained(
        cause="Codes 82 and 84. The security code is wrong.",
        remedy="Yes, with the code corrected.",
    ),
    "incorrect_number": Explained(
        cause="Code 14. The bank has no card of this number.",
        remedy="Yes, with the number corrected.",
    ),
    "insufficient_funds": Explained(
        cause="Code 51. The account or the limit behind the card is not enough for the amount.",
        remedy="Yes, later, with a smaller amount or with another card.",
    ),
    "lost_card": Explained(
        cause="Code 41. The card was reported lost.",
        remedy="No. Do not tell the customer the reason, for it may not be their card.",
    ),
    "processing_error": Explained(
        cause="Codes 91 and 96. The card's bank, or the network to it, is out of order.",
        remedy="Yes, after some minutes.",
    ),
    "restricted_card": Explained(
        cause=(
            "Code 93. The card may not be used here, for example because of its country or a rule "
            "of law."
        ),
        remedy="Not with this card.",
    ),
    "service_not_allowed": Explained(
        cause="Code 58. The card may not be used at this kind of shop or terminal.",
        remedy=(
            "Not with this card. If every card says so, tell the operator: your shop's terms at the"
            " bank may be wrong."
        ),
    ),
    "stolen_card": Explained(
        cause="Code 43. The card was reported stolen.",
        remedy="No. Do not tell the customer the reason, for it may not be their card.",
    ),
    "transaction_not_allowed": Explained(
        cause="Code 12. The bank does not allow this transaction with this card.",
        remedy="Not with this card.",
    ),
}
EXPLAINED_ADVICE_CODES = {
    "try_again_later": Explained(
        cause="The reason may pass: funds come in, a bank works again.",
        remedy=(
            "Yes, with the same card, after minutes or days. A customer at the checkout wants "
            "another card meanwhile."
        ),
    ),
    "do_not_try_again": Explained(
        cause="The reason stays. Card networks charge fees for repeating such payments.",
        remedy="No, not with this card. Ask for another one.",
    ),
    "confirm_card_data": Explained(
        cause="Something that the customer typed is wrong.",
        remedy="Yes, after the customer has corrected it.",
    ),
}


def explain(outcome: Outcome) -> Decline:
    """Return the reason of an outcome that charged nothing: declined, never sent, or released."""
    is_over = outcome.answer in (*NEVER_AT_THE_BANK, Answer.VOIDED, Answer.LAPSED)
    if is_over and not outcome.blames_the_payment:
        return PROCESSING_ERROR
    if outcome.risk_level == "highest":
        return FRAUD_BLOCKED
    return of_refusal(outcome) or GENERIC_DECLINE


def of_refusal(outcome: Outcome) -> Decline | None:
    """Return what a refusal's reason or response code means; None if it gives none that is known.

    A reason comes first: where the adapter gives one, it knows better than the code.
    """
    if outcome.reason:
        return BY_REASON[outcome.reason]
    return BY_RESPONSE_CODE.get(outcome.response_code or "")
