"""The payer of a payment as lists know one: by the card tried last, and the e-mail."""

from merchants.models import Merchant
from payments.intents.models import Attempt, PaymentIntent
from payments.risk import fingerprints
from payments.risk.lists import EntryUnusable, Kind
from vault import cards


def known(payment: PaymentIntent, attempt: Attempt | None) -> dict[str, tuple[str, str]]:
    """Return by kind what an entry about the payer is made of: the value, and what people see.

    :param attempt: the payment's last one.
    """
    found = {}
    if attempt is not None and attempt.card_fingerprint:
        found[Kind.CARD.value] = (attempt.card_fingerprint, attempt.card["masked"])
    if email := (payment.billing_details or {}).get("email"):
        found[Kind.EMAIL.value] = (email, email)
    return found


def listed(payment: PaymentIntent, attempt: Attempt | None) -> list[tuple[str, str]]:
    """Return kinds and values by which the lists have the payer."""
    found = []
    for kind, (value, _shown) in known(payment, attempt).items():
        if kind == Kind.EMAIL:
            values = fingerprints.all_of_email(payment.merchant_id, value)
        else:
            values = cards.same_cards([(payment.merchant_id, value)])[value]
        found += [(kind, one) for one in values]
    return found


def value_of(payment: PaymentIntent, kind: str) -> tuple[str, str]:
    """Return value and shown text of an entry that blocks the payment's payer.

    :param kind: `card` or `email`.
    :raises EntryUnusable: the payment has none.
    """
    last = payment.attempts.order_by("-created_at", "-id").first()
    try:
        return known(payment, last)[kind]
    except KeyError:
        raise EntryUnusable from None


def card_of(payment_id: str, merchant: Merchant | None = None) -> tuple[Merchant, str, str]:
    """Return the merchant, the card's fingerprint and its masked number, as an entry has them.

    An operator names a card by a payment, for no number is typed at a desk.

    :param merchant: the payment's, if one was named; None if it does not matter.
    :raises EntryUnusable: no card was tried for such a payment, or it is another merchant's.
    """
    rows = Attempt.objects.filter(intent_id=payment_id).select_related("merchant")
    attempt = rows.order_by("-created_at", "-id").first()
    if attempt is None or attempt.card_fingerprint is None:
        raise EntryUnusable("No card was tried for such a payment: give a pi_… id.")
    if merchant and merchant != attempt.merchant:
        raise EntryUnusable("The payment is another merchant's.")
    return attempt.merchant, attempt.card_fingerprint, attempt.card["masked"]
