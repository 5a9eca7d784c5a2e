"""One refund: how far it is, of which payment, and what it did to the balance."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from merchants.models import Member
from panel import permissions
from panel.merchants import booked, details, listing
from panel.merchants.pages import page
from panel.merchants.payment_words import FAILED_REFUNDS, REFUND_REASONS
from payments.refunds import render
from payments.refunds.models import Refund
from payments.refunds.states import PendingReason, RefundStatus

# By the status of a refund: what it means for the cardholder.
STANDINGS: dict[str, Any] = {
    RefundStatus.PENDING.value: _("It is at the bank, or on its way there."),
    RefundStatus.SUCCEEDED.value: _("The bank has given the money back to the card."),
    RefundStatus.FAILED.value: _("The money did not go back: it is in your balance again."),
    RefundStatus.CANCELED.value: _("It was called off before it was sent."),
}
WAITING: dict[str, Any] = {
    PendingReason.INSUFFICIENT_FUNDS.value: _("It waits until your balance suffices."),
    PendingReason.BANK_DAY_OPEN.value: _("It waits for the end of the bank's day."),
}


@page()
def refund(request: HttpRequest, member: Member, refund: str) -> HttpResponse:
    """Show a refund."""
    rows = Refund.objects.for_merchant(member.merchant).select_related("intent")
    row: Refund = listing.find(rows, refund)
    may_see = permissions.may_open(member, "balance")
    moved = booked.parts(member, row.id) if may_see else {"told": details.events(member, row.id)}
    return details.answer(
        request, "panel/refunds/refund.html", row, "/v1/refunds",
        refund=row,
        payment=row.intent,
        standing=WAITING.get(row.pending_reason or "") or STANDINGS.get(row.status, ""),
        failure=FAILED_REFUNDS.get(row.failure_reason or "", ""),
        reason=REFUND_REASONS.get(row.reason or "", row.reason),
        may_see_balance=may_see,
        json=render.refund(row),
        **moved,
    )  # fmt: skip
