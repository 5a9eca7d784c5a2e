"""Work: one list of all that waits for operators, the oldest first; taken on and given back."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.http import urlencode
from django.utils.timesince import timesince

from cases import work
from cases.models import TakenWork
from cases.work import Piece
from core.errors import ResourceMissing
from merchants.models import User
from panel.operators import desk
from panel.operators.desk import Section
from panel.operators.forms import DeskForm
from panel.operators.work_kinds import BY_NAME, KINDS, Wanted, WorkItem, WorkKind

VIEW = "cases.view_case"
ROWS_SHOWN, PAGES_MAX = 25, 40
MINE, NOBODYS = "mine", "nobody"
# Kinds of few rows, whose pieces are looked up among all that were taken on.
UNHELD = ("terminal", "run")


class FilterForm(DeskForm):
    """The filters of the list."""

    kind = forms.ChoiceField(
        required=False, choices=[("", "Any"), *((kind.name, kind.label) for kind in KINDS)]
    )
    merchant = forms.CharField(required=False, max_length=40, label="Merchant's id")
    owner = forms.ChoiceField(
        required=False,
        choices=[("", "All"), (MINE, "Mine"), (NOBODYS, "Nobody's")],
        widget=forms.HiddenInput,
    )
    page = forms.IntegerField(
        required=False, min_value=1, max_value=PAGES_MAX, widget=forms.HiddenInput
    )


class SeenForm(DeskForm):
    """Taking on. `seen` is the id of the person who has it, as the operator was shown."""

    seen = forms.CharField(required=False, max_length=20, widget=forms.HiddenInput)


class WorkRow(NamedTuple):
    """A piece of work with its kind's label, and what the operator may do."""

    label: str
    item: WorkItem
    age: str
    holder: User | None
    is_mine: bool
    may_take: bool


# --- Pages ------------------------------------------------------------------------------------


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show what waits: all of it, the operator's own, or what no person has."""
    form = FilterForm(request.GET)
    form.is_valid()
    asked = {name: value for name, value in form.cleaned_data.items() if value}
    page = asked.pop("page", 1)
    rows = open_work(request, asked, most=page * ROWS_SHOWN + 1)
    first = (page - 1) * ROWS_SHOWN
    shown: dict[str, Any] = {
        "form": form,
        "rows": rows[first : first + ROWS_SHOWN],
        "tabs": _tabs(asked),
        "is_narrowed": bool(asked),
        "before": urlencode({**asked, "page": page - 1}) if page > 1 else None,
        "after": urlencode({**asked, "page": page + 1})
        if len(rows) > first + ROWS_SHOWN and page < PAGES_MAX
        else None,
    }
    status = 400 if form.errors else 200
    return desk.show(request, "desk/work/list.html", "Work", status, **shown)


@desk.page(VIEW, methods=("GET", "POST"))
def take(request: HttpRequest, kind: str, subject: str) -> HttpResponse:
    """Take a piece of work on; of two at once the second sees who has it."""
    item, piece = _find(request, kind, subject)
    form = SeenForm(desk.sent(request), initial={"seen": item.holder_id or ""})
    if form.is_valid():
        work.take(desk.operator(request), piece, seen=form.cleaned_data["seen"])
        messages.success(request, f"You have it: {item.told}.")
        return desk.see_other("desk_work")
    lead = f"{item.told}. It is yours until you give it back, or another person takes it over."
    return _ask(request, form, "Take on", lead)


@desk.page(VIEW, methods=("GET", "POST"))
def give_back(request: HttpRequest, kind: str, subject: str) -> HttpResponse:
    """Take a piece of work from the operator who has it."""
    item, piece = _find(request, kind, subject)
    form = SeenForm(desk.sent(request))
    if form.is_valid():
        work.give_back(desk.operator(request), piece)
        messages.success(request, f"Nobody has it now: {item.told}.")
        return desk.see_other("desk_work")
    return _ask(request, form, "Give back", f"{item.told}. Nobody has it then.")


def _ask(request: HttpRequest, form: SeenForm, title: str, lead: str) -> HttpResponse:
    return desk.ask(request, form, title, [("Work", desk.address("desk_work"))], lead=lead)


# --- Rows -------------------------------------------------------------------------------------


def open_work(request: HttpRequest, asked: dict[str, Any], *, most: int) -> list[WorkRow]:
    """Return the oldest pieces of work that a person may see.

    :param asked: `kind`, `merchant` and `owner`, where they are given.
    """
    person = desk.operator(request)
    holders = {MINE: person.pk, NOBODYS: 0}
    wanted = Wanted(
        merchant_id=asked.get("merchant", "").replace("\x00", ""),
        holder=holders.get(asked.get("owner", "")),
        most=most,
    )
    kinds = [one for one in KINDS if asked.get("kind", one.name) == one.name]
    seen = [one for one in kinds if person.has_perm(one.view)]
    found = _held([item for one in seen for item in one.items(wanted)], wanted)
    found.sort(key=lambda item: (-item.age, item.kind, item.subject))
    return list(_rows(found[:most], person))


def _rows(found: list[WorkItem], person: User) -> Iterator[WorkRow]:
    people = User.objects.in_bulk({item.holder_id for item in found if item.holder_id})
    for item in found:
        kind = BY_NAME[item.kind]
        holder = people.get(item.holder_id)
        may_take = person.has_perm(kind.take)
        age = timesince(item.since, item.since + item.age)
        yield WorkRow(kind.label, item, age, holder, item.holder_id == person.pk, may_take)


def _held(found: list[WorkItem], wanted: Wanted) -> list[WorkItem]:
    """Return pieces with the person who has each, of all or of the one who is asked for."""
    few = [item for item in found if item.kind in UNHELD]
    if not few:
        return found
    taken = TakenWork.objects.filter(kind__in=UNHELD, subject__in=[one.subject for one in few])
    holders = {(row.kind, row.subject): row.by_id for row in taken}
    found = [
        item._replace(holder_id=holders.get((item.kind, item.subject)))
        if item.kind in UNHELD
        else item
        for item in found
    ]
    return [item for item in found if wanted.holder in (None, item.holder_id or 0)]


def _find(request: HttpRequest, kind: str, subject: str) -> tuple[WorkItem, Piece]:
    """Return an open piece of work.

    :raises ResourceMissing: it is none, it is done by now, or the person may not see its kind.
    """
    known = BY_NAME.get(kind)
    if known is None or not request.user.has_perm(known.view) or not _is_name(known, subject):
        raise ResourceMissing
    found = _held(list(known.items(Wanted(subject=subject))), Wanted())
    item = next((one for one in found if one.subject == subject), None)
    if item is None:
        raise ResourceMissing
    return item, Piece(kind, subject, known.take, item.merchant)


def _is_name(kind: WorkKind, subject: str) -> bool:
    # Transfers have numbers, and a database takes nothing else for one.
    is_number = subject.isascii() and subject.isdigit() and len(subject) < 18
    return "\x00" not in subject and (kind.name != "transfer" or is_number)


def _tabs(asked: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return the choices of the owner, each with its address."""
    now = asked.get("owner", "")
    rest = {name: value for name, value in asked.items() if name != "owner"}
    names = (("", "All"), (MINE, "Mine"), (NOBODYS, "Nobody's"))
    return [
        (label, urlencode({**rest, "owner": name} if name else rest), name == now)
        for name, label in names
    ]


SECTION = Section(
    "Work",
    [
        path("work/", listed, name="desk_work"),
        path("work/<str:kind>/<str:subject>/take/", take, name="desk_work_take"),
        path("work/<str:kind>/<str:subject>/give_back/", give_back, name="desk_work_give_back"),
    ],
)
