"""People: found, let in again, signed out, made owners; keys revoked. The desk shows no secret."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.functional import Promise

from core.errors import ResourceMissing
from core.folding import trimmed
from core.names import ascii_lower, email_key
from merchants import keys, people, second_factors, sign_in
from merchants.models import ApiKey, User
from merchants.team import TeamRefused
from panel import house_mails as mails
from panel.operators import desk, listing, merchants, opening
from panel.operators.desk import Section, Trail
from panel.operators.forms import OwnerForm, ReasonForm

VIEW, MANAGE = "merchants.view_user", "merchants.manage_people"


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show people, the newest first, or those whose e-mail address begins so."""
    text = trimmed(request.GET.get("q", ""))
    rows = User.objects.prefetch_related("memberships__merchant")
    if text:
        rows = rows.filter(Q(email__startswith=ascii_lower(text)) | Q(email=email_key(text)))
    found = listing.page(request, rows)
    return desk.show(request, "desk/people/list.html", "People", found=found, text=text)


@desk.page(VIEW)
def shown(request: HttpRequest, person_id: str) -> HttpResponse:
    """Show a person with their teams, whether they are locked out, and signed in where."""
    person = find(person_id)
    return desk.show(
        request,
        "desk/people/person.html",
        person.email,
        person=person,
        memberships=person.memberships.select_related("merchant").order_by("-id")[:200],
        groups=person.groups.order_by("name"),
        locked_until=sign_in.locked_until(person),
        sessions=people.count_sessions(person),
        has_second_factor=second_factors.has_one(person),
        trail=[("People", desk.address("desk_people"))],
    )


@desk.page(MANAGE, methods=("GET", "POST"))
def unlock(request: HttpRequest, person_id: str) -> HttpResponse:
    """Let a person sign in again before the half hour is over."""
    person = find(person_id)
    return act(request, person, UNLOCK, partial(people.let_in_again, person))


@desk.page(MANAGE, methods=("GET", "POST"))
def end_sessions(request: HttpRequest, person_id: str) -> HttpResponse:
    """Sign a person out everywhere."""
    person = find(person_id)
    return act(request, person, END_SESSIONS, partial(people.end_sessions, person))


@desk.page(MANAGE, methods=("GET", "POST"))
def take_off(request: HttpRequest, person_id: str) -> HttpResponse:
    """Remove the second factors of a person who lost them."""
    by, person = desk.operator(request), find(person_id)
    return act(request, person, TAKE_OFF, partial(people.take_off_second_factors, by, person))


@desk.page(MANAGE, methods=("GET", "POST"))
def revoke_key(request: HttpRequest, key_id: str) -> HttpResponse:
    """Stop a key from the next request on."""
    key = ApiKey.objects.select_related("merchant").filter(id=key_id).first()
    if key is None:
        raise ResourceMissing
    form = ReasonForm(desk.sent(request))
    if form.is_valid():
        if keys.revoke(key, reason=form.cleaned_data["why"]):
            is_sent = mails.tell_of_revoked_key(key)
            messages.success(request, f"{key} is revoked. {mails.said(is_sent)}")
        else:
            messages.info(request, "It was revoked before: nothing has changed.")
        return desk.see_other("desk_merchant", key.merchant_id)
    lead = f"{key} of {key.merchant} is refused from the next request on. There is no way back."
    return desk.ask(request, form, "Revoke key", merchants.trail_of(key.merchant), lead=lead)


@desk.page(MANAGE, methods=("GET", "POST"))
def make_owner(request: HttpRequest, merchant_id: str) -> HttpResponse:
    """Make a person an owner of a team whose last owner is lost."""
    merchant = merchants.find(merchant_id)
    form = OwnerForm(desk.sent(request))
    if form.is_valid():
        typed = form.cleaned_data
        try:
            said = opening.replace_lost_owner(merchant, typed["email"], reason=typed["why"])
        except TeamRefused as refusal:
            form.add_error("email", refusal.text)
        else:
            messages.success(request, said)
            return desk.see_other("desk_merchant", merchant.id)
    trail = merchants.trail_of(merchant)
    return desk.ask(request, form, "Make an owner", trail, lead=LEAD_OF_OWNER)


LEAD_OF_OWNER = (
    "For a team whose last owner is lost: it is refused if an owner was here within 90 days. Make"
    " sure by another way that this person speaks for the merchant: an owner may do everything"
    ' there. Without an account they get one, and choose its password by "Forgot your password?".'
)


# --- Acts on a person ---------------------------------------------------------------------------


class PersonAct(NamedTuple):
    """An act on a person that asks only why.

    :param mail: tells the person, and the others who have to know, that it was done.
    :param unchanged: the words where there was nothing to do.
    """

    title: str
    lead: str
    done: str
    mail: Promise
    unchanged: str


UNLOCK = PersonAct(
    "Unlock",
    "Their wrong passwords are forgotten, so that they may try again at once.",
    "They may sign in again.",
    mails.UNLOCKED,
    "They were not locked: nothing has changed.",
)
END_SESSIONS = PersonAct(
    "End sessions",
    "They are signed out in every browser, and may sign in again.",
    "They are signed out.",
    mails.SIGNED_OUT,
    "They were signed in nowhere: nothing has changed.",
)
TAKE_OFF = PersonAct(
    "Take off second factors",
    "Make sure by another way that it is they who ask: their password alone lets them in"
    " afterwards, to add another one. They are signed out everywhere.",
    "Their second factors are removed.",
    mails.FACTORS_REMOVED,
    "They had none: nothing has changed.",
)


def act(
    request: HttpRequest,
    person: User,
    act: PersonAct,
    change: Callable[..., bool | int],
    *,
    hear: Callable[[User], Iterable[str]] = people.owners_of_teams,
) -> HttpResponse:
    """Ask why, and act on a person; the person and others are sent a mail.

    :param change: takes a `reason`, and returns whether there was something to do.
    :param hear: the addresses of the others.
    """
    form = ReasonForm(desk.sent(request))
    if not form.is_valid():
        return desk.ask(request, form, act.title, trail_of(person), lead=act.lead)
    if change(reason=form.cleaned_data["why"]):
        is_sent = mails.tell_of_access(person, hear(person), act.mail)
        messages.success(request, f"{act.done} {mails.said(is_sent)}")
    else:
        messages.info(request, act.unchanged)
    return desk.see_other("desk_person", person.pk)


def trail_of(person: User) -> Trail:
    """Return the pages above one about a person."""
    return [
        ("People", desk.address("desk_people")),
        (person.email, desk.address("desk_person", person.pk)),
    ]


def find(person_id: str) -> User:
    """Return a person.

    :raises ResourceMissing: there is none of this number.
    """
    try:
        person = User.objects.filter(pk=User._meta.pk.to_python(person_id)).first()
    except ValidationError:
        person = None
    if person is None:
        raise ResourceMissing
    return person


SECTION = Section(
    "People",
    [
        path("people/", listed, name="desk_people"),
        path("people/<str:person_id>/", shown, name="desk_person"),
        path("people/<str:person_id>/unlock/", unlock, name="desk_person_unlock"),
        path("people/<str:person_id>/end_sessions/", end_sessions, name="desk_person_end_sessions"),
        path("people/<str:person_id>/take_off/", take_off, name="desk_person_take_off"),
        path("merchants/<str:merchant_id>/owner/", make_owner, name="desk_merchant_owner"),
        path("keys/<str:key_id>/revoke/", revoke_key, name="desk_key_revoke"),
    ],
)
