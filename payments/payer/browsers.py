"""Browsers of payers: each is known at one attempt's hand-off, by a cookie of that page alone.

A payer who typed a card on a payment page of ours is known by the press that brought it, so that no
link leads anybody else to the card. Otherwise the first browser that presses is the payer's
(docs/adr/0022, docs/adr/0061).
"""

import hashlib
import re
import secrets
from base64 import urlsafe_b64encode

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from core.keyring import ring
from payments.intents import deadlines
from payments.intents.models import Attempt
from payments.payer import payer_links

# For one attempt's page only: host-only, no script reads it, no other site can make it up.
COOKIE = "payer"
SECRET = re.compile(r"[\w-]{43}", re.ASCII)


def secret_in(request: HttpRequest) -> str | None:
    """Return the secret of the browser that asks, None if it has none."""
    cookie = request.COOKIES.get(COOKIE, "")
    return cookie if SECRET.fullmatch(cookie) else None


def new_secret() -> str:
    """Return a secret for a browser that nothing is known of."""
    return secrets.token_urlsafe(32)


def secret_of_press(nonce: str) -> str:
    """Return the secret of the browser that has sent a form: the same however often it is sent."""
    return _written(ring().mac("link", _named(nonce)))


def keep_of_press(response: HttpResponse, attempt: Attempt, nonce: str) -> None:
    """Let the browser that has sent a form be known at the attempt that came of it, and no other.

    Also if the key has changed since.
    """
    for mac in ring().macs("link", _named(nonce)):
        if (attempt.hand_off or {}).get("browser") == digest(_written(mac)):
            keep(response, attempt, _written(mac))


def digest(secret: str) -> str:
    """Return what is stored of a secret: a copy of the database opens no form."""
    return hashlib.sha256(secret.encode()).hexdigest()


def keep(response: HttpResponse, attempt: Attempt, secret: str) -> None:
    """Let the browser bring the secret to the attempt's page, for as long as its payer has."""
    response.set_cookie(
        COOKIE,
        secret,
        max_age=deadlines.PAYER_HAS,
        path=payer_links.page_path(attempt),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _named(nonce: str) -> bytes:
    return f"browser|{nonce}".encode()


def _written(mac: bytes) -> str:
    return urlsafe_b64encode(mac).rstrip(b"=").decode()
