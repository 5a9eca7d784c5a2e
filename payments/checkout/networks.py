"""The network that a payer's request comes from: by it alone the pages count.

An IPv4 address or the /64 of an IPv6 one (`core.limits.network_of`). It is never stored in clear.
"""

from contextlib import suppress
from ipaddress import ip_address
from typing import Any

import structlog
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.http import HttpRequest

from core import limits, redis
from core.http import client_address

# So long `manage.py check --deploy` remembers what the pages have seen.
REMEMBERED_SECONDS = 3600
ADVICE = "set PROXY_HOPS to the number of your proxies that a request passes, one after the other"

log = structlog.get_logger(__name__)


def of_payer(request: HttpRequest) -> str | None:
    """Return the network of a payer's press; None if it is not known.

    In live a payer has a public address. Another one is a proxy's of ours, which all payers share:
    nothing is counted by it.
    """
    address = client_address(request)
    try:
        is_public = ip_address(address).is_global
    except ValueError:  # Empty, where the web process listens on a Unix socket.
        address, is_public = "", False
    if settings.LIVEMODE and not is_public:
        _warn(address)
        return None
    return limits.network_of(address) if address else None


def _warn(address: str) -> None:
    """Warn the operator, once a minute for each process."""
    if limits.counts_here.wait_of("network_unknown", limit=1, seconds=60):
        return
    log.warning("network_unknown", ip=address, proxy_hops=settings.PROXY_HOPS, advice=ADVICE)
    with suppress(redis.Away):  # The line in the log stays.
        redis.call(lambda client: client.set(_note(), address, ex=REMEMBERED_SECONDS))


def _note() -> str:
    # With other settings the pages have not looked yet.
    return f"checkout:network_unknown:{settings.PROXY_HOPS}"


def payers_have_public_addresses(**_kwargs: Any) -> list[CheckMessage]:
    """Find proxies that `PROXY_HOPS` leaves out, by the presses of the last hour."""
    if not settings.LIVEMODE:
        return []
    try:
        seen = redis.call(lambda client: client.get(_note()))
    except redis.Away:
        return []
    if seen is None:
        return []
    address = seen.decode() if isinstance(seen, bytes) else seen
    said = f"Payers seem to come from {address or 'a socket'}, which is not public: {ADVICE}."
    return [Error(f"{said} Until then pages count nothing by network.", id="checkout.E001")]
