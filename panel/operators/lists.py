"""The lists of what is blocked and what rules leave alone, through `payments.risk.lists` alone."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import path

from core import clock
from core.errors import ResourceMissing
from merchants.models import Merchant
from panel.operators import desk, listing
from panel.operators.desk import Section, Trail
from panel.operators.forms import ReasonForm
from payments.intents import payer_blocks
from payments.risk import lists
from payments.risk.lists import BlockEntry, EntryUnusable
from payments.risk.models import ListEntry

VIEW, MANAGE = "risk.view_listentry", "risk.manage_lists"
FILTERS = ("merchant", "list", "kind")


class EntryForm(ReasonForm):
    """An entry: a card is named by one of its payments, so that no number is typed."""

    list = forms.ChoiceField(
        choices=[("block", "Block: refuse the payer"), ("allow", "Allow: rules leave them alone")]
    )
    kind = forms.ChoiceField(
        choices=[("card", "Card, by a payment"), ("email", "E-mail"), ("bin", "BIN, six digits")]
    )
    value = forms.CharField(
        max_length=254,
        label="Value",
        help_text="Of a card the id of a payment that it was tried for (pi_…): never its number.",
    )
    merchant = forms.CharField(
        required=False, max_length=40, label="Merchant",
        help_text="mer_… Empty: of all merchants; of a card, the payment's merchant.",
    )  # fmt: skip
    days = forms.IntegerField(
        required=False, min_value=1, max_value=3650, label="Days", help_text="Empty: it stays."
    )
    field_order = ("list", "kind", "value", "merchant", "days", "why", "seen")

    def clean_merchant(self) -> Merchant | None:
        """Return the merchant."""
        typed = self.cleaned_data["merchant"].strip()
        found = Merchant.objects.filter(id=typed).first() if typed else None
        if typed and found is None:
            raise forms.ValidationError("There is no such merchant.")
        return found

    def target(self) -> tuple[Merchant | None, BlockEntry]:
        """Return whose list gets which entry; the form is valid.

        :raises EntryUnusable: the payment is none, or another merchant's.
        """
        typed = self.cleaned_data
        merchant, value, shown = typed["merchant"], typed["value"], ""
        if typed["kind"] == "card":
            merchant, value, shown = payer_blocks.card_of(value.strip(), merchant)
        until = clock.now() + timedelta(days=typed["days"]) if typed["days"] else None
        return merchant, BlockEntry(typed["list"], typed["kind"], value, typed["why"], until, shown)


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show entries, the newest first, of those that are over too."""
    rows = ListEntry.objects.select_related("merchant", "by")
    wanted = {name: request.GET.get(name, "").strip() for name in FILTERS}
    rows = rows.filter(**{name: value for name, value in wanted.items() if value})
    shown: dict[str, Any] = {
        "found": listing.page(request, rows),
        "wanted": wanted,
        "lists": ListEntry.List.choices,
        "kinds": ListEntry.Kind.choices,
        "now": clock.now(),
    }
    return desk.show(request, "desk/lists/list.html", "Lists", **shown)


@desk.page(MANAGE, methods=("GET", "POST"))
def add(request: HttpRequest) -> HttpResponse:
    """Add an entry, or renew the one that is there."""
    at_first = {name: request.GET.get(name, "") for name in ("kind", "value", "merchant")}
    form = EntryForm(
        desk.sent(request), initial={name: value for name, value in at_first.items() if value}
    )
    if form.is_valid() and (row := _added(request, form)):
        messages.success(request, f"{row} is on the list.")
        return desk.see_other("desk_lists")
    return desk.ask(request, form, "Add an entry", _trail(), template="desk/lists/add.html")


def _added(request: HttpRequest, form: EntryForm) -> ListEntry | None:
    try:
        return lists.add(desk.operator(request), *form.target())
    except EntryUnusable as refusal:
        form.add_error("value", refusal.text)
        return None


@desk.page(MANAGE, methods=("GET", "POST"))
def remove(request: HttpRequest, entry_id: str) -> HttpResponse:
    """Take an entry off its list."""
    entry = _find(entry_id)
    form = ReasonForm(desk.sent(request))
    if form.is_valid():
        lists.remove(desk.operator(request), entry.pk, reason=form.cleaned_data["why"])
        messages.success(request, f"{entry} is off the list.")
        return desk.see_other("desk_lists")
    lead = f"{entry}: {entry.reason}"
    return desk.ask(request, form, "Remove entry", _trail(), lead=lead)


def _find(entry_id: str) -> ListEntry:
    try:
        entry = ListEntry.objects.filter(pk=ListEntry._meta.pk.to_python(entry_id)).first()
    except ValidationError:
        entry = None
    if entry is None:
        raise ResourceMissing
    return entry


def _trail() -> Trail:
    return [("Lists", desk.address("desk_lists"))]


SECTION = Section(
    "Lists",
    [
        path("lists/", listed, name="desk_lists"),
        path("lists/add/", add, name="desk_list_add"),
        path("lists/<str:entry_id>/remove/", remove, name="desk_list_remove"),
    ],
)
