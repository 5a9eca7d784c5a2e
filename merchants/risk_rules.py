"""The rules about risk as a merchant has them, over the installation's (contract-terms: risk)."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from merchants.models import Merchant, RiskRule

COLUMNS = ("rule", "currency", "deed", "threshold", "window_seconds")


@transaction.atomic
def replace(merchant: Merchant, rules: Iterable[RiskRule]) -> None:
    """Make these rows all rules that the merchant has of its own.

    :param rules: not stored yet; without a merchant.
    :raises django.core.exceptions.ValidationError: a rule that the contract does not know, or two
        for one rule and currency.
    """
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    RiskRule.objects.for_merchant(merchant).delete()
    for rule in rules:
        rule.merchant = merchant
        rule.full_clean()
        rule.save(force_insert=True)


def shown(merchant: Merchant) -> list[dict[str, Any]]:
    """Return the merchant's own rules, by name and currency."""
    rows = RiskRule.objects.for_merchant(merchant).order_by("rule", "currency")
    return [dict(row) for row in rows.values(*COLUMNS)]
