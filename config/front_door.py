"""Requests that are refused before anything is read of them but their head."""

import re

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.request import validate_host
from django.urls import reverse

from api.idempotency import IdempotencyKeyInvalid
from config.error_pages import API_PATH
from core import arrival, installation, limits
from core.errors import BodyTooLarge, DomainError, Explained, HeaderRepeated, UrlNotFound
from core.http import (
    HEALTH_PATHS,
    body_bytes,
    came_in_the_clear,
    client_address,
    has_slash_in_a_part,
    is_at_the_panels_host,
    is_panel_apart,
    name_of,
    refuse_other_charsets,
)
from core.rest.query import refuse_unsafe_url
from panel.operators import bins
from payments.checkout.links import PATH as CHECKOUT_PATH
from payments.payer.payer_links import PATH as PAYERS_PATH

# Not at the panel's host, where it has one of its own.
API_HOSTS_PATHS = re.compile(rf"^(/v1|{PAYERS_PATH}|{CHECKOUT_PATH})(/|$)")

# The hand-off to a bank, which begins 3-D Secure, and the way back, which charges the card.
AT_A_BANK = re.compile(rf"^{PAYERS_PATH}(/|$)")
SIGN_IN = "/account/"


class HttpsRequired(DomainError):
    explained = Explained(
        cause="The request came over plain HTTP, and so others may have read its key.",
        remedy=(
            "Revoke the key in the panel, make another one, and send requests to `https://` alone."
        ),
    )
    code = "https_required"
    http_status = 403
    message = "This request was sent in the clear: roll this key, and send to https:// alone."


def require(request: HttpRequest) -> None:
    """Let a request in whose host, headers and address have one reading.

    :raises DisallowedHost: the Host, or the host in the request line, is not ours.
    :raises HeaderRepeated: a header of one value came more than once.
    :raises IdempotencyKeyInvalid: that header was `Idempotency-Key`.
    :raises RateLimited: it was `Authorization`, and too many keys of this address were wrong.
    :raises HttpsRequired: a call of the API without TLS, where the API's address is https.
    :raises BodyTooLarge: more was sent than the page takes.
    :raises DomainError: there is nothing at the address, or a card number in it.
    """
    _require_our_host(request)
    _refuse_repeated_headers(request)
    if API_PATH.match(request.path_info) and came_in_the_clear(request.META):
        # Not redirected: an SDK would send the key again, and the next call in the clear too.
        raise HttpsRequired
    if API_HOSTS_PATHS.match(request.path_info) and _is_apart_at_the_panels_host(request):
        raise UrlNotFound
    _refuse_odd_address(request)
    if not API_PATH.match(request.path_info):  # It measures its own, of a known caller.
        _refuse_large_body(request)


def refuse_on_held_copy(request: HttpRequest) -> None:
    """Let reads in, and people who sign in, while the database is a copy that is not opened.

    A payer's way to the bank and back changes something by whatever method. The database itself is
    asked, for a standby may just have been promoted: the API's statement that finds the caller
    does, pages do it here.

    :raises HeldCopy: it is one, and the request could do more than read.
    :raises OperationalError: the database is away. It is not let in: the one that answers a moment
        later may be a copy.
    """
    path = request.path_info
    is_read = request.method in ("GET", "HEAD") and not AT_A_BANK.match(path)
    if is_read or path.startswith(SIGN_IN):
        return
    if installation.known_to_be_held() or (not API_PATH.match(path) and installation.look()):
        raise installation.HeldCopy


def _is_apart_at_the_panels_host(request: HttpRequest) -> bool:
    return is_panel_apart() and is_at_the_panels_host(request)


def _refuse_repeated_headers(request: HttpRequest) -> None:
    for name in arrival.repeated_headers():
        if name == "Idempotency-Key":
            raise IdempotencyKeyInvalid("Send one Idempotency-Key: two of them are none.")
        if name == "Authorization":
            limits.count_failed_authentication(client_address(request))
        raise HeaderRepeated(param=name)
    if settings.BEHIND_PROXY and "," in request.META.get("HTTP_X_FORWARDED_PROTO", ""):
        # Django believes the first part, which a client may have sent and a proxy added to.
        raise HeaderRepeated(param="X-Forwarded-Proto")


def _require_our_host(request: HttpRequest) -> None:
    if request.path_info not in HEALTH_PATHS:
        request.get_host()
    target = request.META.get("RAW_URI", "/")  # As gunicorn read it.
    if target[:1] != "/" and "://" in target:
        # A host there counts, and not the header's (RFC 9112 3.2.2): both have to name the same.
        scheme, _, rest = target.partition("://")
        host = name_of(re.split(r"[/?#]", rest, maxsplit=1)[0])
        if scheme.lower() not in ("http", "https") or not validate_host(
            host, settings.ALLOWED_HOSTS
        ):
            raise DisallowedHost
        if request.path_info not in HEALTH_PATHS and host != name_of(request.get_host()):
            raise DisallowedHost


def _refuse_large_body(request: HttpRequest) -> None:
    # Before a stranger's form is parsed, which writes its files to the disk.
    size, most = body_bytes(request), settings.BODY_MAX_BYTES
    if size <= most:
        return
    # The one page that takes a file. Of a chunked body no more than the limit was read.
    is_upload = request.path_info == reverse("admin:desk_bins_import")
    if is_upload and "HTTP_TRANSFER_ENCODING" not in request.META:
        most += bins.FILE_BYTES_MAX
    if size > most:
        raise BodyTooLarge(f"The body may have up to {most} bytes.")


def _refuse_odd_address(request: HttpRequest) -> None:
    query = request.META.get("QUERY_STRING", "")
    is_api = API_PATH.match(request.path_info)
    if is_api:
        refuse_unsafe_url(request.path_info, query)
    if has_slash_in_a_part(request):
        # No id has one. Decoded it would separate, and an id that a shop took from a browser
        # would be an address of the browser's choice.
        raise UrlNotFound
    if is_api:
        return
    if "\x00" in request.path_info or "%00" in query:
        # No page has one, and a database that is asked for one fails.
        raise UrlNotFound
    refuse_other_charsets(request)
