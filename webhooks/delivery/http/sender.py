"""One attempt to deliver: the event's stored bytes are signed and posted to the endpoint.

Redirects are not followed and bodies not decompressed. Of the answer, its status and an excerpt
are kept.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from typing import Self

import aiohttp
from django.conf import settings
from yarl import URL

from webhooks.delivery.http import headers, signature
from webhooks.delivery.http.addresses import is_public
from webhooks.delivery.http.connections import (
    BlockedAddress,
    Names,
    connector,
    is_our_lack,
    name_servers,
    trusted_tls,
)
from webhooks.delivery.http.excerpts import READ_BYTES, excerpt
from webhooks.delivery.http.progress import Progress, TimelyRequest, begin_request
from webhooks.delivery.messages import Answer, Claimed

# The longest wait for an answer's body, once its status has decided the attempt.
BODY_SECONDS = 0.5
# A look-up gets at most this part of the time-out, so that `dns_error` can be told from `timeout`.
NAMES_PART = 0.5

NO_TIMEOUTS = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class NotSent(Exception):
    """This machine lacks what a connection needs, open files above all."""


class Sender:
    """Sends deliveries; holds the connections that stay open between them.

    :param now: returns the time in the movable clock.
    :param dns: name servers, `address:port`; the system's by default.
    :param tls: contexts in the order in which they are tried; `trusted_tls()` by default.
    """

    def __init__(
        self,
        *,
        now: Callable[[], datetime],
        dns: Sequence[str] = (),
        tls: Sequence[ssl.SSLContext] = (),
    ) -> None:
        self._now, self._dns = now, dns
        self._tls = tls or trusted_tls()
        self._open = AsyncExitStack()
        # The key: is it a developer's own host (exempt), must the connection be a new one?
        self._sessions: dict[tuple[bool, bool], aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Self:
        servers = name_servers(self._dns)
        self._open.push_async_callback(servers.close)
        seconds = settings.WEBHOOK_TIMEOUT_SECONDS * NAMES_PART
        for is_exempt in (False, True):
            rule = _anything if is_exempt else is_public
            names = Names(servers, rule=rule, seconds=seconds)
            for is_new in (False, True):
                idle_max = 0 if is_new else settings.WEBHOOK_SLOTS
                pool = connector(names, rule=rule, tls=self._tls, idle_max=idle_max)
                session = await self._open.enter_async_context(_session(pool))
                self._sessions[is_exempt, is_new] = session
        return self

    async def __aexit__(self, *_problem: object) -> None:
        await self._open.aclose()

    async def post(self, claimed: Claimed) -> Answer:
        """Make the attempt; it is over within `WEBHOOK_TIMEOUT_SECONDS` of real time.

        The status decides (contract 9); a body that breaks off after it changes nothing.

        A request without an answer in time is aborted. Otherwise a receiver that is slow to read
        could find it later, behind newer deliveries.

        :raises NotSent: no connection opened, because this machine lacks files or memory.
        :raises TooLate: the process was suspended, and the request's time was over after that.
        """
        attempted_at, progress = self._now(), begin_request(claimed.since)
        response, status, kept, error = None, None, None, None
        try:
            async with asyncio.timeout(settings.WEBHOOK_TIMEOUT_SECONDS):
                response = await self._request(claimed, progress)
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            if is_our_lack(problem):
                raise NotSent from problem
            error, kept = _error(problem), _why_unread(problem)
        finally:
            if response is None:
                progress.break_off()
        took = progress.began.age_seconds
        if response is not None:
            status = response.status
            error = None if 200 <= status < 300 else "http_status"
            kept = await _first_of(response, settings.WEBHOOK_TIMEOUT_SECONDS - took)
        return Answer(
            claimed=claimed,
            status=status,
            excerpt=kept,
            error=error,
            attempted_at=attempted_at,
            duration_ms=round(took * 1000),
            was_reached=_was_reached(error, progress),
        )

    async def _request(self, claimed: Claimed, progress: Progress) -> aiohttp.ClientResponse:
        url = _as_registered(claimed.url)
        is_exempt = f"{url.raw_host}:{url.port}".lower() in settings.WEBHOOK_DEV_HOSTS
        if url.scheme != "https" and not is_exempt:
            raise BlockedAddress("only a developer's own host is spoken to in the clear")
        try:
            return await self._ask(self._sessions[is_exempt, False], url, claimed)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as problem:
            if not _met_a_closed_connection(problem, progress):
                raise
        # The receiver closed the connection while it was idle. That is no failure: the same
        # attempt goes on over a new connection.
        progress.is_connected = progress.is_on_an_old_connection = False
        return await self._ask(self._sessions[is_exempt, True], url, claimed)

    async def _ask(
        self, session: aiohttp.ClientSession, url: URL, claimed: Claimed
    ) -> aiohttp.ClientResponse:
        signed = signature.header(claimed.body, claimed.secrets, at=int(time.time()))
        sent = headers.of(claimed.event_id, claimed.delivery_id, signature=signed)
        return await session.post(url, data=claimed.body, headers=sent, allow_redirects=False)


def _session(pool: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=pool,
        timeout=NO_TIMEOUTS,  # One deadline is over everything, in real time.
        request_class=TimelyRequest,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        read_bufsize=READ_BYTES,
    )


def _as_registered(text: str) -> URL:
    # Some receivers take another spelling of a path for another path, so it is sent as it was
    # registered. Characters that could end the request's first line cannot be registered; should
    # an address contain one, it is percent-encoded.
    is_plain = text.isascii() and text.isprintable() and " " not in text
    return URL(text, encoded=is_plain)


def _anything(_address: object) -> bool:
    return True


def _met_a_closed_connection(problem: Exception, progress: Progress) -> bool:
    # `message` is the answer as far as it had come, or a text of aiohttp's if nothing had come.
    is_nothing = isinstance(getattr(problem, "message", ""), str)
    return progress.is_on_an_old_connection and is_nothing


async def _first_of(response: aiohttp.ClientResponse, seconds_left: float) -> str | None:
    if response.content.at_eof():
        return None  # The usual answer: there is no body to wait for.
    body, is_whole = bytearray(), False
    # The status has decided: a body that is slow or breaks off changes nothing.
    with suppress(aiohttp.ClientError, OSError):
        async with asyncio.timeout(min(BODY_SECONDS, max(0.0, seconds_left))):
            while len(body) <= READ_BYTES and not is_whole:
                chunk = await response.content.read(READ_BYTES + 1 - len(body))
                body += chunk
                is_whole = not chunk
    if not is_whole:
        response.close()  # The rest would come before the answer to the next delivery.
    return excerpt(bytes(body), is_whole=is_whole)


def _error(problem: Exception) -> str:
    """Name a failure without an answer (contract 2, Delivery attempt)."""
    cause = problem.__cause__
    if isinstance(problem, BlockedAddress) or isinstance(cause, BlockedAddress):
        return "blocked_address"
    if isinstance(problem, aiohttp.ClientConnectorDNSError):
        return "dns_error"
    if isinstance(problem, aiohttp.ClientSSLError) or isinstance(cause, ssl.SSLError):
        return "tls_error"
    if isinstance(problem, TimeoutError):
        return "timeout"
    if isinstance(problem, ValueError):
        return "blocked_address"  # No address at all, or one in a form of its own: 127.1.
    return "connection_error"


def _why_unread(problem: Exception) -> str | None:
    """Say why an answer that came could not be read; return None if none came."""
    reason = getattr(problem, "message", "")
    if isinstance(problem, aiohttp.ServerDisconnectedError):
        # `message` is the answer as far as it had come, or a text of aiohttp's.
        reason = "" if isinstance(reason, str) else "the connection ended within the head"
    if not reason:
        return None
    # aiohttp shows the place in a second line, by an arrow.
    words = " ".join(str(reason).removesuffix("^").split())
    return excerpt(f"The answer was not read: {words}".encode(), is_whole=False)


def _was_reached(error: str | None, progress: Progress) -> bool:
    if error == "timeout":
        return progress.is_connected and not progress.is_on_an_old_connection
    # A receiver that accepts a connection and then hangs up was reached.
    return error != "dns_error" and (error != "connection_error" or progress.is_connected)
