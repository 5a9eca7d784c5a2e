"""Slots: requests that ask a slow acquirer may hold some threads of a web process, not all.

Each request that asks a bank holds a slot from before its first transaction to its end, at
every door (performance 5). Sweepers and commands hold no slot, for they have their own threads.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings

from acquirers.places import Places
from core import arrival, connections, context
from core.errors import UpstreamUnavailable
from core.metrics import Counter, Gauge
from core.once import once
from core.traffic import traffic
from merchants.models import Merchant

P = ParamSpec("P")
T = TypeVar("T")

MERCHANT_WAITS_SECONDS = 0.25
# A payer has authenticated at the bank already, and would have to try again by hand.
PAYER_WAITS_SECONDS = 5.0
# A request that waits for a slot holds a thread too. Slots leave a quarter of the threads free:
# half of that quarter is for payers who wait, a quarter of it for merchants' requests that wait,
# and the rest for requests that ask no bank.
PAYERS_SHARE, MERCHANTS_SHARE = 8, 16

# The name of all of them together in the line of traffic: they share a process's slots.
ACQUIRERS = "acquirers"

REFUSED = Counter("pay_bank_slot_refusals_total", "Requests that found no slot.")
IN_USE = Gauge("pay_bank_slots_in_use", "Requests that hold a slot.")
ALL = Gauge("pay_bank_slots", "Slots of the processes that have asked a bank.")

# Whether the current request holds a slot.
_held: ContextVar[bool] = ContextVar("slot", default=False)


class AcquirerBusy(UpstreamUnavailable):
    message = "The acquirer answers too slowly at the moment; nothing was stored. Try again."


def in_a_slot(
    use_case: Callable[Concatenate[Merchant, P], T],
) -> Callable[Concatenate[Merchant, P], T]:
    """Let a use case that a merchant calls hold a slot while it lasts.

    :raises AcquirerBusy: none came free in a quarter of a second; nothing has happened.
    """

    @wraps(use_case)
    def held_meanwhile(merchant: Merchant, /, *args: P.args, **options: P.kwargs) -> T:
        with for_merchant(merchant.id):
            return use_case(merchant, *args, **options)

    return held_meanwhile


@contextmanager
def for_merchant(merchant_id: str) -> Iterator[None]:
    """Hold a slot for a merchant's own request.

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

    :raises AskedWrongly: a request came here without a slot, or inside a transaction.
    """
    has_slot = _held.get()
    if not has_slot and context.is_request():
        raise connections.AskedWrongly("a request asks an acquirer without a slot")
    connections.give_back_to_ask()
    began = time.monotonic()
    try:
        yield
    finally:
        if has_slot:
            traffic.answered(ACQUIRERS, seconds=time.monotonic() - began)


def places() -> Places:
    """Return this process's places at the installation's acquirers, all together."""
    return _places(settings.ACQUIRER_SLOTS)


@contextmanager
def _slot(merchant_id: str, *, seconds: float, share: int) -> Iterator[None]:
    if _held.get() or not context.is_request():
        yield
        return
    if not _taken(merchant_id, seconds=seconds, share=share):
        traffic.refused_by_slot(ACQUIRERS)
        REFUSED.count()
        raise AcquirerBusy
    token = _held.set(True)
    try:
        # The client may have hung up while it waited, and an attempt is about to be written.
        arrival.require_client()
        in_use = places().in_use
        traffic.slot_taken(ACQUIRERS, in_use=in_use)
        IN_USE.set(in_use)
        ALL.set(settings.ACQUIRER_SLOTS)
        yield
    finally:
        _held.reset(token)
        places().give_back(merchant_id)
        IN_USE.set(places().in_use)


def _taken(merchant_id: str, *, seconds: float, share: int) -> bool:
    if places().take(merchant_id):
        return True
    connections.give_back()  # A request that waits needs no database connection.
    queue_max = max(1, settings.WEB_THREADS // share)
    return places().wait(merchant_id, seconds=seconds, queue_max=queue_max)


@once
def _places(count: int) -> Places:
    return Places(count)
