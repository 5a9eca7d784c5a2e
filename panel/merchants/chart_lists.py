"""The addresses of the lists of what the overview counts."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from merchants.models import Member
from panel.merchants.chart_figures import ChartFigures, Place


def payments(
    member: Member, found: ChartFigures, statuses: Sequence[str], at: Place | None = None
) -> str:
    """Return the address of the list of a period's payments, or of a day's."""
    first, last = (at.day, at.day) if at else (found.first, found.last)
    asked = {
        "currency": found.currency, "status[]": [str(one) for one in statuses],
        "created_from": first.isoformat(), "created_to": last.isoformat(),
    }  # fmt: skip
    return _address(member, "panel:payments", asked)


def in_all_currencies(
    member: Member, found: ChartFigures, page: str, statuses: Sequence[str]
) -> str:
    """Return the address of a period's list of refunds, or of disputes.

    :param page: its name; no filter of these lists knows the currency.
    """
    asked = {
        "status[]": [str(one) for one in statuses],
        "created_from": found.first.isoformat(), "created_to": found.last.isoformat(),
    }  # fmt: skip
    return _address(member, page, asked)


def _address(member: Member, page: str, asked: dict[str, Any]) -> str:
    return f"{reverse(page, args=[member.merchant_id])}?{urlencode(asked, doseq=True)}"
