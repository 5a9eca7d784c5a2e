"""Payouts: one of them, asked for by a form, and canceled as long as it was not sent."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import money
from ledger import balance
from ledger.models import Run
from merchants.models import Member
from panel import permissions
from panel.merchants import balance_acts, calls, links, listing
from panel.merchants.balance_forms import CreatePayoutForm, MoneyActForm
from panel.merchants.balance_words import FAILURES, PAYOUTS, masked
from panel.merchants.pages import page, show
from panel.permissions import Right
from payouts import cancellations, creation, render
from payouts import forms as api_forms
from payouts.models import Payout
from payouts.states import PayoutStatus

PATH = "/v1/payouts"
# By its status, why a payout cannot be called off.
TOO_LATE: dict[str, Any] = {
    PayoutStatus.IN_TRANSIT.value: _("It has left for the bank."),
    PayoutStatus.PAID.value: _("The money has arrived."),
    PayoutStatus.FAILED.value: _("It has failed already: the money is available again."),
    PayoutStatus.CANCELED.value: _("It is canceled already."),
}


@page()
def payout(request: HttpRequest, member: Member, payout: str) -> HttpResponse:
    """Show a payout."""
    row = _find(member, payout)
    may = permissions.may(member, Right.PAY_OUT)
    shown = {
        **_head(row),
        **balance_acts.parts(member, row.id),
        "run": _run_before(row),
        "may_cancel": may and not _why_not(row),
        "why_not": _why_not(row) if may else "",
        "metadata": sorted(row.metadata.items()),
        "json": render.payout(row),
        "call": calls.curl("GET", f"{PATH}/{row.id}"),
    }
    return show(request, "panel/balance/payout.html", shown)


@page("POST")
def create_payout(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for a payout's values, and make it."""
    merchant = member.merchant
    form = CreatePayoutForm(balance_acts.sent(request), merchant)

    def create() -> str:
        made = creation.create(merchant, api_forms.CreatePayoutForm.read(form.draft))
        words = gettext("The payout of %(amount)s was made.")
        messages.success(request, words % {"amount": money.written(made.amount, made.currency)})
        return made.id

    if done := balance_acts.make(request, member, form, create, page="payout"):
        return done
    fields = [("amount", "5000"), ("currency", merchant.default_currency)]
    shown = {
        **balance_acts.form_shown(request, form),
        "available": balance.shown(merchant)["available"],
        "call": calls.curl("POST", PATH, fields),
    }
    status = balance_acts.status_of(request)
    return show(request, "panel/balance/create_payout.html", shown, status=status)


@page("POST")
def cancel_payout(request: HttpRequest, member: Member, payout: str) -> HttpResponse:
    """Say what calling a payout off does, and do it."""
    row = _find(member, payout)
    form = MoneyActForm(balance_acts.sent(request))

    def change() -> None:
        cancellations.cancel(member.merchant, row.id)
        messages.success(request, gettext("The payout was canceled. Its money is available again."))

    done = links.to(member, row.id)
    if answer := balance_acts.cancel(request, member, form, change, done):
        return answer
    if form.errors:
        row = _find(member, payout)
    shown = {
        **_head(row),
        **balance_acts.form_shown(request, form),
        "why_not": _why_not(row),
        "call": calls.curl("POST", f"{PATH}/{row.id}/cancel"),
    }
    status = balance_acts.status_of(request)
    return show(request, "panel/balance/cancel_payout.html", shown, status=status)


def _find(member: Member, payout: str) -> Payout:
    found: Payout = listing.find(Payout.objects.for_merchant(member.merchant), payout)
    return found


def _head(row: Payout) -> dict[str, Any]:
    return {
        "payout": row,
        "standing": PAYOUTS.get(row.status, ""),
        "failure": FAILURES.get(row.failure_code or "", ""),
        "account": masked(row.iban),
    }


def _why_not(row: Payout) -> Any:
    return "" if row.status == PayoutStatus.PENDING else TOO_LATE.get(row.status, "–")


def _run_before(row: Payout) -> Run | None:
    """Return the settlement that a payout by schedule follows; None if it was asked for."""
    if row.scheduled_on is None:
        return None
    runs = Run.objects.for_merchant(row.merchant).filter(
        currency=row.currency, date__lte=row.scheduled_on
    )
    found: Run | None = runs.order_by("-date").first()
    return found
