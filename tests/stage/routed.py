"""Terminals with a route, as a test wants its payments to go."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Min

from acquirers import routes, terminals
from acquirers.models import Route, Terminal
from merchants.models import Merchant


def routed(
    name: str,
    *,
    kind: str = "sandbox",
    values: Mapping[str, Any] | None = None,
    merchant: Merchant | None = None,
) -> Terminal:
    """Add a terminal that takes every new payment, or every one of the merchant, from now on."""
    terminal = terminals.add(name, kind=kind, values=values, merchant=merchant)
    routes.add(terminal, merchant=merchant, priority=_before_all())
    return terminal


def _before_all() -> int:
    first = Route.objects.aggregate(first=Min("priority"))["first"]
    return routes.PRIORITY if first is None else min(first, routes.PRIORITY) - 1
