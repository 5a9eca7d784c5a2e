"""Addresses of the payers' pages; each ends in the one secret that opens it (architecture 7)."""

import hmac

from django.conf import settings

from core.keyring import ring
from payments.intents.models import Attempt

PATH = "/3ds"
# The payer's browser brings the bank's answer here.
RETURN_PATH = f"{PATH}/return"


def address(attempt: Attempt) -> str:
    """Return the address of the attempt's page, which opens without any further proof.

    `core.secrets_in_text` recognises such addresses, to keep them out of the logs.
    """
    return f"{settings.BASE_URL}{PATH}/{attempt.id}.{_mac(attempt.id)}"


def way_back(attempt: Attempt) -> str:
    """Return the shop's address, where the payer of an attempt with 3-D Secure goes in the end."""
    assert attempt.return_url is not None  # `confirmation` opens no such attempt without one.
    return attempt.return_url


def attempt_at(token: str) -> Attempt | None:
    """Return the attempt whose page's address ends in the token; None if no address does."""
    attempt_id, _, mac = token.partition(".")
    if not hmac.compare_digest(mac.encode(), _mac(attempt_id).encode()):
        return None
    rows = Attempt.objects.select_related("intent__merchant")
    return rows.filter(id=attempt_id).first()


def _mac(attempt_id: str) -> str:
    return ring().mac("link", f"3ds|{attempt_id}".encode()).hex()
