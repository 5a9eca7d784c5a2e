"""Strict HTTP: gunicorn trusts no peer about a request, and refuses one that has two meanings.

gunicorn can take from a header, or from a line before the request, where the application lies,
how it was asked, and by whom; from the loopback and from a unix socket it does so by default.
Here `BEHIND_PROXY` decides that, and nothing else does.
"""

from typing import Any

from gunicorn.config import Config
from gunicorn.http.errors import InvalidHeader
from gunicorn.http.message import Request

from core.http import came_in_the_clear

# Headers of which one value is read, as they are usually written. WSGI joins their lines by a
# comma: two keys would be one key that nobody chose.
SINGLE_VALUED = {
    name.upper(): name
    for name in (
        "Authorization", "Content-Type", "Host", "Idempotency-Key", "Origin", "PF-Version",
        "Referer", "Sec-Fetch-Site", "X-CSRFToken", "X-Forwarded-Proto",
    )
}  # fmt: skip
COOKIE = "COOKIE"

# As gunicorn's configuration spells them (config/gunicorn.py takes them over).
TRUST_NO_PEER: dict[str, Any] = {
    "forwarded_allow_ips": "",
    # Both for peers on a unix socket, whom gunicorn believes whatever addresses it is given.
    "forwarder_headers": "",
    "secure_scheme_headers": {},
    "header_map": "drop",
    "proxy_protocol": "off",
    "proxy_allow_ips": "",
    "protocol": "http",
    "uwsgi_allow_ips": "",
    "http2_cleartext": "off",
}


def require_trust_in_no_peer(configured: Config) -> None:
    """Refuse a start whose command line, or GUNICORN_CMD_ARGS, overrides `TRUST_NO_PEER`.

    :raises RuntimeError: gunicorn's way to stop a start with a sentence.
    """
    ours = Config()
    for name, value in TRUST_NO_PEER.items():
        ours.set(name, value)
        if configured.settings[name].get() != ours.settings[name].get():
            raise RuntimeError(
                f"Start gunicorn without the option for {name}, and set BEHIND_PROXY: it alone"
                " decides which headers of a proxy are believed."
            )


def require_one_reading(request: Request) -> None:
    """Refuse a request that a proxy in front of us may read in another way than we do.

    A body has one coding, chunked (gunicorn undoes no other one, but takes them);
    since HTTP/1.1 a request names its host (RFC 9112 3.2, 6.1).

    :raises InvalidHeader: gunicorn then closes the connection.
    """
    codings = [value.lower() for name, value in request.headers if name == "TRANSFER-ENCODING"]
    if codings not in ([], ["chunked"]):
        raise InvalidHeader("TRANSFER-ENCODING", req=request)
    names_host = any(name == "HOST" for name, _value in request.headers)
    if request.version >= (1, 1) and not names_host:
        # Without the request, or it would look like gunicorn's refusal of a second Host.
        raise InvalidHeader("HOST")


def repeated_headers(request: Request) -> tuple[str, ...]:
    """Return the headers of one value that come more than once; their lines are still apart."""
    seen = [name for name, _value in request.headers if name in SINGLE_VALUED]
    if len(seen) == len(set(seen)):
        return ()
    return tuple(SINGLE_VALUED[name] for name in dict.fromkeys(seen) if seen.count(name) > 1)


def repeated_for_gunicorn(problem: Any) -> str | None:
    """Return the header that gunicorn itself refuses for its second line, if that is the problem.

    It takes one Host and one Content-Type, and says what is wrong by a name and the request.
    """
    if type(problem) is InvalidHeader and problem.req is not None:
        return SINGLE_VALUED.get(problem.hdr)
    return None


def join_cookies(request: Request) -> None:
    """Make one of several Cookie lines, by a semicolon (RFC 9113 8.2.3).

    HTTP/2 sends each cookie in a line of its own, and not every proxy joins them.
    """
    cookies = [value for name, value in request.headers if name == COOKIE]
    if len(cookies) > 1:
        others = [header for header in request.headers if header[0] != COOKIE]
        request.headers = [*others, (COOKIE, "; ".join(cookies))]


def hear_no_more_in_the_clear(request: Request) -> None:
    """Let a client in the clear send no more than its head, and end its connection.

    The application refuses it. Without an interim `100 Continue` a client that waits for one
    keeps its card number to itself.
    """
    proto = next((value for name, value in request.headers if name == "X-FORWARDED-PROTO"), "")
    said = {"wsgi.url_scheme": request.scheme, "HTTP_X_FORWARDED_PROTO": proto}
    if came_in_the_clear(said):
        request._expected_100_continue = False
        request.force_close()
