"""Connections to receivers: opened only to addresses that are allowed, checked where they open."""

import asyncio
import errno
import resource
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, cast

import aiodns
import pycares
from aiohttp import ClientConnectorSSLError, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from webhooks.delivery.http.wires import Tap, Wire

Rule = Callable[[IPv4Address | IPv6Address], bool]

# The time-out of one try at a name server; `Names` has one over all tries together.
NAME_SERVER_SECONDS = 2.0
NAME_SERVER_TRIES = 2
NAMES_ARE_KEPT_SECONDS = 10
# Names are looked up as they are written: no search domain of this machine is added to them.
WHOLE_NAMES = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS
IDLE_CONNECTIONS_ARE_KEPT_SECONDS = 30.0


# Diffie-Hellman without curves is left out: a receiver may ask for 8,192 bits, and one such
# handshake holds up all deliveries for 0.1 to 0.2 s. The other ciphers are Python's own.
CIPHERS = "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
# TLS 1.3 demands the first curve of every server. Python can offer one curve, or all that OpenSSL
# has. So a receiver without the first curve is offered the next one, on another connection.
CURVES = ("prime256v1", "secp384r1", "X25519")
NOTHING_IN_COMMON = "SSLV3_ALERT_HANDSHAKE_FAILURE"

# This machine, or this process, has run out of open files or of memory.
OUR_LACKS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
# Each delivery under way may have two connections at once (to two addresses of a name), and leave
# one open. The rest of the process needs `FILES_BESIDE`.
FILES_PER_SLOT = 3
FILES_BESIDE = 256


class BlockedAddress(OSError):
    """The address, or one of the name's addresses, breaks the address rule."""


def is_our_lack(problem: BaseException | None) -> bool:
    """Return whether no connection opened because this machine has run out of files or memory."""
    return getattr(problem, "errno", None) in OUR_LACKS or (
        problem is not None and is_our_lack(problem.__cause__)
    )


def allow_files(slots: int) -> int:
    """Let the process open as many files as its slots need; return how many are missing."""
    needed = slots * FILES_PER_SLOT + FILES_BESIDE
    allowed, most = (_without_end(limit) for limit in resource.getrlimit(resource.RLIMIT_NOFILE))
    if allowed < needed:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(min(needed, most)), hard))
    return int(max(0, needed - max(allowed, most)))


def _without_end(limit: int) -> float:
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def trusted_tls() -> list[ssl.SSLContext]:
    """Return the contexts of TLS, one for each curve, in the order in which they are tried.

    They trust the system's store, verify names, and speak TLS 1.2 or later. A curve that this
    Python cannot offer alone is left out: Debian 12's own has no X25519.
    """
    return [context for context in map(_trusted, CURVES) if context]


def _trusted(curve: str) -> ssl.SSLContext | None:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION
    try:
        context.set_ecdh_curve(curve)
    except ssl.SSLError:
        return None
    return context


def name_servers(addresses: Sequence[str] = ()) -> aiodns.DNSResolver:
    """Return the process's resolver; the system's name servers unless others are given."""
    return aiodns.DNSResolver(
        nameservers=addresses or None,
        timeout=NAME_SERVER_SECONDS,
        tries=NAME_SERVER_TRIES,
        flags=WHOLE_NAMES,
    )


def connector(
    names: "Names", *, rule: Rule, tls: Sequence[ssl.SSLContext], idle_max: int
) -> TCPConnector:
    """Return a pool of connections to addresses that the rule allows.

    One look-up per name is under way at a time: aiohttp lets the others wait for it.

    :param idle_max: the number of connections that may stay open between deliveries; with 0 each
        request opens a new one.
    """
    return Pool(
        idle_max=idle_max,
        tls=tls,
        resolver=names,
        # The rule is applied here, where every connection passes: an address that is written in
        # numbers never meets the resolver.
        socket_factory=lambda place: _open_socket(place, rule),
        ttl_dns_cache=NAMES_ARE_KEPT_SECONDS,
        limit=0,  # The sender's slots are the limit.
        force_close=not idle_max,
        # With force_close no connection is kept, and aiohttp refuses a time for keeping one.
        **({"keepalive_timeout": IDLE_CONNECTIONS_ARE_KEPT_SECONDS} if idle_max else {}),
    )


def _open_socket(place: tuple[Any, ...], rule: Rule) -> socket.socket:
    family, kind, protocol, _name, address = place
    if not rule(ip_address(address[0])):
        raise BlockedAddress("the address is not public")
    return Tap(family, kind, protocol)


class Pool(TCPConnector):
    """A pool that drops connections with unexpected bytes, and limits the idle ones.

    A receiver may send bytes while its connection is idle. aiohttp looks for such bytes when a
    connection is given back, and not when it is used again: it would take them for the answer to
    the next delivery. It also keeps idle connections to any number of hosts.
    """

    def __init__(self, *, idle_max: int, tls: Sequence[ssl.SSLContext], **options: Any) -> None:
        super().__init__(ssl=tls[0], **options)
        self._idle_max, self._tls = idle_max, tls
        self._factory = cast(partial[ResponseHandler], partial(Wire, loop=self._loop))

    async def _wrap_create_connection(
        self, *where: Any, **options: Any
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        if options["ssl"] is None:
            return await super()._wrap_create_connection(*where, **options)
        *firsts, last = self._tls
        for tls in firsts:
            try:
                return await super()._wrap_create_connection(*where, **options | {"ssl": tls})
            except ClientConnectorSSLError as problem:
                if getattr(problem.os_error, "reason", None) != NOTHING_IN_COMMON:
                    raise
        return await super()._wrap_create_connection(*where, **options | {"ssl": last})

    async def _get(self, key: Any, traces: Any) -> Connection | None:
        for wire, _given_back_at in self._conns.get(key, ()):
            if wire.should_close:
                wire.close()
        return await super()._get(key, traces)

    def _release(self, *given_back: Any, **options: Any) -> None:
        super()._release(*given_back, **options)
        if sum(map(len, self._conns.values())) > self._idle_max:
            self._close_oldest()

    def _close_oldest(self) -> None:
        key = min(self._conns, key=lambda key: self._conns[key][0][1])
        wire, _given_back_at = self._conns[key].popleft()
        wire.close()
        if not self._conns[key]:
            del self._conns[key]


class Names(AbstractResolver):
    """The resolver that aiohttp asks: a name resolves only if all its addresses are allowed.

    :param seconds: the time-out of one look-up, over all name servers and tries.
    """

    def __init__(self, servers: aiodns.DNSResolver, *, rule: Rule, seconds: float) -> None:
        self._servers, self._rule, self._seconds = servers, rule, seconds

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the name's addresses.

        :raises BlockedAddress: one of the addresses is not allowed; then none of them is.
        :raises OSError: the name has no address, or none was found in time.
        """
        addresses = await self._look_up(host, family)
        if not all(self._rule(ip_address(address)) for address in addresses):
            raise BlockedAddress("one of the name's addresses is not public")
        return [_place(host, address, port) for address in addresses]

    async def close(self) -> None:
        """Do nothing: the sender opened the name servers, and closes them."""

    async def _look_up(self, host: str, family: socket.AddressFamily) -> list[str]:
        try:
            async with asyncio.timeout(self._seconds):
                found = await self._servers.getaddrinfo(
                    host, family=family, type=socket.SOCK_STREAM
                )
        except (aiodns.error.DNSError, TimeoutError) as problem:
            _open_one_on_trial()
            # aiohttp would take a TimeoutError for its own time-out.
            raise OSError(None, "the name was not found") from problem
        if not found.nodes:
            raise OSError(None, "the name has no address")
        return [node.addr[0].decode("ascii") for node in found.nodes]


def _open_one_on_trial() -> None:
    """Find out whether a look-up failed for lack of files, which its own error does not say."""
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def _place(host: str, address: str, port: int) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST,
    )
