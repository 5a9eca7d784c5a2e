"""Cases at the desk: listed, looked into, owned, noted on and decided (docs/operate/cases.md)."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Permission
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import path
from django.utils.http import urlencode

from cases import cases
from cases.models import Case
from cases.states import CaseDecision, CaseKind, CaseStatus
from core import clock, money
from core.errors import DomainError
from merchants.models import User
from panel.operators import case_evidence, desk
from panel.operators.desk import Section, Trail
from panel.operators.forms import DeskForm
from payments.deciding import decisions
from payments.deciding.decisions import GivenDecision

VIEW, RESOLVE = "cases.view_case", cases.RESOLVE
ROWS_SHOWN = 25
PAGES_MAX = 400
ANY = [("", "Any")]
MINE, NOBODYS = "mine", "nobody"
# By name, the order of the list, and how the filter calls it.
ORDERS = {
    "age": (("opened_at", "id"), "Oldest first"),
    "newest": (("-opened_at", "-id"), "Newest first"),
    "amount": (("-amount", "-id"), "Largest amount first"),
}

AFTER_CHARGE = (
    "Charged: the money is booked, and the merchant delivers. Not charged: the payer may try"
    " another card, and a later charge is given back."
)
AFTER_CAPTURE = (
    "Charged: the capture is booked, and the merchant delivers. Not charged: the payment awaits its"
    " capture again, and a later yes of the bank is booked."
)
AFTER_RELEASE = (
    "Released: the payment ends, and the bank is asked to release it once more if it still holds"
    " the money. Not released: the payment awaits its capture again."
)
AFTER_REFUND = (
    "Released: the refund has succeeded. Not released: the refund has failed, the merchant has its"
    " money again, and may refund once more; a later yes of the bank opens the case again."
)
AFTER_RETURN = (
    "Released: the money is back with the cardholder, and the bank is asked for it no more. While"
    " it is not, leave the case open: the service goes on asking."
)


class FilterForm(DeskForm):
    """The filters of the list; by default the open cases, the oldest first."""

    status = forms.ChoiceField(
        required=False, choices=[("", "Open"), ("resolved", "Resolved"), ("all", "All")]
    )
    kind = forms.ChoiceField(required=False, choices=[*ANY, *CaseKind.choices])
    owner = forms.ChoiceField(required=False, choices=[*ANY, (MINE, "Mine"), (NOBODYS, "Nobody's")])
    merchant = forms.CharField(required=False, max_length=40, label="Merchant's id")
    order = forms.ChoiceField(
        required=False, choices=[(name, told) for name, (_columns, told) in ORDERS.items()]
    )
    page = forms.IntegerField(
        required=False, min_value=1, max_value=PAGES_MAX, widget=forms.HiddenInput
    )


class DecideForm(DeskForm):
    """A decision. `seen` is the case's version that the person was shown."""

    decision = forms.ChoiceField(choices=[], widget=forms.RadioSelect)
    reason = forms.CharField(
        min_length=cases.REASON_MIN,
        max_length=cases.REASON_MAX,
        widget=forms.Textarea(attrs={"rows": 4}),
        label="Reason",
        help_text="10 to 1000 characters: whom you spoke to, and what they said. It is kept.",
    )
    seen = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, case: Case, data: Any = None) -> None:
        super().__init__(data, initial={"seen": case.version})
        offered = decisions.offered(case)
        self.fields["decision"].choices = [(one.value, one.label) for one in offered]  # type: ignore[attr-defined]

    def shown_again(self, case: Case) -> None:
        """Let the form be sent once more, by a person who has read what has changed."""
        data = cast(QueryDict, self.data).copy()
        data["seen"] = str(case.version)
        self.data = data


class NoteForm(DeskForm):
    text = forms.CharField(
        max_length=cases.NOTE_MAX, widget=forms.Textarea(attrs={"rows": 3}), label="Note"
    )


class OwnerForm(DeskForm):
    owner = forms.ChoiceField(required=False, choices=[])

    def __init__(self, case: Case, data: Any = None) -> None:
        super().__init__(data, initial={"owner": case.owner_id or ""})
        people = [(str(one.pk), one.email) for one in _who_may_decide()]
        self.fields["owner"].choices = [("", "Nobody"), *people]  # type: ignore[attr-defined]


# --- Pages ------------------------------------------------------------------------------------


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show the cases that the filters ask for, by age or by amount."""
    form = FilterForm(request.GET)
    form.is_valid()
    asked = {name: value for name, value in form.cleaned_data.items() if value}
    page = asked.pop("page", 1)
    first = (page - 1) * ROWS_SHOWN
    found = list(_rows(request, asked)[first : first + ROWS_SHOWN + 1])
    found, has_more = found[:ROWS_SHOWN], len(found) > ROWS_SHOWN
    beside = {
        "before": urlencode({**asked, "page": page - 1}) if page > 1 else None,
        "after": urlencode({**asked, "page": page + 1}) if has_more else None,
    }
    shown = [(case, money.written(case.amount, case.currency)) for case in found]
    status = 400 if form.errors else 200
    return desk.show(
        request, "desk/cases/list.html", "Cases", status, form=form, cases=shown,
        now=clock.now(), **beside,
    )  # fmt: skip


@desk.page(VIEW)
def shown(request: HttpRequest, case_id: str) -> HttpResponse:
    """Show a case with all its evidence."""
    case = _case(case_id)
    return desk.show(
        request, "desk/cases/case.html", case.get_kind_display(), case=case,
        facts=case_evidence.facts_of(case), evidence=case_evidence.of(case),
        trail=[("Cases", desk.address("desk_cases"))],
    )  # fmt: skip


@desk.page(RESOLVE, methods=("GET", "POST"))
def own(request: HttpRequest, case_id: str) -> HttpResponse:
    """Assign the case to an operator, or to none."""
    case = _case(case_id)
    form = OwnerForm(case, desk.sent(request))
    if not form.is_valid():
        return _ask(request, case, form, "Give to")
    chosen: str = form.cleaned_data["owner"]
    owner = User.objects.filter(pk=chosen).first() if chosen else None
    cases.assign(desk.operator(request), case_id, owner)
    return desk.see_other("desk_case", case_id)


@desk.page(RESOLVE, methods=("GET", "POST"))
def note(request: HttpRequest, case_id: str) -> HttpResponse:
    """Add a note."""
    case = _case(case_id)
    form = NoteForm(desk.sent(request))
    if not form.is_valid():
        return _ask(request, case, form, "Add note")
    cases.note(desk.operator(request), case_id, form.cleaned_data["text"])
    return desk.see_other("desk_case", case_id)


@desk.page(RESOLVE, methods=("GET", "POST"))
def decide(request: HttpRequest, case_id: str) -> HttpResponse:
    """Ask for decision and reason, and decide; a refusal keeps what was typed."""
    case = _case(case_id)
    form = DecideForm(case, desk.sent(request))
    refusal = None
    if form.is_valid():
        refusal = _decided(request, case, form)
        if refusal is None:
            return desk.see_other("desk_case", case_id)
        case = _case(case_id)
        form.shown_again(case)
    elif form.is_bound and not case.is_open:
        # The case offers other acts by now: the person has to hear that.
        refusal = cases.changed(case)
    if refusal:
        form.refused_status = refusal.http_status
    facts = case_evidence.facts_of(case)
    return desk.ask(
        request, form, "Decide", _trail(case), template="desk/cases/decide.html",
        case=case, facts=facts, refusal=refusal and refusal.text,
        typed=form.data.get("reason", ""), consequences=_consequences(case),
    )  # fmt: skip


def _consequences(case: Case) -> str:
    """Say what each of the decisions about money does (docs/operate/cases.md)."""
    if case.operation_id is None:
        return AFTER_CHARGE
    if case.kind == CaseKind.REVERSAL_STUCK:
        return AFTER_RETURN
    if case.operation_id.startswith("re_"):
        return AFTER_REFUND
    return AFTER_CAPTURE if CaseDecision.CHARGED in decisions.offered(case) else AFTER_RELEASE


def _decided(request: HttpRequest, case: Case, form: DecideForm) -> DomainError | None:
    typed = form.cleaned_data
    decision, operator = CaseDecision(typed["decision"]), desk.operator(request)
    word = GivenDecision(decision, typed["reason"], typed["seen"])
    try:
        if decision is CaseDecision.ACKNOWLEDGED:
            cases.acknowledge(operator, case.id, reason=word.reason, seen=word.seen)
        elif decisions.decide(operator, case.id, word).by_bank:
            messages.warning(request, "The bank has answered, and its word counts: see below.")
            return None
    except DomainError as refusal:
        return refusal
    messages.success(request, f"Decided: {decision.label}.")
    return None


def _ask(request: HttpRequest, case: Case, form: DeskForm, title: str) -> HttpResponse:
    facts = case_evidence.facts_of(case)
    return desk.ask(
        request, form, title, _trail(case), template="desk/cases/act.html", case=case, facts=facts
    )


def _trail(case: Case) -> Trail:
    return [("Cases", desk.address("desk_cases")), (case.id, desk.address("desk_case", case.id))]


# --- Rows -------------------------------------------------------------------------------------


def _case(case_id: str) -> Case:
    rows = Case.objects.select_related(
        "merchant", "owner", "decided_by", "intent", "attempt__terminal"
    )
    case: Case = rows.find(case_id)
    return case


def _rows(request: HttpRequest, asked: dict[str, Any]) -> QuerySet[Case]:
    rows = Case.objects.select_related("merchant", "owner")
    if asked.get("status") != "all":
        rows = rows.filter(status=asked.get("status", CaseStatus.OPEN))
    if "kind" in asked:
        rows = rows.filter(kind=asked["kind"])
    if "merchant" in asked:
        rows = rows.filter(merchant=asked["merchant"].replace("\x00", ""))
    if "owner" in asked:
        rows = rows.filter(owner=desk.operator(request) if asked["owner"] == MINE else None)
    columns, _told = ORDERS[asked.get("order", "age")]
    ordered: QuerySet[Case] = rows.order_by(*columns)
    return ordered


def _who_may_decide() -> QuerySet[User]:
    label, _, codename = RESOLVE.partition(".")
    may = Permission.objects.filter(content_type__app_label=label, codename=codename)
    by_right = Q(is_superuser=True) | Q(user_permissions__in=may) | Q(groups__permissions__in=may)
    people = User.objects.filter(by_right, is_staff=True, is_active=True)
    return people.order_by("email").distinct()


SECTION = Section(
    "Cases",
    [
        path("cases/", listed, name="desk_cases"),
        path("cases/<str:case_id>/", shown, name="desk_case"),
        path("cases/<str:case_id>/owner/", own, name="desk_case_owner"),
        path("cases/<str:case_id>/notes/", note, name="desk_case_note"),
        path("cases/<str:case_id>/decide/", decide, name="desk_case_decide"),
    ],
)
