"""One request to a bank over HTTP: sent once, bounded in time and size, and honest about doubt.

`requests` bounds each read and not the whole answer, and it cannot separate "never
sent" from "sent, no answer". Both matter here: the first ties up a worker, the
second charges a card twice or never.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import requests
import structlog
from django.conf import settings
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

from acquirers import slots

ANSWER_MAX_BYTES = 64 * 1024
CONNECT_SECONDS = 3.0
CONNECTIONS_KEPT_MIN = 32

log = structlog.get_logger(__name__)


class NotSent(Exception):
    """The bank cannot have received the request."""


class NoAnswer(Exception):
    """The bank may have received the request, and gave no answer that can be read."""


@dataclass(frozen=True, slots=True)
class Received:
    """The whole body of a bank's answer, and its content type as the bank wrote it."""

    content_type: str
    content: bytes = field(repr=False)


def post(  # noqa: PLR0913  # What is sent, where, and how long it may take.
    session: requests.Session,
    url: str,
    body: bytes,
    content_type: str,
    *,
    seconds: float,
    headers: Mapping[str, str] | None = None,
) -> Received:
    """Send once and return the answer, all within `seconds` of real time.

    Nothing of what was sent is logged or left in an exception: it holds a card.

    :param headers: of this request alone, such as a signature of its body.

    :raises NotSent: nothing left this machine; safe to call failed.
    :raises NoAnswer: anything else but a whole 200 of 64 KiB at most.
    """
    with _Body(body, {"Content-Type": content_type, **(headers or {})}) as sent:
        try:
            return _exchange(session, "POST", url, sent, seconds)
        except (requests.RequestException, HTTPError, ValueError) as error:
            # The class alone: the rest may quote the request.
            log.warning("bank_call_failed", error=type(error).__name__, sent=sent.was_read)
            # `from None`: the cause refers to the request, and with it to the card.
            raise (NoAnswer if sent.was_read else NotSent) from None


def get(session: requests.Session, url: str, *, seconds: float) -> Received:
    """Send one request that changes nothing at the bank, and return the answer.

    The answer has to come within `seconds` of real time.

    :raises NoAnswer: anything else but a whole 200 of 64 KiB at most.
    """
    try:
        return _exchange(session, "GET", url, None, seconds)
    except (requests.RequestException, HTTPError, ValueError) as error:
        log.warning("bank_inquiry_failed", error=type(error).__name__)
        raise NoAnswer from None


def new_session() -> requests.Session:
    """Return a session that keeps connections and never tries again by itself.

    It ignores proxies and .netrc of the environment, and connects to the bank's own address or, if
    the installation has one (`ACQUIRER_PROXY_URL`), by its proxy. It trusts the authorities of the
    host's store, as webhooks do, and not the list that comes with `requests`.
    """
    session = requests.Session()
    session.trust_env = False
    store = ssl.get_default_verify_paths()
    session.verify = store.cafile or store.capath or True
    session.headers["Accept-Encoding"] = "identity"
    # A connection for each slot: beyond this number they are opened for one request, and closed
    # with a warning.
    kept = max(CONNECTIONS_KEPT_MIN, settings.ACQUIRER_SLOTS)
    for scheme in ("http://", "https://"):
        session.mount(scheme, _TimedAdapter(pool_maxsize=kept))
    return session


def _exchange(
    session: requests.Session, method: str, url: str, body: "_Body | None", seconds: float
) -> Received:
    # urllib3's own, which `requests` hands down: `total` spans connecting and reading.
    timeout: Any = Timeout(connect=min(CONNECT_SECONDS, seconds), total=seconds)
    request = _copied(_blank(session, method, url))
    if body:
        request.body = body  # type: ignore[assignment]  # The types leave streams out.
        request.headers.update(body.headers)
        request.headers["Content-Length"] = str(len(body.getbuffer()))
    # Not by the session, which would look for redirects, cookies and proxies each time.
    adapter = session.get_adapter(url)
    way: Any = {"verify": session.verify, "cert": session.cert, "proxies": _proxies()}
    with slots.asking(), adapter.send(request, stream=True, timeout=timeout, **way) as response:
        if response.status_code != 200:
            raise requests.HTTPError(response.status_code)
        return Received(response.headers.get("Content-Type", ""), _whole(response))


def _proxies() -> dict[str, str] | None:
    proxy = settings.ACQUIRER_PROXY_URL
    return {"http": proxy, "https": proxy} if proxy else None


@lru_cache(maxsize=64)
def _blank(session: requests.Session, method: str, url: str) -> requests.PreparedRequest:
    """Return a request without a body, put together once for each address that is often asked."""
    return session.prepare_request(requests.Request(method, url))


def _copied(blank: requests.PreparedRequest) -> requests.PreparedRequest:
    """Return one for one exchange; `copy()` would make a jar of cookies too."""
    request = requests.PreparedRequest()
    request.method, request.url, request.headers = blank.method, blank.url, blank.headers.copy()
    return request


def _whole(response: requests.Response) -> bytes:
    # Not `.content`: it has no cap, and it would inflate what was not asked to be deflated.
    content = response.raw.read(ANSWER_MAX_BYTES + 1, decode_content=False)
    if len(content) > ANSWER_MAX_BYTES:
        raise ValueError("too long")
    return content


class _Body(io.BytesIO):
    """A request's body that knows whether it was read, to be sent.

    The body is read only after the connection stands and the headers are written.
    So a body never read is proof that the bank has nothing to act on, whatever
    the error was; once read, there is doubt.
    """

    was_read = False

    def __init__(self, content: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(content)
        self.headers = headers

    def read(self, size: int | None = -1, /) -> bytes:
        self.was_read = True
        return super().read(size)


class _TimedReader(io.RawIOBase):
    """Read a socket against one deadline, where a time-out would begin again with each byte."""

    def __init__(self, sock: socket.socket, raw: io.RawIOBase) -> None:
        self._socket = sock
        self._raw = raw
        self._deadline = time.monotonic() + (sock.gettimeout() or 0.0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_TimedReader(sock, self.fp.detach()))


class _TimedConnection(HTTPConnection):
    response_class = _TimedResponse


class _TimedTlsConnection(HTTPSConnection):
    response_class = _TimedResponse


class _TimedPool(HTTPConnectionPool):
    ConnectionCls = _TimedConnection


class _TimedTlsPool(HTTPSConnectionPool):
    ConnectionCls = _TimedTlsConnection


POOLS = {"http": _TimedPool, "https": _TimedTlsPool}


class _TimedAdapter(HTTPAdapter):
    """Keep connections as `requests` does, with answers that have one deadline."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pools of connections by a proxy, whose answers have one deadline too."""
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = POOLS
        return manager

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        """Return the answer's status, headers and stream, all that is read of it."""
        response = requests.Response()
        response.status_code, response.headers, response.raw = resp.status, resp.headers, resp
        return response
