"""The address of a session's page; it ends in the one secret that opens it."""

import hmac
import re

from django.conf import settings

from core.keyring import ring

PATH = "/pay"
PRESSED = re.compile(rf"{PATH}/[^/]+(?:/confirm)?")


def address(session_id: str) -> str:
    """Return the address of a session's page, which opens without any further proof.

    `core.secrets_in_text` recognises such addresses, to keep them out of the logs. The id alone
    opens nothing: shops, mails and success URLs carry it.
    """
    return f"{settings.BASE_URL}{path(session_id)}"


def path(session_id: str) -> str:
    """Return the path of a session's page."""
    return f"{PATH}/{session_id}.{_mac(session_id)}"


def way_back(session_id: str, *, locale: str = "") -> str:
    """Return the address where a payer comes back to from the bank; no merchant registers it.

    :param locale: the language that the payer has chosen, if they have.
    """
    chosen = f"?locale={locale}" if locale else ""
    return f"{address(session_id)}/back{chosen}"


def is_press(method: str | None, path: str) -> bool:
    """Return whether a request is a payer's press on a page's button."""
    return method == "POST" and PRESSED.fullmatch(path) is not None


def session_id_of(token: str) -> str | None:
    """Return the id in the last part of an address; None if its secret is wrong."""
    session_id, _, mac = token.partition(".")
    rights = ring().macs("link", _named(session_id))
    is_right = any(hmac.compare_digest(mac.encode(), right.hex().encode()) for right in rights)
    return session_id if is_right else None


def _mac(session_id: str) -> str:
    return ring().mac("link", _named(session_id)).hex()


def _named(session_id: str) -> bytes:
    return f"pay|{session_id}".encode()
