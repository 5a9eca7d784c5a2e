"""Changes of an endpoint: each has a page that asks, and acts once for its form."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import clock, local_days
from core.errors import ResourceMissing
from merchants.models import Member
from panel import once
from panel.merchants import acts, calls, event_words, listing, trying
from panel.merchants.acts import Refusable
from panel.merchants.endpoint_forms import EnableForm, EndpointForm, ReplayForm
from panel.merchants.endpoints import PATH
from panel.merchants.pages import page, show
from webhooks import endpoints, health
from webhooks.forms import ReplayForm as ReplayBody
from webhooks.forms import UpdateEndpointForm
from webhooks.models import Endpoint


@page("POST")
def edit_endpoint(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Change an endpoint's address, events and description."""
    row = _row(member, endpoint)
    now = {name: getattr(row, name) for name in ("url", "description", "enabled_events")}
    form = EndpointForm(acts.sent(request), initial=now)

    def change() -> None:
        changes = UpdateEndpointForm.read(form.body)
        endpoints.update(member.merchant, row.id, changes)

    action = EndpointChange(form, change, _("The endpoint was changed."), _page_of(member, row))
    if answer := _sent(request, member, action):
        return answer
    fields = [("description", row.description or "…")]
    shown = {
        "endpoint": row,
        "groups": event_words.groups(form.chosen),
        "call": calls.curl("POST", f"{PATH}/{row.id}", fields),
    }
    return acts.ask(request, "panel/webhooks/form.html", form, **shown)


@page("POST")
def disable_endpoint(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Ask, and then send nothing to an endpoint any more."""
    row = _row(member, endpoint)

    def change() -> None:
        endpoints.update(member.merchant, row.id, UpdateEndpointForm.read({"disabled": True}))

    asked = {
        "heading": gettext("Disable this endpoint?"),
        "consequence": gettext(
            "Nothing is sent to it any more. What is pending is canceled and counts as missed:"
            " enable it again within 90 days, and you can have it sent then."
        ),
        "button": gettext("Disable"),
        "call": calls.curl("POST", f"{PATH}/{row.id}", [("disabled", "true")]),
    }
    form = _button(request)
    action = EndpointChange(form, change, _("The endpoint was disabled."), _page_of(member, row))
    return _sent(request, member, action) or _asking(request, member, row, asked, form)


@page("POST")
def delete_endpoint(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Ask, and then delete an endpoint for good."""
    # Its form may be sent twice: the second time it is deleted already.
    row = _row(member, endpoint, is_gone_too=request.method == "POST")
    back = reverse("panel:webhooks", args=[member.merchant_id])

    def change() -> None:
        endpoints.delete(member.merchant, row.id)

    asked = {
        "heading": gettext("Delete this endpoint?"),
        "consequence": gettext(
            "Nothing is sent to it any more, and what it missed can no longer be sent. Its secrets"
            " are destroyed. This cannot be taken back."
        ),
        "button": gettext("Delete"),
        "call": calls.curl("DELETE", f"{PATH}/{row.id}"),
    }
    form = _button(request)
    action = EndpointChange(form, change, _("The endpoint was deleted."), back)
    return _sent(request, member, action) or _asking(request, member, row, asked, form)


@page("POST")
def enable_endpoint(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Enable an endpoint again, and have sent what it missed if that is asked for."""
    row = _row(member, endpoint)
    form = EnableForm(acts.sent(request), initial={"replay_missed": True})

    def change() -> None:
        body = {"disabled": False, "replay_missed": form.cleaned_data["replay_missed"]}
        endpoints.update(member.merchant, row.id, UpdateEndpointForm.read(body))

    action = EndpointChange(form, change, _("The endpoint was enabled."), _page_of(member, row))
    fields = [("disabled", "false"), ("replay_missed", "true")]
    asked = {
        "heading": gettext("Enable this endpoint?"),
        "consequence": gettext("Events are sent to it again from now on."),
        "button": gettext("Enable"),
        "call": calls.curl("POST", f"{PATH}/{row.id}", fields),
        "health": health.of([row])[row.id],
    }
    return _sent(request, member, action) or _asking(request, member, row, asked, form)


@page("POST")
def replay_endpoint(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Have sent what an endpoint missed, all of it or from a day on."""
    row = _row(member, endpoint)
    form = ReplayForm(acts.sent(request))

    def change() -> None:
        since = _beginning(member, form.cleaned_data["since"])
        asked = ReplayBody.read({} if since is None else {"since": since})
        endpoints.replay_missed(member.merchant, row.id, since=asked.get("since"))

    done = _("The missed events are being sent, oldest first.")
    action = EndpointChange(form, change, done, _page_of(member, row))
    asked = {
        "heading": gettext("Send what was missed?"),
        "consequence": gettext(
            "For each object, its events are sent from the first one that was missed to the"
            " newest, in order, and only then anything new."
        ),
        "button": gettext("Send what was missed"),
        "call": calls.curl("POST", f"{PATH}/{row.id}/replay"),
        "health": health.of([row])[row.id],
    }
    return _sent(request, member, action) or _asking(request, member, row, asked, form)


@page("POST")
def try_endpoint(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Say what a test event would be, and send it."""
    row = _row(member, endpoint)
    wanted = trying.plan(member.merchant, row)
    form = _button(request)

    def change() -> None:
        trying.carry_out(member.merchant, row, wanted)

    if not wanted.why_not:
        done = _("The test event is on its way.")
        action = EndpointChange(form, change, done, _page_of(member, row))
        if answer := _sent(request, member, action):
            return answer
    shown = {"endpoint": row, "plan": wanted, "form": form, "token": once.token(request)}
    is_refused = request.method == "POST"
    return show(request, "panel/webhooks/test.html", shown, status=409 if is_refused else 200)


# --- What all of them do ----------------------------------------------------------------------


def _row(member: Member, endpoint_id: str, *, is_gone_too: bool = False) -> Endpoint:
    """Return one of the merchant's endpoints, a deleted one too if that is asked for."""
    rows = endpoints.of(member.merchant)
    every = Endpoint.objects.for_merchant(member.merchant)
    return listing.find(every if is_gone_too else rows, endpoint_id)


class EndpointChange(NamedTuple):
    """A form's change.

    :param done: the message once it is made.
    :param leads_to: the address to go on at.
    """

    form: Refusable
    change: Callable[[], object]
    done: str | Promise
    leads_to: str


def _button(request: HttpRequest) -> Refusable:
    """Return the form of a page that asks with a button alone."""
    return Refusable(acts.sent(request))


def _sent(request: HttpRequest, member: Member, action: EndpointChange) -> HttpResponse | None:
    """Make the change if the form was sent and is fine; None if it has to be shown.

    :raises Http404: the endpoint is gone.
    """

    def change_and_say() -> None:
        action.change()
        messages.success(request, str(action.done))

    def act() -> HttpResponse:
        try:
            return once.run(request, member, change_and_say, done=action.leads_to)
        except ResourceMissing:
            raise Http404 from None

    return acts.done(request, action.form, act)


def _asking(
    request: HttpRequest, member: Member, row: Endpoint, asked: dict[str, Any], form: Refusable
) -> HttpResponse:
    shown = {**asked, "endpoint": row, "back": _page_of(member, row)}
    return acts.ask(request, "panel/webhooks/change.html", form, **shown)


def _page_of(member: Member, row: Endpoint) -> str:
    return reverse("panel:endpoint", args=[member.merchant_id, row.id])


def _beginning(member: Member, day: Any) -> int | None:
    """Return the unix second in which a day of the merchant begins; None without a day."""
    if day is None:
        return None
    return clock.unix(local_days.begins(day, member.merchant.timezone))
