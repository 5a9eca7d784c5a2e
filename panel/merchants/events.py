"""Events: the list with the API's own filters, one event as a difference, and sending it again."""

from typing import Any

import orjson
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from api.request_logs import OUR_ID
from core.errors import DomainError
from events.models import Event
from merchants.models import Member
from panel import once, permissions, refusals
from panel.merchants import addresses, calls, links, listing
from panel.merchants.deliveries import worded
from panel.merchants.differences import differences
from panel.merchants.endpoint_forms import REFUSALS, Refusable, as_refusal
from panel.merchants.event_filters import EventFilterForm
from panel.merchants.pages import page, show
from panel.patience import TookTooLong, limited
from panel.permissions import Right
from webhooks import endpoints, filters
from webhooks.forms import ResendForm
from webhooks.models import Delivery

PATH = "/v1/events"


@page()
def events(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's events, narrowed by the filters of the API's list."""
    form = _form(request, member)
    shown: dict[str, Any] = {"form": form, "call": calls.curl("GET", PATH)}
    if form.is_valid() and (query := form.in_the_apis_terms(request.GET)):
        return HttpResponseRedirect(f"{request.path}?{query}")
    if not form.errors:
        try:
            with limited():
                rows = Event.objects.for_merchant(member.merchant).defer("body")
                shown["page"] = listing.page(rows, request.GET, filters.EVENTS)
            for row in shown["page"].rows:
                row.object_url = links.to(member, row.aggregate_id)
            wanted = listing.asked(request.GET, filters.EVENTS)
            shown["export_url"] = links.to_export(member, "events", wanted)
            shown["call"] = calls.listing(PATH, wanted)
        except TookTooLong:
            form.add_error(None, _("This took too long. Narrow the time, and try again."))
        except DomainError as problem:
            form.refuse(problem)
    shown["is_filtered"] = any(form.data.get(name) for name in form.fields)
    status = 400 if form.errors else 200
    return show(request, "panel/events/list.html", shown, status=status)


def _form(request: HttpRequest, member: Member) -> EventFilterForm:
    zone = member.merchant.timezone
    problem = addresses.unsafe(request)
    form = EventFilterForm(QueryDict() if problem else request.GET, zone=zone)
    if problem:
        form.add_error(None, str(problem))
    return form


@page()
def event(request: HttpRequest, member: Member, event: str) -> HttpResponse:
    """Show an event: what changed, its deliveries, and its body."""
    row = listing.find(Event.objects.for_merchant(member.merchant), event)
    body = orjson.loads(bytes(row.body))
    every = Delivery.objects.for_merchant(member.merchant).filter(event=row)
    shown: dict[str, Any] = {
        "event": row,
        "object_url": links.to(member, row.aggregate_id),
        "request_url": links.to(member, row.request_id),
        "body": body,
        "differences": differences(body["data"]["previous_attributes"], body["data"]["object"]),
        "may_resend": permissions.may(member, Right.RESEND),
        "call": calls.curl("GET", f"{PATH}/{row.id}"),
    }
    status = 200
    try:
        found = listing.page(every, request.GET, filters.DELIVERIES)
        shown |= {"page": found, "deliveries": [worded(one) for one in found.rows]}
    except DomainError:
        shown["problem"], status = listing.NO_SUCH_PLACE, 400
    return show(request, "panel/events/event.html", shown, status=status)


@page("POST")
def resend_event(request: HttpRequest, member: Member, event: str) -> HttpResponse:
    """Ask where an event is to be sent again (`webhook_endpoint`; nothing means all), and do."""
    row = listing.find(Event.objects.for_merchant(member.merchant), event)
    form = Refusable(request.POST if request.method == "POST" else None)
    endpoint_id = request.POST.get("webhook_endpoint", "").strip()
    # A person on an endpoint's page goes on there.
    has_page = request.POST.get("back") == "endpoint" and OUR_ID.fullmatch(endpoint_id)
    way_on = _page(member, "endpoint", endpoint_id) if has_page else _page(member, "event", row.id)

    def change() -> None:
        asked = ResendForm.read({"webhook_endpoint": endpoint_id} if endpoint_id else {})
        endpoints.resend_event(member.merchant, row.id, asked.get("webhook_endpoint"))
        messages.success(request, gettext("The event is being sent again."))

    reachable = list(endpoints.reachable(member.merchant, row).order_by("id"))
    if request.method == "POST" and not endpoint_id and not reachable:
        form.add_error(None, _("No endpoint that is not disabled listens for this event."))
    if request.method == "POST" and form.is_valid():
        try:
            return once.run(request, member, change, done=way_on)
        except REFUSALS as problem:
            form.add_error(None, refusals.sentence(as_refusal(problem)))
    shown = {
        "event": row,
        "form": form,
        "endpoints": reachable,
        "token": once.token(request),
        "call": calls.curl("POST", f"{PATH}/{row.id}/resend"),
    }
    return show(request, "panel/events/resend.html", shown, status=400 if form.errors else 200)


def _page(member: Member, name: str, thing: str) -> str:
    return reverse(f"panel:{name}", args=[member.merchant_id, thing])
