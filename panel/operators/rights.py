"""Operators: invited, put into groups, and switched off; they cannot raise their own rights."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path

from core.errors import ResourceMissing
from merchants import operator_rights, operators, people, second_factors
from merchants.models import OperatorInvitation, User
from merchants.operator_rights import OperatorRefused
from merchants.operators import InvitedBefore
from merchants.team import TeamRefused
from panel import house_mails as mails
from panel.operators import desk, listing
from panel.operators import people as pages
from panel.operators.desk import Section
from panel.operators.forms import GroupsForm, InviteForm, ReasonForm
from panel.operators.people import PersonAct

VIEW, MANAGE, SWITCH = pages.VIEW, operators.MANAGE, operators.MANAGE_PEOPLE


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show the operators, the newest first, and the invitations that are open."""
    rows = User.objects.filter(is_staff=True).prefetch_related("groups")
    found = listing.page(request, rows)
    secured = second_factors.people_with_one([row.pk for row in found.rows])
    shown: dict[str, Any] = {
        "found": found,
        "secured": secured,
        "open": operators.open_invitations().select_related("invited_by").order_by("-id"),
    }
    return desk.show(request, "desk/operators/list.html", "Operators", **shown)


@desk.page(MANAGE, methods=("GET", "POST"))
def invite(request: HttpRequest) -> HttpResponse:
    """Invite a person, who chooses a password of their own or signs in with the one they have."""
    by = desk.operator(request)
    sent = desk.sent(request)
    form = InviteForm(operator_rights.groups_to_give(by), sent)
    if form.is_valid() and _is_invited(request, by, form):
        return desk.see_other("desk_operators")
    lead = "They get a mail with a link, which works once within seven days."
    return _ask(request, form, "Invite an operator", lead)


def _is_invited(request: HttpRequest, by: User, form: InviteForm) -> bool:
    typed = form.cleaned_data
    terms = {"invitation_id": typed["act"], "reason": typed["why"]}
    try:
        invitation, token = operators.invite(by, typed["email"], typed["groups"], **terms)
    except InvitedBefore as refusal:
        messages.info(request, refusal.text)
        return True
    except (OperatorRefused, TeamRefused) as refusal:
        form.add_error(refusal.param if refusal.param in form.fields else None, refusal.text)
        return False
    is_sent = mails.invite_operator(invitation, token)
    messages.success(request, f"{invitation.email} is invited. {mails.said(is_sent)}")
    return True


@desk.page(MANAGE, methods=("GET", "POST"))
def withdraw(request: HttpRequest, invitation_id: str) -> HttpResponse:
    """End an open invitation."""
    row = OperatorInvitation.objects.filter(pk=invitation_id).first()
    if row is None:
        raise ResourceMissing
    form = ReasonForm(desk.sent(request))
    if form.is_valid():
        if operators.withdraw(desk.operator(request), row, reason=form.cleaned_data["why"]):
            is_sent = mails.tell_of_withdrawn(row)
            messages.success(request, f"{row.email} is invited no more. {mails.said(is_sent)}")
        else:
            messages.info(request, "It was not open any more: nothing has changed.")
        return desk.see_other("desk_operators")
    lead = f"The link that {row.email} was sent leads to nothing any more."
    return _ask(request, form, "Withdraw invitation", lead)


@desk.page(MANAGE, methods=("GET", "POST"))
def choose_groups(request: HttpRequest, person_id: str) -> HttpResponse:
    """Put an operator into other groups; in none they are an operator no more."""
    by, person = desk.operator(request), pages.find(person_id)
    operator_rights.require_not_above(by, person)
    now = operator_rights.names_of(person)
    sent = desk.sent(request)
    seen = operator_rights.seen_of(person)
    form = GroupsForm(operator_rights.groups_to_give(by), sent, groups=now, seen=seen)
    if form.is_valid() and _are_chosen(request, by, person, form):
        return desk.see_other("desk_person", person.pk)
    lead = "They are signed out everywhere. In no group they are an operator no more."
    return desk.ask(request, form, "Choose groups", pages.trail_of(person), lead=lead)


def _are_chosen(request: HttpRequest, by: User, person: User, form: GroupsForm) -> bool:
    typed = form.cleaned_data
    terms = {"seen": typed["seen"], "reason": typed["why"]}
    try:
        is_changed = operators.set_groups(by, person, typed["groups"], **terms)
    except OperatorRefused as refusal:
        form.add_error(None, refusal.text)
        return False
    if is_changed:
        is_sent = mails.tell_of_access(person, _others(person), mails.RIGHTS_CHANGED)
        messages.success(request, f"Their groups are changed. {mails.said(is_sent)}")
    else:
        messages.info(request, "They were in these groups: nothing has changed.")
    return True


@desk.page(SWITCH, methods=("GET", "POST"))
def switch_off(request: HttpRequest, person_id: str) -> HttpResponse:
    """Let a person sign in no more."""
    by, person = desk.operator(request), pages.find(person_id)
    change = partial(operators.switch_off, by, person)
    return pages.act(request, person, SWITCH_OFF, change, hear=_others)


@desk.page(SWITCH, methods=("GET", "POST"))
def switch_on(request: HttpRequest, person_id: str) -> HttpResponse:
    """Let a person sign in again who was switched off."""
    by, person = desk.operator(request), pages.find(person_id)
    change = partial(operators.switch_on, by, person)
    return pages.act(request, person, SWITCH_ON, change, hear=_others)


SWITCH_OFF = PersonAct(
    "Switch off",
    "They are signed out everywhere, and may not sign in until somebody switches them on.",
    "They are switched off.",
    mails.SWITCHED_OFF,
    "They were switched off: nothing has changed.",
)
SWITCH_ON = PersonAct(
    "Switch on",
    "They may sign in again, with the password and the second factors that they have.",
    "They are switched on.",
    mails.SWITCHED_ON,
    "They were not switched off: nothing has changed.",
)


def _others(person: User) -> list[str]:
    """Return the addresses of those who hear of a change of an operator, or of the switch."""
    return sorted({*people.owners_of_teams(person), *operator_rights.watchers()} - {person.email})


def _ask(request: HttpRequest, form: ReasonForm, title: str, lead: str) -> HttpResponse:
    trail = [("Operators", desk.address("desk_operators"))]
    return desk.ask(request, form, title, trail, lead=lead)


SECTION = Section(
    "Operators",
    [
        path("operators/", listed, name="desk_operators"),
        path("operators/invite/", invite, name="desk_operator_invite"),
        path("operators/<str:invitation_id>/withdraw/", withdraw, name="desk_operator_withdraw"),
        path("people/<str:person_id>/groups/", choose_groups, name="desk_person_groups"),
        path("people/<str:person_id>/switch_off/", switch_off, name="desk_person_switch_off"),
        path("people/<str:person_id>/switch_on/", switch_on, name="desk_person_switch_on"),
    ],
)
