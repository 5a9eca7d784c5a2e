"""The lists of payments, refunds and disputes, narrowed by the filters of the API's lists."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from core.rest.lists import Page
from merchants.models import Member
from panel import permissions
from panel.merchants import calls, dispute_rows, dispute_tiles, list_pages, row_words
from panel.merchants.list_pages import ListPage
from panel.merchants.list_ways import StatusTab
from panel.merchants.money_filters import DisputeForm, PaymentForm, RefundForm
from panel.merchants.pages import page
from panel.permissions import Right
from payments.disputes import render as dispute_render
from payments.disputes.states import ANSWERABLE, DisputeStatus
from payments.intents.models import PaymentIntent
from payments.intents.states import PaymentStatus
from payments.refunds.models import Refund
from payments.refunds.states import RefundStatus


def _reasons(member: Member, found: Page) -> dict[str, Any]:
    dispute_rows.add(member, found.rows)
    return {"tiles": dispute_tiles.of(member) if found.rows else []}


def _payers(member: Member, found: Page) -> dict[str, Any]:
    row_words.add(member, found.rows)
    return {}


PAYMENTS = ListPage(
    "payments", PaymentForm, "panel/payments/list.html", "/v1/payment_intents", is_counted=True,
    words=_payers,
    statuses=(
        PaymentStatus.SUCCEEDED, PaymentStatus.REQUIRES_CAPTURE, PaymentStatus.PROCESSING,
        PaymentStatus.REQUIRES_ACTION, PaymentStatus.REQUIRES_PAYMENT_METHOD,
        PaymentStatus.REQUIRES_CONFIRMATION, PaymentStatus.CANCELED,
    ),
)  # fmt: skip
REFUNDS = ListPage(
    "refunds", RefundForm, "panel/refunds/list.html", "/v1/refunds", is_counted=True,
    statuses=RefundStatus.values,
)  # fmt: skip
DISPUTES = ListPage(
    "disputes", DisputeForm, "panel/disputes/list.html", "/v1/disputes", is_counted=True,
    words=_reasons,
    statuses=(
        StatusTab(_("Needs an answer"), ANSWERABLE, sort="evidence_due_by"),
        StatusTab(
            _("Under review"), (DisputeStatus.UNDER_REVIEW, DisputeStatus.WARNING_UNDER_REVIEW)
        ),
        StatusTab(_("Won"), (DisputeStatus.WON,)), StatusTab(_("Lost"), (DisputeStatus.LOST,)),
        DisputeStatus.WARNING_CLOSED,
    ),
)  # fmt: skip


@page()
def payments(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's payments, or how the first one is made."""
    rows, first = PaymentIntent.objects.for_merchant(member.merchant), _first_call(member)
    return list_pages.answer(request, member, PAYMENTS, rows, first_call=first)


@page()
def refunds(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's refunds."""
    return list_pages.answer(request, member, REFUNDS, Refund.objects.for_merchant(member.merchant))


@page()
def disputes(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's disputes and inquiries."""
    rows = dispute_render.DISPUTES.for_merchant(member.merchant)
    may_answer = permissions.may(member, Right.MOVE_MONEY)
    return list_pages.answer(request, member, DISPUTES, rows, may_answer=may_answer)


def _first_call(member: Member) -> str:
    """Return the call that makes a first payment; nothing in live, where no test card is taken."""
    if settings.LIVEMODE:
        return ""
    return calls.curl("POST", *calls.first_payment(member.merchant.default_currency))
