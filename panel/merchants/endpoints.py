"""Webhook endpoints: the list, and the page of one with its deliveries."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from core.errors import DomainError
from merchants.models import Member
from panel import once, permissions
from panel.merchants import calls, listing
from panel.merchants.deliveries import pane
from panel.merchants.pages import page, show
from panel.merchants.receivers import receivers
from webhooks import endpoints, filters, health, render
from webhooks.models import Delivery, Endpoint

PATH = "/v1/webhook_endpoints"


@page()
def webhooks(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's endpoints, each with its health; there are 16 at most."""
    rows = list(endpoints.of(member.merchant).order_by("-created_at", "-id"))
    found = health.of(rows)
    shown = {
        "rows": [(row, found[row.id]) for row in rows],
        "call": calls.curl("GET", PATH),
    }
    return show(request, "panel/webhooks/list.html", shown)


@page()
def endpoint(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Show an endpoint, its deliveries, and one of them with its attempts (`delivery`)."""
    row = listing.find(endpoints.of(member.merchant), endpoint)
    every = Delivery.objects.for_merchant(member.merchant).filter(endpoint=row)
    shown: dict[str, Any] = {"endpoint": row, "facts": facts(row), "receivers": receivers()}
    shown["may_resend"] = row.status != Endpoint.Status.DISABLED
    shown["token"] = once.token(request)
    status = 200
    try:
        # A row that will be tried again is an attempt of the delivery that the next row shows.
        newest = every.filter(next_attempt_at=None)
        shown["page"] = listing.page(newest, request.GET, filters.DELIVERIES, cursors=every)
        chosen = request.GET.get("delivery") or _first_id(shown["page"])
        with_event = every.select_related("event")
        shown |= pane(member, listing.find(with_event, chosen)) if chosen else {}
    except DomainError:
        shown["problem"], status = listing.NO_SUCH_PLACE, 400
    shown["call"] = calls.curl("GET", f"{PATH}/{row.id}/deliveries")
    shown["may_see_events"] = permissions.may_open(member, "event")
    return show(request, "panel/webhooks/endpoint.html", shown, status=status)


def facts(row: Endpoint) -> dict[str, Any]:
    """Return the parts of an endpoint's page that are not its row's."""
    ends = render.webhook_endpoint(row)["previous_secret_expires_at"]
    return {
        "health": health.of([row])[row.id],
        "previous_until": datetime.fromtimestamp(ends, UTC) if ends else None,
        "is_replaying": row.replay_xid is not None,
        "is_sandbox": not settings.LIVEMODE,
    }


def _first_id(page: Any) -> str:
    return page.rows[0].id if page.rows else ""
