"""A web request as the server hands it on: its whole path and body, and its client's address."""

import io
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port

from core.errors import ParameterInvalid

# Load balancers ask for them by address.
HEALTH_PATHS = ("/livez", "/readyz", "/healthz")
DRAIN_MAX_BYTES = 4 * 1024 * 1024
DRAIN_STEP_BYTES = 64 * 1024
HOST_BEFORE_PATH, END_OF_PATH = re.compile(r"^[^/?#]*://[^/?#]*"), re.compile(r"[?#]")
# Slashes within a part of a path (RFC 3986 2.2). Browsers take a backslash for a slash.
SLASH_IN_A_PART = re.compile(r"(%2f|%5c|\\)", re.IGNORECASE)

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


def with_whole_bodies(application: Application) -> Application:
    """Return the application with chunked bodies measured and unread ones thrown away.

    Django takes a body without a Content-Length for an empty one. And a client that
    still writes when we close never gets to read the answer (contract 4). A request in the clear
    is refused, and nothing of its body is read.
    """

    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if came_in_the_clear(environ):
            return application(environ, start_response)
        wire = environ["wsgi.input"]
        if "HTTP_TRANSFER_ENCODING" in environ:
            body = wire.read(settings.BODY_MAX_BYTES + 1)
            environ["wsgi.input"] = io.BytesIO(body)
            environ["CONTENT_LENGTH"] = str(len(body))
        answer: Any = application(environ, start_response)
        try:
            _throw_away(wire)
        except BaseException:
            answer.close()  # The server closes only what it was given.
            raise
        return answer

    return serve


def with_whole_paths(application: Application) -> Application:
    """Return the application with paths as they were sent: it lies at the root of its host.

    A server that takes the front off a path (gunicorn, for a header SCRIPT_NAME) would let
    callers past a proxy's rules for paths.
    """

    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ.get("SCRIPT_NAME"):
            environ["PATH_INFO"] = environ["SCRIPT_NAME"] + environ.get("PATH_INFO", "")
            environ["SCRIPT_NAME"] = ""
        return application(environ, start_response)

    return serve


def came_in_the_clear(environ: Mapping[str, Any]) -> bool:
    """Return whether a request came without TLS to an installation whose address is https.

    :param environ: the request as WSGI has it, or `request.META`.
    """
    if environ.get("wsgi.url_scheme") == "https":
        return False
    if environ.get("HTTP_X_FORWARDED_PROTO") == "https" and settings.BEHIND_PROXY:
        return False
    return settings.BASE_URL.startswith("https:")


def body_bytes(request: HttpRequest) -> int:
    """Return how long a request's body is, without reading it.

    A chunked one was measured by `with_whole_bodies`: one byte over the limit stands for all more.
    """
    length = str(request.META.get("CONTENT_LENGTH") or "")
    return int(length) if length.isdecimal() else 0


@lru_cache(maxsize=64)
def name_of(host: str) -> str:
    """Return the name in a `Host`: without the port, the last dot and the case of its letters."""
    name, _port = split_domain_port(host)
    return name


def is_panel_apart() -> bool:
    """Return whether the panel has a host of its own: in live, where it has another name."""
    return settings.LIVEMODE and name_of(settings.PANEL_AT) != name_of(settings.API_AT)


def is_at_the_panels_host(request: HttpRequest) -> bool:
    """Return whether a request names the panel's host, however it writes it.

    Of a request whose host is known to be ours: to ask Django again would take longer than this.
    """
    host = request.META.get("HTTP_HOST") or request.META.get("SERVER_NAME", "")
    return name_of(host) == name_of(settings.PANEL_AT)


def has_slash_in_a_part(request: HttpRequest) -> bool:
    """Return whether the path has a slash that is part of an id and separates nothing."""
    target = request.META.get("RAW_URI", "")
    if "%" not in target and "\\" not in target:
        return False  # Of nearly all; the rest takes ten times as long.
    return SLASH_IN_A_PART.search(_path_sent(request)) is not None


def path_for_reading(request: HttpRequest) -> str:
    """Return the path as logs show it: decoded, except for slashes that are part of an id."""
    if not has_slash_in_a_part(request):
        return request.path_info
    parts = SLASH_IN_A_PART.split(_path_sent(request))
    return "".join(
        part if SLASH_IN_A_PART.fullmatch(part) else unquote(part, errors="replace")
        for part in parts
    )


def _path_sent(request: HttpRequest) -> str:
    """Return the request line's path, still encoded, without a host that the line may name."""
    target: str = request.META.get("RAW_URI", "")  # As gunicorn read it.
    return HOST_BEFORE_PATH.sub("", END_OF_PATH.split(target, maxsplit=1)[0])


def client_address(request: HttpRequest) -> str:
    """Return the address that the request came from, an IPv4 address in its own form.

    Behind proxies it is the one of X-Forwarded-For that the first of our `PROXY_HOPS` proxies
    added; those before it are claims of the client.
    """
    peer = request.META.get("REMOTE_ADDR", "")
    if not settings.PROXY_HOPS:
        return _unmapped(peer)
    added = request.META.get("HTTP_X_FORWARDED_FOR", "").rsplit(",", settings.PROXY_HOPS)
    seen = added[-settings.PROXY_HOPS].strip() if len(added) >= settings.PROXY_HOPS else ""
    return _unmapped(seen if _is_address(seen) else peer)


def refuse_other_charsets(request: HttpRequest) -> None:
    """Refuse a form that is not written in UTF-8, which no browser sends.

    UTF-7 and its like bring halves of surrogate pairs, which neither a page nor the database can
    hold. Django itself refuses the other kind of forms.

    :raises ParameterInvalid: it names another charset.
    """
    charset = (request.content_params or {}).get("charset", "utf-8")
    if request.content_type == "multipart/form-data" and charset.lower() not in ("utf-8", "utf8"):
        raise ParameterInvalid("A form is written in UTF-8.")


def _unmapped(address: str) -> str:
    """Return the IPv4 address that an IPv6 socket shows as `::ffff:203.0.113.7`."""
    if ":" not in address:
        return address
    try:
        mapped = IPv6Address(address).ipv4_mapped
    except ValueError:
        return address
    return str(mapped) if mapped else address


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    # A zone ("%eth0") may hold any text, and no client of ours has one.
    return "%" not in text


def _throw_away(wire: Any) -> None:
    left = DRAIN_MAX_BYTES
    while left > 0 and (chunk := wire.read(min(DRAIN_STEP_BYTES, left))):
        left -= len(chunk)
