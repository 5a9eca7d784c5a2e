"""Top-ups: one of them with what to write into the transfer, asked for, and canceled."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import money
from merchants.models import Member
from panel import permissions
from panel.merchants import balance_acts, calls, links, listing
from panel.merchants.balance_forms import CreateTopupForm, MoneyActForm
from panel.merchants.balance_words import TOPUP_FAILURES, TOPUPS
from panel.merchants.pages import page, show
from panel.permissions import Right
from payouts.topups import cancellations, creation, render
from payouts.topups import forms as api_forms
from payouts.topups.models import Topup
from payouts.topups.states import Initiator, TopupStatus

PATH = "/v1/topups"
# By its status, why a top-up cannot be called off.
TOO_LATE: dict[str, Any] = {
    TopupStatus.SUCCEEDED.value: _("The transfer has come."),
    TopupStatus.FAILED.value: _("It has failed already."),
    TopupStatus.CANCELED.value: _("It is canceled already."),
    TopupStatus.REVERSED.value: _("The bank has taken the transfer back."),
}


@page()
def topup(request: HttpRequest, member: Member, topup: str) -> HttpResponse:
    """Show a top-up, and how its transfer is made while it is waited for."""
    row = _find(member, topup)
    may = permissions.may(member, Right.PAY_OUT)
    shown = {
        **_head(row),
        **balance_acts.parts(member, row.id),
        "by_us": row.initiated_by == Initiator.OPERATOR,
        "may_cancel": may and not _why_not(row),
        "why_not": _why_not(row) if may else "",
        "metadata": sorted(row.metadata.items()),
        "json": render.topup(row),
        "call": calls.curl("GET", f"{PATH}/{row.id}"),
    }
    return show(request, "panel/balance/topup.html", shown)


@page("POST")
def create_topup(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for a top-up's values, and make it."""
    merchant = member.merchant
    form = CreateTopupForm(balance_acts.sent(request), merchant)

    def create() -> str:
        made = creation.create(merchant, api_forms.CreateTopupForm.read(form.draft))
        words = gettext("The top-up of %(amount)s was made. Now make the transfer.")
        messages.success(request, words % {"amount": money.written(made.amount, made.currency)})
        return made.id

    if done := balance_acts.make(request, member, form, create, page="topup"):
        return done
    fields = [("amount", "50000"), ("currency", merchant.default_currency)]
    shown = {
        **balance_acts.form_shown(request, form),
        "call": calls.curl("POST", PATH, fields),
    }
    status = balance_acts.status_of(request)
    return show(request, "panel/balance/create_topup.html", shown, status=status)


@page("POST")
def cancel_topup(request: HttpRequest, member: Member, topup: str) -> HttpResponse:
    """Say what calling a top-up off does, and do it."""
    row = _find(member, topup)
    form = MoneyActForm(balance_acts.sent(request))

    def change() -> None:
        cancellations.cancel(member.merchant, row.id)
        messages.success(request, gettext("The top-up was canceled."))

    done = links.to(member, row.id)
    if answer := balance_acts.cancel(request, member, form, change, done):
        return answer
    if form.errors:
        row = _find(member, topup)
    shown = {
        **_head(row),
        **balance_acts.form_shown(request, form),
        "why_not": _why_not(row),
        "call": calls.curl("POST", f"{PATH}/{row.id}/cancel"),
    }
    status = balance_acts.status_of(request)
    return show(request, "panel/balance/cancel_topup.html", shown, status=status)


def _find(member: Member, topup: str) -> Topup:
    found: Topup = listing.find(Topup.objects.for_merchant(member.merchant), topup)
    return found


def _head(row: Topup) -> dict[str, Any]:
    return {
        "topup": row,
        "standing": TOPUPS.get(row.status, ""),
        "failure": TOPUP_FAILURES.get(row.failure_code or "", ""),
    }


def _why_not(row: Topup) -> Any:
    return "" if row.status == TopupStatus.PENDING else TOO_LATE.get(row.status, "–")
