"""Addresses of the payers' pages; each has the one secret that opens it (architecture 7)."""

import hmac
import re
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.conf import settings

from core.keyring import ring
from payments.intents.models import Attempt

PATH = "/3ds"
RETURN = re.compile(rf"{PATH}/[^/]+/return")


def address(attempt: Attempt) -> str:
    """Return the address of the attempt's page, which opens without any further proof.

    `core.secrets_in_text` recognises such addresses, to keep them out of the logs.
    """
    return f"{settings.BASE_URL}{page_path(attempt)}"


def page_path(attempt: Attempt) -> str:
    """Return the path of the attempt's page."""
    return f"{PATH}/{attempt.id}.{_mac('3ds', attempt.id)}"


def return_path(attempt: Attempt) -> str:
    """Return the path to which the payer's browser brings the bank's answer to this attempt.

    Its secret is another than the page's, so that a copy of the payer's link ends no attempt.
    """
    return f"{PATH}/{attempt.id}.{_mac('3ds-return', attempt.id)}/return"


def return_address(attempt: Attempt) -> str:
    """Return the whole address of `return_path`, for the bank."""
    return f"{settings.BASE_URL}{return_path(attempt)}"


def is_return(path: str) -> bool:
    """Return whether a path has the form of a `return_path`."""
    return RETURN.fullmatch(path) is not None


def way_back(attempt: Attempt) -> str:
    """Return the shop's address, where the payer of an attempt with 3-D Secure goes in the end."""
    assert attempt.return_url is not None  # `confirmation` opens no such attempt without one.
    return attempt.return_url


def with_payment(address: str, intent_id: str) -> str:
    """Return a shop's address with a payment's id as its last query parameter.

    The shop's own query and fragment stay; only a `payment_intent` that it has already is removed.
    """
    parts = urlsplit(address)
    kept = [
        part
        for part in parts.query.split("&")
        if part and [name for name, _ in parse_qsl(part, True)] != ["payment_intent"]
    ]
    query = "&".join([*kept, urlencode({"payment_intent": intent_id})])
    return urlunsplit(parts._replace(query=query))


def attempt_at(token: str) -> Attempt | None:
    """Return the attempt whose page's address ends in the token; None if no address does."""
    return _attempt(token, "3ds")


def attempt_returned_to(token: str) -> Attempt | None:
    """Return the attempt that the token of a `return_path` names; None if it names none."""
    return _attempt(token, "3ds-return")


def _attempt(token: str, purpose: str) -> Attempt | None:
    attempt_id, _, mac = token.partition(".")
    rights = ring().macs("link", _named(purpose, attempt_id))
    if not any(hmac.compare_digest(mac.encode(), right.hex().encode()) for right in rights):
        return None
    rows = Attempt.objects.select_related("intent__merchant", "terminal")
    return rows.filter(id=attempt_id).first()


def _mac(purpose: str, attempt_id: str) -> str:
    return ring().mac("link", _named(purpose, attempt_id)).hex()


def _named(purpose: str, attempt_id: str) -> bytes:
    return f"{purpose}|{attempt_id}".encode()
