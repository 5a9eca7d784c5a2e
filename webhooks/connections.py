"""Connections to receivers: opened only to addresses that are allowed, checked where they open."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import aiodns
from aiohttp import TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection

Rule = Callable[[IPv4Address | IPv6Address], bool]

# One try at a name server; the sender's own time-out is over all of them.
NAME_SERVER_SECONDS = 2.0
NAME_SERVER_TRIES = 2
NAMES_ARE_KEPT_SECONDS = 10
IDLE_CONNECTIONS_ARE_KEPT_SECONDS = 30.0


class BlockedAddress(OSError):
    """The address, or one of the name's addresses, is none that may be sent to."""


def trusted_tls() -> ssl.SSLContext:
    """Return what TLS is spoken with: the system's trust store, names verified, 1.2 or later."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def name_servers(addresses: Sequence[str] = ()) -> aiodns.DNSResolver:
    """Return the process's resolver; the system's name servers unless others are given."""
    return aiodns.DNSResolver(
        nameservers=addresses or None, timeout=NAME_SERVER_SECONDS, tries=NAME_SERVER_TRIES
    )


def connector(
    names: "Names", *, rule: Rule, tls: ssl.SSLContext, is_kept_alive: bool
) -> TCPConnector:
    """Return a pool of connections to addresses that the rule allows.

    One look-up per name is under way at a time: aiohttp lets the others wait for it.
    """
    return Pool(
        resolver=names,
        ssl=tls,
        # Literals never meet a resolver: this is the door that everything passes.
        socket_factory=lambda place: _open_socket(place, rule),
        ttl_dns_cache=NAMES_ARE_KEPT_SECONDS,
        limit=0,  # The sender's slots are the limit.
        force_close=not is_kept_alive,
        # With force_close there is nothing to keep, and aiohttp refuses a time for it.
        **({"keepalive_timeout": IDLE_CONNECTIONS_ARE_KEPT_SECONDS} if is_kept_alive else {}),
    )


def _open_socket(place: tuple[Any, ...], rule: Rule) -> socket.socket:
    family, kind, protocol, _name, address = place
    if not rule(ip_address(address[0])):
        raise BlockedAddress("the address is not public")
    return socket.socket(family, kind, protocol)


class Pool(TCPConnector):
    """Connections of which none brings the answer to something else.

    aiohttp looks for what nobody asked for when a connection is given back, and not when it is
    used again, so that it would be taken for the answer to the next delivery.
    """

    async def _get(self, key: Any, traces: Any) -> Connection | None:
        for wire, _given_back_at in self._conns.get(key, ()):
            if wire.should_close:
                wire.close()
        return await super()._get(key, traces)


class Names(AbstractResolver):
    """Names' addresses, all of them allowed, within a time-out."""

    def __init__(self, servers: aiodns.DNSResolver, *, rule: Rule, seconds: float) -> None:
        self._servers, self._rule, self._seconds = servers, rule, seconds

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return where the name leads.

        :raises BlockedAddress: one of the addresses is not allowed; then none of them is.
        :raises OSError: the name has no address, or none was told in time.
        """
        addresses = await self._look_up(host, family)
        if not all(self._rule(ip_address(address)) for address in addresses):
            raise BlockedAddress("one of the name's addresses is not public")
        return [_place(host, address, port) for address in addresses]

    async def close(self) -> None:
        """Do nothing: the name servers are closed by who opened them."""

    async def _look_up(self, host: str, family: socket.AddressFamily) -> list[str]:
        try:
            async with asyncio.timeout(self._seconds):
                found = await self._servers.getaddrinfo(
                    host, family=family, type=socket.SOCK_STREAM
                )
        except (aiodns.error.DNSError, TimeoutError) as problem:
            # aiohttp takes a TimeoutError for its own.
            raise OSError(None, "the name was not found") from problem
        if not found.nodes:
            raise OSError(None, "the name has no address")
        return [node.addr[0].decode("ascii") for node in found.nodes]


def _place(host: str, address: str, port: int) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST,
    )
