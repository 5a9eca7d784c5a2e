"""One dispute: how long there is, what helps, evidence as a draft, a last look, and acceptance."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from core import clock
from merchants.models import Member
from panel import once, permissions
from panel.merchants import acts, calls, details, listing, waiting
from panel.merchants.acts import Refusable
from panel.merchants.dispute_words import EVIDENCE, HELPS, REASONS, REFUSALS, STANDINGS
from panel.merchants.pages import page
from panel.permissions import Right
from payments.disputes import disputes, evidence, render
from payments.disputes.forms import CloseDisputeForm, UpdateDisputeForm
from payments.disputes.models import Dispute
from payments.disputes.states import ANSWERABLE, OPEN_INQUIRY, DisputeStatus

# Texts that are longer than a line.
LONG = (
    "product_description", "billing_address", "shipping_address", "refund_policy",
    "cancellation_policy", "access_activity_log", "uncategorized_text",
)  # fmt: skip


class DisputeActForm(Refusable):
    """A form that acts on a dispute."""

    use_required_attribute = False

    words = REFUSALS

    def __init__(self, data: Any, dispute: Dispute) -> None:
        self.dispute = dispute
        super().__init__(data, initial=dispute.evidence)


class EvidenceForm(DisputeActForm):
    """The texts of a dispute, as they are kept so far."""

    def __init__(self, data: Any, dispute: Dispute) -> None:
        super().__init__(data, dispute)
        first = HELPS.get(dispute.reason, ("", ()))[1]
        for key in (*first, *(one for one in evidence.KEYS if one not in first)):
            widget = forms.Textarea(attrs={"rows": 3}) if key in LONG else forms.TextInput()
            self.fields[key] = forms.CharField(label=EVIDENCE[key], required=False, widget=widget)
        self.first = first

    @property
    def helpful(self) -> list[forms.BoundField]:
        return [self[key] for key in self.first]

    @property
    def others(self) -> list[forms.BoundField]:
        return [self[key] for key in self.fields if key not in self.first]


@page()
def dispute(request: HttpRequest, member: Member, dispute: str) -> HttpResponse:
    """Show a dispute."""
    row = _find(member, dispute)
    may = permissions.may(member, Right.MOVE_MONEY)
    return details.answer(
        request, "panel/disputes/dispute.html", row, "/v1/disputes",
        **_shown(row),
        may_act=may and _is_answerable(row),
        may_close=may and _is_closable(row),
        json=render.dispute(row),
    )  # fmt: skip


@page("POST")
def dispute_evidence(request: HttpRequest, member: Member, dispute: str) -> HttpResponse:
    """Ask for evidence, and keep it as a draft (`then` `look`: and lead to the last look)."""
    row = _find(member, dispute)
    form = EvidenceForm(acts.sent(request), row)

    def change() -> None:
        texts = {key: form.cleaned_data[key] or None for key in evidence.KEYS}
        disputes.update(member.merchant, row.id, UpdateDisputeForm.read({"evidence": texts}))
        messages.success(request, gettext("The draft was kept. The bank has not got it yet."))

    return _answer(request, member, form, change, name="dispute_evidence")


@page("POST")
def submit_dispute(request: HttpRequest, member: Member, dispute: str) -> HttpResponse:
    """Show the evidence once more, and submit it to the bank."""
    row = _find(member, dispute)

    def change() -> None:
        disputes.update(member.merchant, row.id, UpdateDisputeForm.read({"submit": True}))
        messages.success(request, gettext("The evidence was submitted. The bank decides."))

    form = DisputeActForm(acts.sent(request), row)
    return _answer(request, member, form, change, name="submit_dispute")


@page("POST")
def accept_dispute(request: HttpRequest, member: Member, dispute: str) -> HttpResponse:
    """Say what accepting costs, and accept: the cardholder keeps the money."""
    row = _find(member, dispute)

    def change() -> None:
        CloseDisputeForm.read({})
        disputes.close(member.merchant, row.id)
        messages.success(request, gettext("The dispute was accepted."))

    form = DisputeActForm(acts.sent(request), row)
    return _answer(request, member, form, change, name="accept_dispute")


def _find(member: Member, dispute: str) -> Dispute:
    found: Dispute = listing.find(render.DISPUTES.for_merchant(member.merchant), dispute)
    return found


def _answer(
    request: HttpRequest,
    member: Member,
    form: DisputeActForm,
    change: Callable[[], None],
    *,
    name: str,
) -> HttpResponse:
    row = form.dispute
    looks = name == "dispute_evidence" and request.POST.get("then") == "look"
    way_on = reverse(
        "panel:submit_dispute" if looks else "panel:dispute", args=[member.merchant_id, row.id]
    )
    if answer := acts.done(request, form, lambda: once.run(request, member, change, done=way_on)):
        return answer
    if form.errors:
        row = _find(member, row.id)
    shown = {
        **_shown(row),
        "is_possible": _is_closable(row) if name == "accept_dispute" else _is_answerable(row),
        "call": calls.curl("POST", f"/v1/disputes/{row.id}"),
    }
    return acts.ask(request, f"panel/disputes/{name}.html", form, **shown)


def _shown(row: Dispute) -> dict[str, Any]:
    now, until = clock.now(), row.evidence_due_by
    return {
        "dispute": row,
        "time_left": waiting.left(until, now) if until > now else "",
        "is_open": row.status in (*ANSWERABLE, *OPEN_INQUIRY),
        "is_answerable": _is_answerable(row),
        "reason": REASONS.get(row.reason, row.reason),
        "standing": STANDINGS.get(row.status, ""),
        "help": HELPS.get(row.reason, ("", ()))[0],
        "texts": [(EVIDENCE[key], row.evidence[key]) for key in evidence.KEYS
                  if row.evidence.get(key)],
        "is_inquiry": row.status.startswith("warning_"),
    }  # fmt: skip


def _is_answerable(row: Dispute) -> bool:
    return row.status in ANSWERABLE and clock.now() < row.evidence_due_by


def _is_closable(row: Dispute) -> bool:
    return row.status == DisputeStatus.NEEDS_RESPONSE or row.status in OPEN_INQUIRY
