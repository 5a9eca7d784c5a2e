"""A slow acquirer holds some threads of a web process, and leaves the others to everybody else.

Each request that asks a bank holds a slot from before its first transaction to its end, at
every door (performance 5). Sweepers and commands have threads of their own, and none.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings

from core import arrival, connections, context
from core.errors import UpstreamUnavailable
from core.traffic import traffic
from merchants.models import Merchant
from payments.gateways.places import Places

P = ParamSpec("P")
T = TypeVar("T")

MERCHANT_WAITS_SECONDS = 0.25
# They have authenticated at their bank; their browser would have to ask again by hand.
PAYER_WAITS_SECONDS = 5.0
# Whoever waits for a slot holds a thread too. Slots leave a quarter of the threads; payers may wait
# with half of that, merchants' requests with a quarter of it, and the rest is for all that asks
# no bank.
PAYERS_SHARE, MERCHANTS_SHARE = 8, 16

# The acquirer at which the request at hand holds a slot.
_held: ContextVar[str | None] = ContextVar("slot", default=None)


class AcquirerBusy(UpstreamUnavailable):
    message = "The acquirer answers too slowly at the moment; nothing was stored. Try again."


def in_a_slot(
    use_case: Callable[Concatenate[Merchant, P], T],
) -> Callable[Concatenate[Merchant, P], T]:
    """Let a use case that a merchant calls hold a slot while it lasts.

    :raises AcquirerBusy: none came free in a quarter of a second; nothing has happened.
    """

    @wraps(use_case)
    def held_meanwhile(merchant: Merchant, *args: P.args, **options: P.kwargs) -> T:
        with for_merchant(merchant.id):
            return use_case(merchant, *args, **options)

    return held_meanwhile


@contextmanager
def for_merchant(merchant_id: str) -> Iterator[None]:
    """Hold a slot for what a merchant asked for.

    :raises AcquirerBusy: none came free in a quarter of a second.
    """
    with _slot(merchant_id, seconds=MERCHANT_WAITS_SECONDS, share=MERCHANTS_SHARE):
        yield


@contextmanager
def for_payer_of(merchant_id: str) -> Iterator[None]:
    """Hold a slot for a merchant's payer who has come back from the bank.

    :raises AcquirerBusy: none came free in five seconds, or too many payers wait already.
    """
    with _slot(merchant_id, seconds=PAYER_WAITS_SECONDS, share=PAYERS_SHARE):
        yield


@contextmanager
def asking() -> Iterator[None]:
    """Wait for an acquirer in this block, with a slot and without a database connection.

    :raises RuntimeError: a request came here without a slot, or inside a transaction.
    """
    acquirer = _held.get()
    if acquirer is None and context.is_request():
        raise RuntimeError("a request asks an acquirer without a slot")
    connections.give_back_to_ask()
    began = time.monotonic()
    try:
        yield
    finally:
        if acquirer:
            traffic.answered(acquirer, seconds=time.monotonic() - began)


def places() -> Places:
    """Return this process's places at the installation's acquirer."""
    return _places(settings.ACQUIRER, settings.ACQUIRER_SLOTS)


@contextmanager
def _slot(merchant_id: str, *, seconds: float, share: int) -> Iterator[None]:
    if _held.get() or not context.is_request():
        yield
        return
    acquirer = settings.ACQUIRER
    if not _taken(merchant_id, seconds=seconds, share=share):
        traffic.refused_by_slot(acquirer)
        raise AcquirerBusy
    token = _held.set(acquirer)
    try:
        # It may have left while it waited, and an attempt is about to be written.
        arrival.require_client()
        traffic.slot_taken(acquirer, in_use=places().in_use)
        yield
    finally:
        _held.reset(token)
        places().give_back(merchant_id)


def _taken(merchant_id: str, *, seconds: float, share: int) -> bool:
    if places().take(merchant_id):
        return True
    connections.give_back()  # Whoever waits needs none.
    queue_max = max(1, settings.WEB_THREADS // share)
    return places().wait(merchant_id, seconds=seconds, queue_max=queue_max)


@cache
def _places(_acquirer: str, count: int) -> Places:
    return Places(count)
