"""Webhook endpoints: the list, and the page of one with its deliveries."""

from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext_lazy as _

from core.errors import DomainError
from merchants.models import Member
from panel import once, permissions
from panel.merchants import addresses, calls, listing
from panel.merchants.deliveries import pane
from panel.merchants.delivery_filters import DeliveryForm
from panel.merchants.pages import page, show
from panel.merchants.payment_filters import common
from panel.merchants.receivers import receivers
from panel.patience import TookTooLong, limited
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
    problem = addresses.unsafe(request)
    # Without what was typed: the page may be printed or photographed.
    query = QueryDict() if problem else request.GET
    form = DeliveryForm(query, zone=member.merchant.timezone)
    if problem:
        form.add_error(None, str(problem))
    found = _found(member, row, query, form) if form.is_valid() else {}
    wanted = QueryDict() if form.errors else listing.asked(query, filters.DELIVERIES)
    shown: dict[str, Any] = {
        "endpoint": row,
        "facts": facts(row),
        "receivers": receivers(),
        "may_resend": row.status != Endpoint.Status.DISABLED,
        "may_see_events": permissions.may_open(member, "event"),
        "token": once.token(request),
        "form": form,
        "common": common(form),
        "is_narrowed": form.is_narrowed,
        "list_query": wanted.urlencode(),
        "call": calls.listing(f"{PATH}/{row.id}/deliveries", wanted),
        **found,
    }
    status = 400 if form.errors else 200
    return show(request, "panel/webhooks/endpoint.html", shown, status=status)


def _found(member: Member, row: Endpoint, query: QueryDict, form: DeliveryForm) -> dict[str, Any]:
    """Return the page of deliveries, and the chosen one; the form says what is refused."""
    every = Delivery.objects.for_merchant(member.merchant).filter(endpoint=row)
    # A row that will be tried again is an attempt of the delivery that the next row shows.
    rows = every if form.is_by_status else every.filter(next_attempt_at=None)
    try:
        # The newest are found at once; a filter may have to walk through all.
        with limited() if form.is_narrowed else nullcontext():
            found = listing.page(rows, query, filters.DELIVERIES, cursors=every)
    except TookTooLong:
        form.add_error(None, _("This took too long. Take a filter away, and try again."))
        return {}
    except DomainError as refusal:
        form.refuse(refusal)
        return {}
    chosen = query.get("delivery") or (found.rows[0].id if found.rows else "")
    with_event = every.select_related("event")
    return {"page": found, **(pane(member, listing.find(with_event, chosen)) if chosen else {})}


def facts(row: Endpoint) -> dict[str, Any]:
    """Return the parts of an endpoint's page that are not its row's."""
    ends = render.webhook_endpoint(row)["previous_secret_expires_at"]
    return {
        "health": health.of([row])[row.id],
        "previous_until": datetime.fromtimestamp(ends, UTC) if ends else None,
        "is_replaying": row.replay_xid is not None,
        "is_sandbox": not settings.LIVEMODE,
    }
