"""Notes of a merchant's people on a payment: rows of the audit log (panel contract)."""

from django.db import transaction

from api import idempotency
from core import clock
from core.detection import contains_card_number
from core.errors import DomainError
from core.secrets_in_text import holds_secret_key
from merchants import audit_log
from merchants.models import Merchant
from payments.intents.models import PaymentIntent

LONGEST = 500  # Characters.


class NoteUnusable(DomainError):
    code = "parameter_invalid"
    message = "A note has 1 to 500 characters, without card numbers and secret keys."
    param = "note"


@transaction.atomic(durable=True)
def note(merchant: Merchant, intent_id: str, text: str) -> None:
    """Keep a person's note about a payment; it is shown in the timeline.

    :raises ResourceMissing: the merchant has no such payment.
    :raises NoteUnusable: it is empty or too long, or holds a card number or a secret key.
    """
    text = text.strip()
    is_unsafe = contains_card_number(text) or holds_secret_key(text)
    if not 1 <= len(text) <= LONGEST or is_unsafe:
        raise NoteUnusable
    idempotency.take(intent_id)
    payment = PaymentIntent.objects.for_merchant(merchant).find(intent_id)
    # The audit log's own time is real, and a timeline's moves with the sandbox's clock.
    after = {"note": text, "at": clock.unix(clock.now())}
    audit_log.record("payment.noted", merchant=merchant, subject=payment.id, after=after)
