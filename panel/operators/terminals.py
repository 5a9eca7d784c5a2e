"""Terminals and routes at the desk: the contracts with banks, and which payments go to which."""

from functools import partial
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path

import acquirers
from acquirers import routes, slots, terminals
from acquirers.models import Route, Terminal
from acquirers.set_up import SetUpRefused
from core.errors import ResourceMissing
from panel.operators import desk, terminal_facts
from panel.operators.desk import Section, Trail
from panel.operators.forms import DeskForm, ReasonForm
from panel.operators.terminal_forms import KindForm, NewTerminalForm, RouteForm, ValuesForm

VIEW, MANAGE = "acquirers.view_terminal", "acquirers.manage_terminals"
BOTH = ("GET", "POST")


class Move(NamedTuple):
    """An act that changes a terminal's status.

    :param lead: what it means, for the page that asks.
    """

    status: str
    title: str
    lead: str


MOVES = {
    "enable": Move(
        Terminal.Status.ENABLED, "Enable", "It takes new payments again, by its routes."
    ),
    "drain": Move(
        Terminal.Status.DRAINING,
        "Drain",
        "It takes no new payments. Captures, voids, refunds and inquiries of its old ones go on.",
    ),
    "disable": Move(
        Terminal.Status.DISABLED,
        "Disable",
        "Its bank is asked nothing at all: its old payments can be neither refunded nor looked up.",
    ),
}


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show all terminals, and the routes in the order in which they are tried."""
    rows = Terminal.objects.select_related("merchant").order_by("name")
    rules = Route.objects.select_related("terminal", "merchant")
    shown: dict[str, Any] = {
        "terminals": rows,
        "routes": rules.order_by("merchant", "priority", "id"),
    }
    return desk.show(request, "desk/terminals/list.html", "Terminals", **shown)


@desk.page(VIEW)
def one(request: HttpRequest, terminal_id: str) -> HttpResponse:
    """Show a terminal with how its bank has answered lately; never a secret."""
    terminal = _find(terminal_id)
    trail = [("Terminals", desk.address("desk_terminals"))]
    shown: dict[str, Any] = {"terminal": terminal, "facts": terminal_facts.of(terminal)}
    return desk.show(request, "desk/terminals/terminal.html", terminal.name, trail=trail, **shown)


@desk.page(MANAGE, methods=BOTH)
def add(request: HttpRequest) -> HttpResponse:
    """Choose a kind, then type the values that the bank gave."""
    kind = KindForm(request.GET if "kind" in request.GET else None)
    if not kind.is_valid():
        return _ask(request, kind, "Add a terminal", template="desk/terminals/kind.html")
    name = kind.cleaned_data["kind"]
    form = NewTerminalForm(acquirers.fields_of(name), desk.sent(request))
    typed = form.cleaned_data if form.is_valid() else {}
    if typed and _done(form, partial(_add, name, form)):
        messages.success(request, f"{typed['name']} is added. It gets payments by a route.")
        return desk.see_other("desk_terminals")
    return _ask(request, form, f"Add a terminal of the kind {name}")


def _add(kind: str, form: NewTerminalForm) -> None:
    typed = form.cleaned_data
    terms = {"merchant": typed["merchant"], "reason": typed["why"], **form.limits()}
    terminals.add(typed["name"], kind=kind, values=form.values(), **terms)


@desk.page(MANAGE, methods=BOTH)
def replace(request: HttpRequest, terminal_id: str) -> HttpResponse:
    """Replace all values of a terminal, its secrets too, which no page shows."""
    terminal = _find(terminal_id)
    if terminal.kind not in acquirers.kinds():
        raise ResourceMissing
    form = ValuesForm(acquirers.fields_of(terminal.kind), desk.sent(request), terminal=terminal)
    if form.is_valid():
        terms = {"reason": form.cleaned_data["why"], **form.limits()}
        if _done(form, partial(terminals.replace, terminal, form.values(), **terms)):
            messages.success(request, "Each process uses the new values with its next call.")
            return desk.see_other("desk_terminal", terminal.pk)
    lead = "All values are replaced, also those that are not shown: type the secrets again."
    return _ask(request, form, "Replace the values", terminal, lead=lead)


@desk.page(MANAGE, methods=BOTH)
def move(request: HttpRequest, terminal_id: str, act: str) -> HttpResponse:
    """Enable, drain or disable a terminal."""
    terminal = _find(terminal_id)
    if act not in MOVES:
        raise ResourceMissing
    status, title, lead = MOVES[act]
    form = ReasonForm(desk.sent(request))
    if form.is_valid():
        terminals.move(terminal, status, reason=form.cleaned_data["why"])
        messages.success(request, f"{terminal} is {status}.")
        return desk.see_other("desk_terminal", terminal.pk)
    return _ask(request, form, title, terminal, lead=lead)


@desk.page(MANAGE, methods=BOTH)
def check(request: HttpRequest, terminal_id: str) -> HttpResponse:
    """Ask the bank for an order that cannot exist."""
    terminal = _find(terminal_id)
    if request.method == "GET":
        lead = "The bank is asked for an order that cannot exist. Nothing is charged."
        return _ask(request, DeskForm(), "Test", terminal, lead=lead)
    with slots.for_merchant(terminal.merchant_id or terminal.pk):
        problem = terminals.problem_of(terminal)
    if problem:
        messages.error(request, problem)
    else:
        messages.success(request, "The bank answers: address, TLS and credentials are right.")
    return desk.see_other("desk_terminal", terminal.pk)


@desk.page(MANAGE, methods=BOTH)
def add_route(request: HttpRequest) -> HttpResponse:
    """Let payments that fit go to a terminal."""
    form = RouteForm(desk.sent(request), initial={"terminal": request.GET.get("terminal")})
    if form.is_valid() and _done(form, partial(_add_route, form)):
        messages.success(request, "The route counts for the next payment.")
        return desk.see_other("desk_terminals")
    return _ask(request, form, "Add a route")


def _add_route(form: RouteForm) -> None:
    typed = form.cleaned_data
    terms = {"merchant": typed["merchant"], "priority": typed["priority"], "reason": typed["why"]}
    routes.add(typed["terminal"], **terms, **form.conditions())


@desk.page(MANAGE, methods=BOTH)
def remove_route(request: HttpRequest, route_id: int) -> HttpResponse:
    """Let no more payments go by a route."""
    route = Route.objects.select_related("terminal", "merchant").filter(pk=route_id).first()
    if route is None:
        raise ResourceMissing
    form = ReasonForm(desk.sent(request))
    if form.is_valid():
        routes.remove(route, reason=form.cleaned_data["why"])
        messages.success(request, "The route is gone. Attempts stay at their terminal.")
        return desk.see_other("desk_terminals")
    return _ask(request, form, "Remove the route", lead=f"{route.terminal}: {route}")


def _done(form: ReasonForm, act: Any) -> bool:
    """Act; False with the refusal on the form."""
    try:
        act()
    except SetUpRefused as refusal:
        form.add_error(None, str(refusal))
        return False
    return True


def _find(terminal_id: str) -> Terminal:
    found = Terminal.objects.select_related("merchant").filter(pk=terminal_id).first()
    if found is None:
        raise ResourceMissing
    return found


def _ask(
    request: HttpRequest, form: Any, title: str, terminal: Terminal | None = None, **shown: Any
) -> HttpResponse:
    trail: Trail = [("Terminals", desk.address("desk_terminals"))]
    if terminal:
        trail = [*trail, (terminal.name, desk.address("desk_terminal", terminal.pk))]
    return desk.ask(request, form, title, trail, **shown)


SECTION = Section(
    "Terminals",
    [
        path("terminals/", listed, name="desk_terminals"),
        path("terminals/add/", add, name="desk_terminal_add"),
        path("terminals/routes/add/", add_route, name="desk_route_add"),
        path("terminals/routes/<int:route_id>/remove/", remove_route, name="desk_route_remove"),
        path("terminals/<str:terminal_id>/", one, name="desk_terminal"),
        path("terminals/<str:terminal_id>/values/", replace, name="desk_terminal_replace"),
        path("terminals/<str:terminal_id>/check/", check, name="desk_terminal_check"),
        path("terminals/<str:terminal_id>/<str:act>/", move, name="desk_terminal_move"),
    ],
)
