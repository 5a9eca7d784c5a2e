"""The audit log: filtered, and verified (docs/operate/audit-log.md)."""

from datetime import date
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import path

from core import ids
from core.context import ActorKind
from core.errors import ResourceMissing
from core.names import email_key
from merchants import audit_chains, audit_tallies
from merchants.audit_chains import Problem
from merchants.audit_log import ACTIONS
from merchants.models import AuditEntry, User
from panel.operators import desk, listing
from panel.operators.desk import Section
from panel.operators.forms import DeskForm
from panel.patience import TookTooLong, limited

VIEW = "merchants.view_auditentry"
PROBLEMS_SHOWN = 100
EPOCH, DAY_SECONDS = date(1970, 1, 1), 86_400
ANY = [("", "Any")]


class FilterForm(DeskForm):
    """The filters; days are in UTC, both whole."""

    merchant = forms.CharField(required=False, max_length=40)
    person = forms.CharField(required=False, max_length=254, label="Person's e-mail")
    action = forms.ChoiceField(
        required=False, choices=[*ANY, *((one, one) for one in sorted(ACTIONS))]
    )
    actor = forms.ChoiceField(
        required=False, choices=[*ANY, *((k.value, k.value.replace("_", " ")) for k in ActorKind)]
    )
    subject = forms.CharField(required=False, max_length=2000, label="Object or request id")
    created_from = forms.DateField(
        required=False, label="From", widget=forms.DateInput(attrs={"type": "date"})
    )
    created_to = forms.DateField(
        required=False, label="To", widget=forms.DateInput(attrs={"type": "date"})
    )

    def rows(self) -> QuerySet[AuditEntry]:
        """Return the rows that match; the form is valid."""
        typed = self.cleaned_data
        rows = AuditEntry.objects.select_related("merchant")
        rows = rows.filter(_about(typed["subject"].strip()) & _of(typed["person"].strip()))
        if typed["merchant"]:
            rows = rows.filter(chain=f"merchant:{typed['merchant'].strip()}")
        for name in ("action", "actor"):
            if typed[name]:
                rows = rows.filter(**{name: typed[name]})
        if typed["created_from"]:
            rows = rows.filter(id__gte=_first_id(typed["created_from"], days=0))
        if typed["created_to"]:
            rows = rows.filter(id__lt=_first_id(typed["created_to"], days=1))
        return rows

    @property
    def key(self) -> str:
        """Return the column of the order: of one chain its numbers, which have an index."""
        return "sequence" if self.cleaned_data["merchant"] else "id"


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show the rows that the filters leave, the newest first."""
    audit_tallies.note_reading(audit_tallies.READ)
    form = FilterForm(request.GET)
    shown: dict[str, Any] = {"form": form, "found": None, "is_late": False}
    status = 400
    if form.is_valid():
        try:
            with limited():
                shown["found"] = listing.page(request, form.rows(), key=form.key)
            status = 200
        except TookTooLong:
            shown["is_late"], status = True, 503
    return desk.show(request, "desk/audit/list.html", "Audit log", status, **shown)


@desk.page(VIEW)
def entry(request: HttpRequest, entry_id: str) -> HttpResponse:
    """Show one row with all its details."""
    row = AuditEntry.objects.select_related("merchant").filter(id=entry_id).first()
    if row is None:
        raise ResourceMissing
    audit_tallies.note_reading(audit_tallies.READ)
    names = sorted({*(row.before or {}), *(row.after or {})})
    changes = [(name, _value(row.before, name), _value(row.after, name)) for name in names]
    trail = [("Audit log", desk.address("desk_audit"))]
    return desk.show(
        request, "desk/audit/entry.html", row.action, row=row, changes=changes, trail=trail
    )


@desk.page(VIEW, methods=("GET", "POST"))
def verify(request: HttpRequest) -> HttpResponse:
    """Walk every chain, and say what was tampered with; it only reads."""
    problems: list[Problem] = []

    def note(problem: Problem) -> None:
        if len(problems) < PROBLEMS_SHOWN:
            problems.append(problem)

    walked = None
    if request.method == "POST":
        audit_tallies.note_reading(audit_tallies.VERIFIED)
        walked = audit_chains.verify(tell=note)
    shown: dict[str, Any] = {"walked": walked, "problems": problems}
    trail = [("Audit log", desk.address("desk_audit"))]
    return desk.show(
        request, "desk/audit/verify.html", "Verify the audit log", trail=trail, **shown
    )


def _about(text: str) -> Q:
    return Q(request_id=text) if text.startswith("req_") else Q(subject=text) if text else Q()


def _of(email: str) -> Q:
    """Return what happened to a person's account, and what the person did."""
    if not email:
        return Q()
    pk = User.objects.filter(email=email_key(email)).values_list("pk", flat=True)
    # Not a sub-select inside of an OR: no index would be used.
    known = pk.first() or 0
    people = (ActorKind.USER.value, ActorKind.OPERATOR.value)
    return Q(chain=f"user:{known}") | Q(actor__in=people, actor_id=str(known))


def _first_id(day: date, *, days: int) -> str:
    """Return where the ids of a day begin: an id has its moment in it (real time)."""
    seconds = (day - EPOCH).days * DAY_SECONDS + days * DAY_SECONDS
    return f"aud_{ids.base62(max(0, seconds) * 1000, ids.TIME_CHARACTERS)}"


def _value(values: dict[str, Any] | None, name: str) -> str:
    found = (values or {}).get(name)
    return "–" if found is None else str(found)


SECTION = Section(
    "Audit log",
    [
        path("audit/", listed, name="desk_audit"),
        path("audit/verify/", verify, name="desk_audit_verify"),
        path("audit/<str:entry_id>/", entry, name="desk_audit_entry"),
    ],
)
