"""The audit log of a merchant: who changed what, from where, and what was there before."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.context import ActorKind
from core.querysets import MerchantRows
from core.rest.lists import Page
from merchants import audit_tallies
from merchants.filters import AUDIT_LOG
from merchants.models import AuditEntry, Member, Merchant, User
from panel import audit_words
from panel.audit_words import in_words
from panel.merchants import links, list_pages, listing
from panel.merchants.differences import differences
from panel.merchants.list_forms import AnyChoice, ListForm
from panel.merchants.list_pages import ListPage
from panel.merchants.pages import page, show

# Their subject is a person, by the number of the account.
OF_PEOPLE = "member."
HOUSE: dict[str, str | Promise] = {
    ActorKind.OPERATOR: _("An operator of this installation"),
    ActorKind.COMMAND: _("An operator of this installation"),
    ActorKind.SYSTEM: _("The service"),
}


class AuditForm(ListForm):
    spec = AUDIT_LOG
    action = AnyChoice(
        label=_("Action"),
        required=False,
        choices=lambda: [("", _("All actions")), *audit_words.WORDS.items()],
    )
    person = forms.CharField(
        label=_("Person"),
        required=False,
        help_text=_("E-mail address, or the name of an API key."),
    )
    object = forms.CharField(
        label=_("Object"), required=False, help_text=_("An id; or the id of a request, req_….")
    )
    field_order = ("action", "person", "object")


class AuditRow(NamedTuple):
    """A row as people read it.

    :param who: by whom; all operators look the same.
    :param key: the id of the API key that it was, if it was one.
    :param subject: of a person the e-mail address.
    :param address: the client's; nothing of operators.
    """

    entry: AuditEntry
    words: str | Promise
    who: str | Promise
    key: str
    subject: str
    subject_url: str
    address: str


def _rows(member: Member, found: Page) -> dict[str, Any]:
    return {"rows": as_shown(member, found.rows)}


ROWS = ListPage("audit_log", AuditForm, "panel/audit/list.html", words=_rows)


@page()
def listed(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the rows of the merchant's chain that the filters leave, the newest first."""
    audit_tallies.note_reading(audit_tallies.READ, member.merchant)
    return list_pages.answer(request, member, ROWS, rows_of(member.merchant))


@page()
def entry(request: HttpRequest, member: Member, entry: str) -> HttpResponse:
    """Show one row with what was there before and after."""
    row = listing.find(rows_of(member.merchant), entry)
    audit_tallies.note_reading(audit_tallies.READ, member.merchant)
    [seen] = as_shown(member, [row])
    before, after = row.before or {}, row.after or {}
    names = {**before, **after}
    shown = {
        "row": seen,
        "changes": differences({name: before.get(name) for name in names}, after),
        "request_url": links.to(member, row.request_id),
        # The words of an operator are for operators.
        "reason": row.reason if row.actor not in HOUSE else None,
    }
    return show(request, "panel/audit/entry.html", shown)


def rows_of(merchant: Merchant) -> MerchantRows:
    """Return the rows of a merchant's chain: by its name, which has the index."""
    return AuditEntry.objects.for_merchant(merchant).filter(chain=f"merchant:{merchant.id}")


def as_shown(member: Member, rows: Iterable[AuditEntry]) -> list[AuditRow]:
    """Return rows as people read them; one statement for all people in them."""
    rows = list(rows)
    numbers = {row.subject for row in rows if row.action.startswith(OF_PEOPLE)}
    known = User.objects.filter(pk__in=[int(one) for one in numbers if one.isdecimal()])
    people = {str(pk): email for pk, email in known.values_list("pk", "email")}
    return [_shown(member, row, people) for row in rows]


def _shown(member: Member, row: AuditEntry, people: dict[str, str]) -> AuditRow:
    is_of_the_house = row.actor in HOUSE
    subject = people.get(row.subject, row.subject) if row.action.startswith(OF_PEOPLE) else ""
    return AuditRow(
        entry=row,
        words=in_words(row.action),
        who=HOUSE[row.actor] if is_of_the_house else row.actor_name or row.actor_id or "",
        key=row.actor_id or "" if row.actor == ActorKind.API_KEY else "",
        subject=subject or row.subject,
        subject_url=links.to(member, row.subject),
        address="" if is_of_the_house else row.address or "",
    )
