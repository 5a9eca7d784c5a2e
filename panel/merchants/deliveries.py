"""One delivery: all attempts of its event at its endpoint, what was sent, what was answered."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from merchants.models import Member
from panel import once, permissions, statuses
from panel.merchants import event_words, links, listing
from panel.merchants.list_forms import ANY, AnyChoice, AnyChoices, ListForm, text
from panel.merchants.pages import page, show
from panel.permissions import Right
from webhooks.delivery.http import headers
from webhooks.filters import DELIVERIES
from webhooks.models import Delivery, Endpoint

# Ten attempts, and some that were asked for by hand.
ATTEMPTS_SHOWN = 50
# The form of a signature, without its value: a value would let others forge this delivery.
SIGNATURE = "t=…,v1=…"

ERRORS: dict[str, str | Promise] = {
    "blocked_address": _("The name leads to an address that is not public."),
    "dns_error": _("The name was not found."),
    "connection_error": _("No connection could be opened, or it broke."),
    "tls_error": _("The certificate is not valid for this name, or TLS failed."),
    "timeout": _("There was no whole answer in time."),
    "http_status": _("The answer's status is not 2xx."),
}
TRIGGERS: dict[str, str | Promise] = {
    Delivery.Trigger.AUTOMATIC: _("Automatic"),
    Delivery.Trigger.RESEND: _("By hand"),
    Delivery.Trigger.REPLAY: _("Sent after being missed"),
}
# A delivery's status as `panel.statuses` names it.
BADGES: dict[str, str] = {
    Delivery.Status.SUCCEEDED: "delivered",
    Delivery.Status.CANCELED: "not_sent",
}

STATUSES = [
    (value, statuses.badge(BADGES.get(value, value)).word) for value in Delivery.Status.values
]


class DeliveryForm(ListForm):
    """The form above an endpoint's deliveries, which are in the order of their ids alone."""

    spec = DELIVERIES
    human = {}
    ranges = ()
    too_long = _("This took too long. Take a filter away, and try again.")
    created_from = created_to = None  # type: ignore[assignment]  # As Django leaves a field out.

    event_type = AnyChoice(label=_("Type"), required=False, choices=event_words.choices)
    trigger = AnyChoice(label=_("Trigger"), required=False, choices=[ANY, *TRIGGERS.items()])
    event = text(_("Event"), placeholder="evt_…")
    vars()["status[]"] = AnyChoices(
        label=_("Status"),
        required=False,
        choices=STATUSES,
        widget=forms.CheckboxSelectMultiple,
    )
    field_order = ("event_type", "trigger", "event", "status[]")


@page()
def delivery(request: HttpRequest, member: Member, delivery: str) -> HttpResponse:
    """Show one delivery."""
    row = listing.find(Delivery.objects.for_merchant(member.merchant), delivery)
    shown = pane(member, row)
    is_open = row.endpoint.status != Endpoint.Status.DISABLED
    shown["may_resend"] = is_open and permissions.may(member, Right.RESEND)
    shown["may_see_endpoint"] = permissions.may_open(member, "endpoint") and (
        row.endpoint.deleted_at is None
    )
    return show(request, "panel/webhooks/delivery.html", {**shown, "token": once.token(request)})


def pane(member: Member, row: Delivery) -> dict[str, Any]:
    """Return what the pane of one delivery shows.

    :param row: one of the attempts; the others of its event at the same endpoint are shown with it.
    """
    own = Delivery.objects.for_merchant(member.merchant)
    beside = own.filter(event_id=row.event_id, endpoint_id=row.endpoint_id).order_by("-id")
    return {
        "chosen": row,
        "event": row.event,
        "object_url": links.to(member, row.event.aggregate_id),
        "attempts": [worded(one) for one in beside[:ATTEMPTS_SHOWN]],
        "answer": row.response_excerpt,
        "sent_headers": _headers(row),
        "sent_body": bytes(row.event.body).decode(),
    }


def worded(row: Delivery) -> Delivery:
    """Give a delivery its labels: `badge`, `why` and `trigger_word`."""
    row.badge = BADGES.get(row.status, row.status)  # type: ignore[attr-defined]
    row.why = ERRORS.get(row.error or "", row.error or "")  # type: ignore[attr-defined]
    row.trigger_word = TRIGGERS.get(row.trigger, row.trigger)  # type: ignore[attr-defined]
    return row


def _headers(row: Delivery) -> str:
    sent = headers.of(row.event_id, row.id, signature=SIGNATURE)
    return "\n".join([f"POST {row.url}", *(f"{name}: {value}" for name, value in sent.items())])
