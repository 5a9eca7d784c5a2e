"""The merchant's settings: what its owners change themselves, and what they ask us to change."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from merchants import accounts, installment_plans, payout_schedules, risk_rules
from merchants.models import Member, Merchant
from merchants.refusals import ChangeRefused
from panel import once
from panel.merchants import balance_words
from panel.merchants.endpoint_forms import typed
from panel.merchants.pages import page, proof_required, show
from panel.merchants.setting_forms import SettingsForm, kinds_of
from panel.merchants.setting_words import STATUSES, plan_in_words, rule_in_words


@page()
def settings(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's settings."""
    merchant = member.merchant
    shown = {
        "addresses": merchant.notice_emails or [merchant.email],
        "kinds": kinds_of(merchant),
        "language_of_mails": dict(SettingsForm.LANGUAGES).get(merchant.notice_language or "en"),
        **_ours(merchant),
    }
    return show(request, "panel/settings/settings.html", shown)


@page("POST")
@proof_required
def edit_settings(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for the display name and for the mails that the merchant wants, and keep them."""
    merchant = member.merchant
    form = SettingsForm(typed(request) if request.method == "POST" else None, merchant=merchant)
    back = reverse("panel:settings", args=[merchant.id])

    def change() -> None:
        accounts.change(merchant, form.changes)
        messages.success(request, gettext("The change was saved."))

    if request.method == "POST" and form.data and form.is_valid():
        try:
            return once.act(request, member, change, subject=merchant.id, done=back)
        except ChangeRefused as problem:
            form.refuse(problem)
    shown = {"form": form, "back": back, "token": once.token(request)}
    status = 400 if request.method == "POST" else 200
    return show(request, "panel/settings/edit.html", shown, status=status)


def _ours(merchant: Merchant) -> dict[str, Any]:
    """Return what only the operator of the service changes."""
    return {
        "status": STATUSES.get(merchant.status, merchant.status),
        "takes_charges": accounts.takes_charges(merchant),
        "is_paid_out": accounts.is_paid_out(merchant),
        "non_secure_limits": merchant.non_secure_limits.order_by("currency"),
        "negative_limits": merchant.negative_limits.order_by("currency"),
        "plans": [
            plan_in_words(row, merchant.default_currency)
            for row in installment_plans.shown(merchant)
        ],
        "rules": [rule_in_words(row) for row in risk_rules.shown(merchant)],
        "schedule": balance_words.schedule(
            payout_schedules.of(merchant), merchant.default_currency
        ),
    }
