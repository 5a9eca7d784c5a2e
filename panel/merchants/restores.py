"""Restores: the times of which records may be missing, and the bank's bookings of them."""

from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from audit import reopening
from core.models import Installation
from merchants.models import Member
from panel import permissions
from panel.merchants.pages import page, show
from panel.permissions import Right

PAYOUT = "transfer_out"
TYPES: dict[str, str | Promise] = {
    "sale": _("Payment"),
    "refund": _("Refund"),
    PAYOUT: _("Payout"),
}
SHOWN_MOST = 500
# So long the overview leads to the page.
NEWS = timedelta(days=30)


@page()
def restores(request: HttpRequest, member: Member) -> HttpResponse:
    """Show what the restores of this installation cannot bring back.

    Payouts are for those who see the balance.
    """
    lost = reopening.lost_of(member.merchant)
    if not permissions.may(member, Right.SEE_BALANCE):
        lost = lost.exclude(type=PAYOUT)
    rows = list(lost[: SHOWN_MOST + 1])
    shown: dict[str, Any] = {
        "openings": reopening.openings(),
        "lost": [(row, TYPES.get(row.type, row.type)) for row in rows[:SHOWN_MOST]],
        "has_more": len(rows) > SHOWN_MOST,
        "most": SHOWN_MOST,
    }
    return show(request, "panel/restores.html", shown)


def opened_lately() -> datetime | None:
    """Return when a restored copy was opened, if that is news still."""
    rows = Installation.objects.filter(opened_at__gt=timezone.now() - NEWS)
    return rows.values_list("opened_at", flat=True).first()
