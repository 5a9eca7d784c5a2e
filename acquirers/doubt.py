"""An exception of an adapter is doubt: the request may have reached the bank before it failed.

Nothing of an exception's message is logged, for it may hold what the adapter read or sent.
"""

import structlog

from acquirers.gateway import Gateway, Order
from acquirers.models import Terminal
from acquirers.noticed import Notice, NoticesUnreadable
from acquirers.outcomes import Finding, Standing
from acquirers.three_d_secure import Forged
from core.connections import AskedWrongly

# One is part of the interface. With the other nothing was asked.
PASSED_ON = (Forged, AskedWrongly)

log = structlog.get_logger(__name__)


def notices_of(
    gateway: Gateway, terminal: Terminal, *, after: int, limit: int
) -> list[Notice] | None:
    """Return a bank's notices behind a number; None if it has none.

    :raises NoticesUnreadable: the bank did not give them, or the adapter failed.
    """
    try:
        return gateway.notices(terminal, after=after, limit=limit)
    except (*PASSED_ON, NoticesUnreadable):
        raise
    except Exception as fault:  # noqa: BLE001 - The next poll asks again.
        note(fault, operation="notices", terminal=terminal.name)
        raise NoticesUnreadable("The adapter failed.") from None


def standing_of(gateway: Gateway, order: Order) -> Standing:
    """Return what a bank has of an order; unknown if the adapter failed."""
    try:
        return gateway.inquire(order)
    except PASSED_ON:
        raise
    except Exception as fault:  # noqa: BLE001 - Nothing was charged by it.
        note(fault, operation="inquire", terminal=order.terminal.name)
        return Standing(Finding.UNKNOWN)


def accepts(gateway: Gateway, terminal: Terminal, number: str) -> bool:
    """Return whether a card of this number is taken at a terminal; not if the adapter fails."""
    try:
        return gateway.accepts(terminal, number)
    except Exception as fault:  # noqa: BLE001 - Nothing was stored yet.
        note(fault, operation="accepts", terminal=terminal.name)
        return False


def note(fault: Exception, *, operation: str, terminal: str) -> None:
    """Log that an adapter raised, with the class and the place of the fault."""
    place = fault.__traceback__
    while place and place.tb_next:
        place = place.tb_next
    log.error(
        "adapter_failed",
        operation=operation,
        terminal=terminal,
        fault=type(fault).__name__,
        line=f"{place.tb_frame.f_globals.get('__name__')}:{place.tb_lineno}" if place else None,
    )
