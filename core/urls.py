"""The one parser of addresses that clients send us (contract 3, 9)."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

MAX_LENGTH = 2000
DEFAULT_PORTS = {"https": 443, "http": 80}
# Browsers read a backslash as a slash and drop control characters, so an address with
# either means another host to them than to us.
FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\x9f\\\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
HOST = re.compile(r"^(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*$")


class BadUrl(ValueError):
    """The text is not an address that everybody reads alike."""


@dataclass(frozen=True, slots=True)
class Url:
    """An address taken apart: lowercase scheme and host, port made explicit."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port


def parse(text: str) -> Url:
    """Take an absolute http(s) address apart.

    Refused: user info, backslashes, white space and control characters, hosts that
    are not plain ASCII names (write international names in punycode), address
    literals in odd spellings, dot segments, however encoded.

    :raises BadUrl: any of these, or no such address at all.
    """
    if len(text) > MAX_LENGTH or FORBIDDEN.search(text):
        raise BadUrl
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise BadUrl from error
    host = (parts.hostname or "").lower()
    # Port 0 is no default: browsers go to port 0.
    if (
        port == 0
        or parts.scheme not in DEFAULT_PORTS
        or "@" in parts.netloc
        or not _is_plain_host(host)
    ):
        raise BadUrl
    if not text.lower().startswith(f"{parts.scheme}://") or _has_dot_segment(parts.path):
        raise BadUrl
    return Url(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], parts.path or "/")


def is_host_and_port(text: str) -> bool:
    """Return whether a text is `host:port` as `parse` takes them apart: in lower case, no more."""
    try:
        url = parse(f"http://{text}")
    except BadUrl:
        return False
    return text == f"{url.host}:{url.port}"


def is_public_name(host: str) -> bool:
    """Return whether the host is a name with a dot, and no address literal."""
    return "." in host and not _is_address(host)


def _is_plain_host(host: str) -> bool:
    if len(host) > 253 or not HOST.match(host):
        return False
    # A last label of digits makes browsers read the host as an IPv4 address.
    return _is_address(host) or not host.rsplit(".", 1)[-1].isdigit()


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return host.startswith("0x") or host.rsplit(".", 1)[-1].startswith("0x")
    return True


def _has_dot_segment(path: str) -> bool:
    # Decoded first: some servers take `..%2f`, or `..%5c`, for a step up.
    segments = unquote(path).replace("\\", "/").split("/")
    return any(segment in (".", "..") for segment in segments)
