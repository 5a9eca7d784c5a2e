"""Endpoints are added and their secrets rolled: both answer with a secret, this once."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from merchants.models import Member
from panel import once
from panel.merchants import calls, event_words, listing
from panel.merchants.endpoint_forms import REFUSALS, EndpointForm, RollForm, typed
from panel.merchants.endpoints import PATH, facts
from panel.merchants.pages import page, proof_required, show
from panel.merchants.receivers import receivers
from webhooks import endpoints
from webhooks.endpoints import WithSecret
from webhooks.forms import CreateEndpointForm, RollSecretForm


@page("POST")
@proof_required
def add_endpoint(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for an endpoint's address and events; add it, and show its secret."""
    form = EndpointForm(typed(request) if request.method == "POST" else None)

    def made() -> WithSecret:
        return endpoints.create(member.merchant, CreateEndpointForm.read(form.body))

    if request.method == "POST" and form.is_valid():
        try:
            return _shown_once(request, member, made)
        except REFUSALS as problem:
            form.refuse(problem)
    shown = {
        "form": form,
        "groups": event_words.groups(form.chosen),
        "token": once.token(request),
        "call": calls.curl("POST", PATH, [("url", "https://…"), ("enabled_events[]", "*")]),
    }
    return show(request, "panel/webhooks/form.html", shown, status=400 if form.errors else 200)


@page("POST")
@proof_required
def roll_endpoint_secret(request: HttpRequest, member: Member, endpoint: str) -> HttpResponse:
    """Ask how long the old secret signs on; make a new one, and show it."""
    row = listing.find(endpoints.of(member.merchant), endpoint)
    form = RollForm(request.POST if request.method == "POST" else None)

    def rolled() -> WithSecret:
        seconds = form.cleaned_data["expires_in"]
        asked = RollSecretForm.read({"previous_secret_expires_in": seconds})
        return endpoints.roll_secret(
            member.merchant,
            row.id,
            previous_expires_in_seconds=asked["previous_secret_expires_in"],
        )

    if request.method == "POST" and form.is_valid():
        try:
            return _shown_once(request, member, rolled)
        except REFUSALS as problem:
            form.refuse(problem)
    shown = {
        "form": form,
        "endpoint": row,
        "token": once.token(request),
        "call": calls.curl("POST", f"{PATH}/{row.id}/roll_secret"),
    }
    return show(request, "panel/webhooks/roll.html", shown, status=400 if form.errors else 200)


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
