"""Webhook endpoints: the list, and the page of one with its deliveries."""

import re
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict

from core.errors import DomainError
from merchants.models import Member
from panel import once, permissions
from panel.merchants import calls, hook_words, list_pages, listing
from panel.merchants.deliveries import DeliveryForm, pane
from panel.merchants.list_forms import ListForm
from panel.merchants.pages import page, show
from panel.patience import TookTooLong, limited
from webhooks import endpoints, health, render
from webhooks.models import Delivery, Endpoint

PATH = "/v1/webhook_endpoints"


@page()
def webhooks(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's endpoints, each with its health; there are 16 at most."""
    rows = list(endpoints.of(member.merchant).order_by("-created_at", "-id"))
    found = health.of(rows)
    late = health.waiting([row for row in rows if is_in_trouble(row)])
    words = {one: hook_words.waiting(few, member.merchant) for one, few in late.items()}
    shown = {
        "rows": [(row, found[row.id], words.get(row.id)) for row in rows],
        "call": calls.curl("GET", PATH),
    }
    return show(request, "panel/webhooks/list.html", shown)


@page()
def endpoint(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Show an endpoint, its deliveries, and one of them with its attempts (`delivery`)."""
    row = listing.find(endpoints.of(member.merchant), endpoint)
    form = list_pages.filters(request, member, DeliveryForm)
    found = _found(member, row, form) if form.is_valid() else {}
    wanted = QueryDict() if form.errors else form.asked
    shown: dict[str, Any] = {
        "endpoint": row,
        "facts": facts(row),
        "waiting": _waiting(row, member),
        "receivers": receivers(),
        "may_resend": row.status != Endpoint.Status.DISABLED,
        "may_see_events": permissions.may_open(member, "event"),
        "token": once.token(request),
        "form": form,
        "is_narrowed": form.is_narrowed,
        "list_query": wanted.urlencode(),
        "call": calls.listing(f"{PATH}/{row.id}/deliveries", wanted),
        **found,
    }
    status = 400 if form.errors else 200
    return show(request, "panel/webhooks/endpoint.html", shown, status=status)


def _found(member: Member, row: Endpoint, form: ListForm) -> dict[str, Any]:
    """Return the page of deliveries, and the chosen one; the form says what is refused."""
    every = Delivery.objects.for_merchant(member.merchant).filter(endpoint=row)
    # A row that will be tried again is an attempt of the delivery that the next row shows.
    rows = every if any(form.shown.getlist("status[]")) else every.filter(next_attempt_at=None)
    try:
        # The newest are found at once; a filter may have to walk through all.
        with limited() if form.is_narrowed else nullcontext():
            found = listing.page(rows, form.given, form.spec, cursors=every)
    except TookTooLong:
        form.refuse_as_too_long()
        return {}
    except DomainError as refusal:
        form.refuse(refusal)
        return {}
    chosen = form.given.get("delivery") or (found.rows[0].id if found.rows else "")
    with_event = every.select_related("event")
    return {"page": found, **(pane(member, listing.find(with_event, chosen)) if chosen else {})}


def is_in_trouble(row: Endpoint) -> bool:
    """Return whether an endpoint does not answer, and events are still sent to it."""
    return row.status == Endpoint.Status.ENABLED and row.troubled_at is not None


def _waiting(row: Endpoint, member: Member) -> str:
    if not is_in_trouble(row):
        return ""
    return hook_words.waiting(health.waiting([row])[row.id], member.merchant)


def facts(row: Endpoint) -> dict[str, Any]:
    """Return the parts of an endpoint's page that are not its row's."""
    ends = render.webhook_endpoint(row)["previous_secret_expires_at"]
    return {
        "health": health.of([row])[row.id],
        "previous_until": datetime.fromtimestamp(ends, UTC) if ends else None,
        "is_replaying": row.replay_xid is not None,
        "is_sandbox": not settings.LIVEMODE,
    }


GUIDE = Path(settings.BASE_DIR) / "docs" / "how-to" / "webhooks.md"
CHAPTER = "\n## A receiver\n"
PROGRAM = re.compile(r"^### (?P<name>.+)\n(?:(?!^###).*\n)*?```\w+\n(?P<code>(?:.*\n)*?)```$", re.M)


class Receiver(NamedTuple):
    """A whole program that takes deliveries and checks their signatures.

    :param name: of its language, as the guide's heading says it.
    """

    name: str
    code: str


@cache
def receivers() -> tuple[Receiver, ...]:
    """Return the guide's programs, in its order."""
    chapter = GUIDE.read_text().partition(CHAPTER)[2]
    return tuple(Receiver(one["name"], one["code"]) for one in PROGRAM.finditer(chapter))
