"""Events: the list with the API's own filters, one event as a difference, and sending it again."""

from typing import Any

import orjson
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from api.request_logs import OUR_ID
from core.rest.lists import Page
from events.models import Event
from events.types import AGGREGATES
from merchants.models import Member
from panel import once, permissions
from panel.merchants import acts, calls, details, event_words, links, list_pages, listing
from panel.merchants.acts import Refusable
from panel.merchants.deliveries import worded
from panel.merchants.differences import differences
from panel.merchants.list_forms import AnyChoice, ListForm
from panel.merchants.list_pages import ListPage
from panel.merchants.pages import page
from panel.permissions import Right
from webhooks import endpoints, filters
from webhooks.forms import ResendForm
from webhooks.models import Delivery

PATH = "/v1/events"


class EventForm(ListForm):
    spec = filters.EVENTS
    type = AnyChoice(label=_("Type"), required=False, choices=event_words.choices)
    aggregate_type = AnyChoice(
        label=_("Kind of object"),
        required=False,
        choices=lambda: [("", _("All kinds")), *((name, name) for name in AGGREGATES)],
    )
    aggregate_id = forms.CharField(label=_("Id of the object"), required=False)
    delivery_success = AnyChoice(
        label=_("Delivered"),
        required=False,
        choices=[("", _("Any")), ("true", _("Yes, or to nobody")), ("false", _("Not yet"))],
    )
    field_order = ("type", "aggregate_type", "aggregate_id", "delivery_success")


def _objects(member: Member, found: Page) -> dict[str, Any]:
    for row in found.rows:
        row.object_url = links.to(member, row.aggregate_id)
    return {}


EVENTS = ListPage("events", EventForm, "panel/events/list.html", PATH, words=_objects)


@page()
def events(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's events, narrowed by the filters of the API's list."""
    rows = Event.objects.for_merchant(member.merchant).defer("body")
    return list_pages.answer(request, member, EVENTS, rows)


@page()
def event(request: HttpRequest, member: Member, event: str) -> HttpResponse:
    """Show an event: what changed, its deliveries, and its body."""
    row = listing.find(Event.objects.for_merchant(member.merchant), event)
    body = orjson.loads(bytes(row.body))
    every = Delivery.objects.for_merchant(member.merchant).filter(event=row)
    found = details.below(request, every, filters.DELIVERIES)
    if "page" in found:
        found["deliveries"] = [worded(one) for one in found["page"].rows]
    return details.answer(
        request, "panel/events/event.html", row, PATH,
        event=row,
        object_url=links.to(member, row.aggregate_id),
        request_url=links.to(member, row.request_id),
        body=body,
        differences=differences(body["data"]["previous_attributes"], body["data"]["object"]),
        may_resend=permissions.may(member, Right.RESEND),
        **found,
    )  # fmt: skip


@page("POST")
def resend_event(request: HttpRequest, member: Member, event: str) -> HttpResponse:
    """Ask where an event is to be sent again (`webhook_endpoint`; nothing means all), and do."""
    row = listing.find(Event.objects.for_merchant(member.merchant), event)
    form = Refusable(acts.sent(request))
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

    def act() -> HttpResponse:
        return once.run(request, member, change, done=way_on)

    call = calls.curl("POST", f"{PATH}/{row.id}/resend")
    return acts.done(request, form, act) or acts.ask(
        request, "panel/events/resend.html", form, event=row, endpoints=reachable, call=call
    )


def _page(member: Member, name: str, thing: str) -> str:
    return reverse(f"panel:{name}", args=[member.merchant_id, thing])
