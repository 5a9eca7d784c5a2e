"""Labels of a merchant's terms, as the settings show them."""

from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from core import money
from merchants.models.risk import RuleEffect, RuleName
from merchants.states import MerchantStatus

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
