"""The plans by which a merchant's payers may pay in installments (contract-terms: plan row)."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import F

from merchants.models import InstallmentPlan, Merchant


@transaction.atomic
def replace(merchant: Merchant, plans: Iterable[InstallmentPlan]) -> None:
    """Make these rows all plans of the merchant.

    :param plans: not stored yet; without a merchant.
    :raises django.core.exceptions.ValidationError: a plan that the contract does not know, or
        two for one programme and count.
    """
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    InstallmentPlan.objects.for_merchant(merchant).delete()
    for plan in plans:
        plan.merchant = merchant
        plan.full_clean()
        plan.save(force_insert=True)


def shown(merchant: Merchant) -> list[dict[str, Any]]:
    """Return the plans as the API shows them: by programme, the one for all others first."""
    rows = InstallmentPlan.objects.for_merchant(merchant).order_by(
        F("program").asc(nulls_first=True), "installments"
    )
    names = ("program", "installments", "surcharge_rate_bps", "minimum_amount")
    return [dict(row) for row in rows.values(*names)]
