"""Making one attempt: the stored bytes, signed, to the endpoint, and what came of it.

Nothing of the answer is followed, unpacked or kept but its status and its first bytes.
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

from webhooks import signature, trips
from webhooks.addresses import is_public
from webhooks.connections import (
    BlockedAddress,
    Names,
    connector,
    is_our_lack,
    name_servers,
    trusted_tls,
)
from webhooks.excerpts import READ_BYTES, excerpt
from webhooks.exchange import Answer, Claimed
from webhooks.trips import TimelyRequest, Trip

# What an answer's body is waited for, once its status has decided.
BODY_SECONDS = 0.5
# Names get this part of the deadline at most, so that a failure can be told from a slow receiver.
NAMES_PART = 0.5

NO_TIMEOUTS = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
HEADERS = {
    "Content-Type": "application/json; charset=utf-8",
    "User-Agent": "PF-Webhooks/1.0",
    "Accept-Encoding": "identity",
}


class NotSent(Exception):
    """This machine lacks what a connection needs, open files above all."""


class Sender:
    """Sends deliveries; holds the connections that stay open between them.

    :param now: tells the time in the movable clock.
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
        # By two questions: is it a developer's own host, must the connection be a new one?
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

        The status decides (contract 9): what becomes of the body afterwards does not.

        What was not answered in time is broken off: a receiver that was slow to read it must not
        find it later, behind what was sent since.

        :raises NotSent: there was no connection, and not for the receiver's or the network's sake.
        :raises TooLate: the process stood still, so that it could not be written in time.
        """
        attempted_at, trip = self._now(), trips.begin(claimed.since)
        response, status, kept, error = None, None, None, None
        try:
            async with asyncio.timeout(settings.WEBHOOK_TIMEOUT_SECONDS):
                response = await self._request(claimed, trip)
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            if is_our_lack(problem):
                raise NotSent from problem
            error = _error(problem)
        finally:
            if response is None:
                trip.break_off()
        took = trip.began.age_seconds
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
            was_reached=_was_reached(error, trip),
        )

    async def _request(self, claimed: Claimed, trip: Trip) -> aiohttp.ClientResponse:
        url = _as_registered(claimed.url)
        is_exempt = f"{url.raw_host}:{url.port}".lower() in settings.WEBHOOK_DEV_HOSTS
        if url.scheme != "https" and not is_exempt:
            raise BlockedAddress("only a developer's own host is spoken to in the clear")
        try:
            return await self._ask(self._sessions[is_exempt, False], url, claimed)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as problem:
            if not _met_a_closed_connection(problem, trip):
                raise
        # The receiver closed it while it was idle: nobody's fault, and no attempt of its own.
        trip.is_connected = trip.is_on_an_old_connection = False
        return await self._ask(self._sessions[is_exempt, True], url, claimed)

    async def _ask(
        self, session: aiohttp.ClientSession, url: URL, claimed: Claimed
    ) -> aiohttp.ClientResponse:
        signed = signature.header(claimed.body, claimed.secrets, at=int(time.time()))
        headers = {
            **HEADERS,
            "PF-Event-Id": claimed.event_id,
            "PF-Delivery-Id": claimed.delivery_id,
            "PF-Signature": signed,
        }
        return await session.post(url, data=claimed.body, headers=headers, allow_redirects=False)


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
    # Other spellings of a path are other paths to some receivers. What could end the request's
    # first line is not registered; if it is there all the same, it is spelled otherwise.
    is_plain = text.isascii() and text.isprintable() and " " not in text
    return URL(text, encoded=is_plain)


def _anything(_address: object) -> bool:
    return True


def _met_a_closed_connection(problem: Exception, trip: Trip) -> bool:
    # `message` is what had come of an answer, or a text of aiohttp's when nothing had.
    is_nothing = isinstance(getattr(problem, "message", ""), str)
    return trip.is_on_an_old_connection and is_nothing


async def _first_of(response: aiohttp.ClientResponse, seconds_left: float) -> str | None:
    if response.content.at_eof():
        return None  # The usual answer: there is no body to wait for.
    body, is_whole = bytearray(), False
    # A body that drips or breaks off changes nothing any more.
    with suppress(aiohttp.ClientError, OSError):
        async with asyncio.timeout(min(BODY_SECONDS, max(0.0, seconds_left))):
            while len(body) <= READ_BYTES and not is_whole:
                chunk = await response.content.read(READ_BYTES + 1 - len(body))
                body += chunk
                is_whole = not chunk
    if not is_whole:
        response.close()  # The rest of it would be in the way of the next delivery.
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


def _was_reached(error: str | None, trip: Trip) -> bool:
    if error == "timeout":
        return trip.is_connected and not trip.is_on_an_old_connection
    # Who takes a connection and then hangs up was reached.
    return error != "dns_error" and (error != "connection_error" or trip.is_connected)
