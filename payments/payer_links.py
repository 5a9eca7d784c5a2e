"""The address of a payer's page: its end is a secret, and the only one (architecture 7)."""

import hmac

from django.conf import settings

from core.keyring import ring
from payments.models import Attempt

PATH = "/3ds"
# Where the payer's browser brings the bank's answer.
RETURN_PATH = f"{PATH}/return"


def address(attempt: Attempt) -> str:
    """Return the address of the attempt's page; who has it needs nothing else.

    `core.secrets_in_text` knows its shape, to keep it out of the logs.
    """
    return f"{settings.BASE_URL}{PATH}/{attempt.id}.{_mac(attempt.id)}"


def attempt_at(token: str) -> Attempt | None:
    """Return the attempt whose address ends so; None for any other text."""
    attempt_id, _, mac = token.partition(".")
    if not hmac.compare_digest(mac.encode(), _mac(attempt_id).encode()):
        return None
    rows = Attempt.objects.select_related("intent__merchant")
    return rows.filter(id=attempt_id).first()


def _mac(attempt_id: str) -> str:
    return ring().mac("link", f"3ds|{attempt_id}".encode()).hex()
