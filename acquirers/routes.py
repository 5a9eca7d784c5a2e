"""Routes added and removed: which payments may go to which terminal."""

from typing import Any

from django.db import transaction

from acquirers import set_up
from acquirers.models import Route, Terminal
from acquirers.routing import overlap
from acquirers.set_up import SetUpRefused
from core.cards import BRANDS
from merchants import audit_log
from merchants.models import Merchant

# Of a route without a priority of its own.
PRIORITY = 100
LAST = 32_767
# Routes are few. One change at a time sees all that there are.
ONE_AT_A_TIME = "LOCK TABLE acquirers_route IN SHARE ROW EXCLUSIVE MODE"


@transaction.atomic
def add(
    terminal: Terminal,
    *,
    merchant: Merchant | None = None,
    priority: int = PRIORITY,
    reason: str | None = None,
    **conditions: Any,
) -> Route:
    """Let payments that fit the conditions go to a terminal.

    :param merchant: whose payments; None for everybody's.
    :param priority: the lowest number comes first; a merchant's own routes before everybody's.
    :param reason: of the operator, for the audit log.
    :param conditions: `currency brand domestic program installments_from installments_to`.
    :raises SetUpRefused: the terminal is not enabled or another merchant's, or the route and one
        of the same priority may fit the same payment.
    """
    with transaction.get_connection().cursor() as cursor:
        cursor.execute(ONE_AT_A_TIME)
    fresh = Terminal.objects.select_for_update().get(id=terminal.id)
    if fresh.status != Terminal.Status.ENABLED:
        raise SetUpRefused(f"The terminal is {fresh.status}: it takes no new payments.")
    if fresh.merchant_id and (merchant is None or merchant.id != fresh.merchant_id):
        raise SetUpRefused("The terminal is the contract of another merchant.")
    route = Route(terminal=fresh, merchant=merchant, priority=priority, **conditions)
    _check_conditions(route)
    alike = [one for one in Route.objects.filter(priority=priority) if overlap(one, route)]
    if alike:
        raise SetUpRefused(
            f"A payment may fit this route and {alike[0].terminal}'s ({alike[0]}) alike. Give"
            " them different priorities."
        )
    route.save(force_insert=True)
    _record("route.added", route, after={"route": str(route)}, reason=reason)
    return route


@transaction.atomic
def remove(route: Route, *, reason: str | None = None) -> None:
    """Let no more payments go by a route; attempts stay at their terminal."""
    _record("route.removed", route, before={"route": str(route)}, reason=reason)
    route.delete()


def _check_conditions(route: Route) -> None:
    if route.currency is not None:
        set_up.listed("currency", route.currency, set_up.currencies())
    if route.brand is not None:
        set_up.listed("brand", route.brand, BRANDS)
    if not 0 <= route.priority <= LAST:
        raise SetUpRefused(f"priority: a number from 0 to {LAST}.")
    first, last = route.installments_from, route.installments_to
    if first < 1 or (last is not None and last < first):
        raise SetUpRefused("installments: a count from 1 on, or two of them, such as 2-12.")


def _record(action: str, route: Route, **change: Any) -> None:
    terminal = route.terminal
    audit_log.record(action, merchant=route.merchant, subject=terminal.id, **change)
