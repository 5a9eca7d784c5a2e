"""The merchant's settings: what its owners change themselves, and what they ask us to change."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from core import money
from merchants import accounts, installment_plans, payout_schedules, risk_rules
from merchants.models import Member, Merchant
from merchants.models.risk import RuleEffect, RuleName
from merchants.states import MerchantStatus
from panel import once
from panel.merchants import acts, balance_words
from panel.merchants.pages import page, proof_required, show
from panel.merchants.setting_forms import SettingsForm, kinds_of


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
    form = SettingsForm(acts.sent(request), merchant=merchant)
    back = reverse("panel:settings", args=[merchant.id])

    def change() -> None:
        accounts.change(merchant, form.changes)
        messages.success(request, gettext("The change was saved."))

    def act() -> HttpResponse:
        return once.act(request, member, change, subject=merchant.id, done=back)

    return acts.done(request, form, act) or acts.ask(
        request, "panel/settings/edit.html", form, back=back
    )


def _ours(merchant: Merchant) -> dict[str, Any]:
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


STATUSES: dict[str, Any] = {
    MerchantStatus.PENDING.value: _("Not approved yet: it takes no payments"),
    MerchantStatus.ACTIVE.value: _("Active"),
    MerchantStatus.RESTRICTED.value: _("Restricted: it takes no payments, and is not paid out"),
    MerchantStatus.CLOSED.value: _("Closed"),
}
RULES: dict[str, Any] = {
    RuleName.BLOCK_LIST.value: _("Cards and e-mails on a block list"),
    RuleName.CARD_VELOCITY.value: _("Many tries with one card"),
    RuleName.CARD_DECLINES.value: _("Many declines of one card"),
    RuleName.EMAIL_VELOCITY.value: _("Many tries with one e-mail"),
    RuleName.EMAIL_CARDS.value: _("Many cards with one e-mail"),
    RuleName.CARD_TESTING.value: _("Cards that are being tested"),
    RuleName.ADDRESS_DECLINES.value: _("Many declines from one network"),
    RuleName.COUNTRY_MISMATCH.value: _("A card of another country than the address"),
    RuleName.AMOUNT.value: _("A high amount"),
}
DEEDS: dict[str, Any] = {
    RuleEffect.BLOCK.value: _("is blocked"),
    RuleEffect.AUTHENTICATE.value: _("needs 3-D Secure"),
    RuleEffect.REVIEW.value: _("is looked at by a person"),
    RuleEffect.OFF.value: _("is let through"),
}


def plan_in_words(plan: dict[str, Any], currency: str) -> str:
    """Return an installment plan in a line.

    :param plan: as the API shows it.
    """
    count = plan["installments"]
    parts = [
        (plan["program"] or gettext("All cards")).capitalize(),
        ngettext("%(count)s installment", "%(count)s installments", count) % {"count": count},
    ]
    if rate := plan["surcharge_rate_bps"]:
        percent = number_format(rate / 100, decimal_pos=2)
        parts.append(gettext("surcharge %(percent)s %%") % {"percent": percent})
    if least := plan["minimum_amount"]:
        parts.append(gettext("from %(amount)s on") % {"amount": money.written(least, currency)})
    return " · ".join(parts)


def rule_in_words(row: dict[str, Any]) -> str:
    """Return a rule about risk in a line: whatever it hits, and the consequence.

    :param row: as `merchants.risk_rules` shows it.
    """
    word = str(RULES.get(row["rule"], row["rule"]))
    most = row["threshold"]
    if most is not None:
        limit = money.written(most, row["currency"]) if row["currency"] else str(most)
        word += f" ({limit})"
    return f"{word}: {DEEDS.get(row['deed'], row['deed'])}"
