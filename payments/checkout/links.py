"""The address of a session's page; it ends in the one secret that opens it."""

import hmac

from django.conf import settings

from core.keyring import ring

PATH = "/pay"


def address(session_id: str) -> str:
    """Return the address of a session's page, which opens without any further proof.

    `core.secrets_in_text` recognises such addresses, to keep them out of the logs. The id alone
    opens nothing: shops, mails and success URLs carry it.
    """
    return f"{settings.BASE_URL}{PATH}/{session_id}.{_mac(session_id)}"


def session_id_of(token: str) -> str | None:
    """Return the id in the last part of an address; None if its secret is wrong."""
    session_id, _, mac = token.partition(".")
    is_right = hmac.compare_digest(mac.encode(), _mac(session_id).encode())
    return session_id if is_right else None


def _mac(session_id: str) -> str:
    return ring().mac("link", f"pay|{session_id}".encode()).hex()
