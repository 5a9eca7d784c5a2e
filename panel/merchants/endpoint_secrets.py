"""Endpoints are added and their secrets rolled: both answer with a secret, this once."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from merchants.models import Member
from panel import once
from panel.merchants import acts, calls, event_words, listing
from panel.merchants.endpoint_forms import EndpointForm, RollForm
from panel.merchants.endpoints import PATH, facts, receivers
from panel.merchants.pages import page, proof_required, show
from webhooks import endpoints
from webhooks.endpoints import WithSecret
from webhooks.forms import CreateEndpointForm, RollSecretForm


@page("POST")
@proof_required
def add_endpoint(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for an endpoint's address and events; add it, and show its secret."""
    form = EndpointForm(acts.sent(request))

    def made() -> WithSecret:
        return endpoints.create(member.merchant, CreateEndpointForm.read(form.body))

    if answer := acts.done(request, form, lambda: _shown_once(request, member, made)):
        return answer
    shown = {
        "groups": event_words.groups(form.chosen),
        "call": calls.curl("POST", PATH, [("url", "https://…"), ("enabled_events[]", "*")]),
    }
    return acts.ask(request, "panel/webhooks/form.html", form, **shown)


@page("POST")
@proof_required
def roll_endpoint_secret(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Ask how long the old secret signs on; make a new one, and show it."""
    row = listing.find(endpoints.of(member.merchant), endpoint)
    form = RollForm(acts.sent(request))

    def rolled() -> WithSecret:
        seconds = form.cleaned_data["expires_in"]
        asked = RollSecretForm.read({"previous_secret_expires_in": seconds})
        return endpoints.roll_secret(
            member.merchant,
            row.id,
            previous_expires_in_seconds=asked["previous_secret_expires_in"],
        )

    if answer := acts.done(request, form, lambda: _shown_once(request, member, rolled)):
        return answer
    shown = {
        "endpoint": row,
        "call": calls.curl("POST", f"{PATH}/{row.id}/roll_secret"),
    }
    return acts.ask(request, "panel/webhooks/roll.html", form, **shown)


def _shown_once(
    request: HttpRequest, member: Member, change: Callable[[], WithSecret]
) -> HttpResponse:
    def answer() -> tuple[HttpResponse, str]:
        made = change()
        shown = {
            "endpoint": made.endpoint,
            "secret": made.secret,
            "facts": facts(made.endpoint),
            "receivers": receivers(),
        }
        return show(request, "panel/webhooks/secret.html", shown), made.endpoint.id

    def again(endpoint_id: str) -> HttpResponse:
        back = reverse("panel:endpoint", args=[member.merchant_id, endpoint_id])
        roll = reverse("panel:roll_endpoint_secret", args=[member.merchant_id, endpoint_id])
        return show(request, "panel/webhooks/secret_shown.html", {"back": back, "roll": roll})

    return once.show_once(request, member, answer, again=again)
