"""A request of `manage.py check` to our own address: its answer says how the service saw it.

Only a request with a fresh token learns this, which SECRET_KEY signs: to others it would show
addresses of our own network.
"""

from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from core.http import client_address

TOKEN, SEEN, PASSED_ON = "Pay-Probe", "Pay-Probe-Client", "Pay-Probe-Forwarded-For"
TOKEN_SECONDS = 60
# An address of no host (RFC 5737), which a client may claim to come from.
CLAIMED = "192.0.2.77"

_signer = TimestampSigner(salt="config.probe")


def headers() -> dict[str, str]:
    """Return the headers of a probe: its token, and claims that no proxy may leave as they are."""
    return {
        TOKEN: _signer.sign("proxy"), "X-Forwarded-For": CLAIMED, "X-Forwarded-Proto": "http"
    }  # fmt: skip


def answer(request: HttpRequest, response: HttpResponseBase) -> None:
    """Add to a probe's answer its client's address, and X-Forwarded-For as it came here."""
    token = request.META.get("HTTP_PAY_PROBE")
    if token is not None and _is_ours(token):
        response[SEEN] = client_address(request)
        response[PASSED_ON] = request.META.get("HTTP_X_FORWARDED_FOR", "")


def _is_ours(token: str) -> bool:
    try:
        _signer.unsign(token, max_age=TOKEN_SECONDS)
    except BadSignature:
        return False
    return True
