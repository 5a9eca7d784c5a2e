"""Cards that operators put on a list: named by a payment, for no number is typed at a desk."""

from merchants.models import Merchant
from payments.intents.models import Attempt
from payments.risk.lists import EntryUnusable


def of_payment(payment_id: str, merchant: Merchant | None = None) -> tuple[Merchant, str, str]:
    """Return the merchant, the card's fingerprint and its masked number, as an entry has them.

    :param merchant: the payment's, if somebody named one; None if it does not matter.
    :raises EntryUnusable: no card was tried for such a payment, or it is another merchant's.
    """
    rows = Attempt.objects.filter(intent_id=payment_id).select_related("merchant")
    attempt = rows.order_by("-created_at", "-id").first()
    if attempt is None or attempt.card_fingerprint is None:
        raise EntryUnusable("No card was tried for such a payment: give a pi_… id.")
    if merchant and merchant != attempt.merchant:
        raise EntryUnusable("The payment is another merchant's.")
    return attempt.merchant, attempt.card_fingerprint, attempt.card["masked"]
