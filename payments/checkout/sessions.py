"""Sessions as their merchant reads and changes them."""

from typing import Any

from django.db import transaction

from api import idempotency
from core.metadata import merge
from merchants.models import Merchant
from payments.checkout.models import CheckoutSession


def of(merchant: Merchant) -> Any:
    """Return a merchant's sessions, each with its payment, which it is shown with."""
    return CheckoutSession.objects.for_merchant(merchant).select_related("intent")


@transaction.atomic(durable=True)
def update(merchant: Merchant, session_id: str, changes: dict[str, Any]) -> CheckoutSession:
    """Change a session's metadata, also once it has ended. It emits no event.

    :param changes: a body that `UpdateSessionForm` has validated.
    :raises ResourceMissing: the merchant has no such session.
    """
    idempotency.take(session_id)
    session: CheckoutSession = of(merchant).lock(session_id)
    if "metadata" in changes:
        session.metadata = merge(session.metadata, changes["metadata"])
        session.save(update_fields=["metadata"])
    return session
