"""Strict HTTP: gunicorn trusts no peer about a request, and refuses one that has two meanings.

gunicorn can take from a header, or from a line before the request, where the application lies,
how it was asked, and by whom; from the loopback and from a unix socket it does so by default.
Here `BEHIND_PROXY` decides that, and nothing else does.
"""

from typing import Any

from gunicorn.config import Config
from gunicorn.http.errors import InvalidHeader
from gunicorn.http.message import Request

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
        raise InvalidHeader("HOST", req=request)
