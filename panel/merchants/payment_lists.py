"""The lists of payments, refunds and disputes, narrowed by the filters of the API's lists."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from core.rest.lists import Page
from merchants.models import Member
from panel.merchants import calls, list_pages
from panel.merchants.dispute_words import REASONS
from panel.merchants.list_pages import ListPage
from panel.merchants.money_filters import DisputeForm, PaymentForm, RefundForm
from panel.merchants.pages import page
from payments.disputes import render as dispute_render
from payments.intents.models import PaymentIntent
from payments.refunds.models import Refund


def _reasons(_member: Member, found: Page) -> dict[str, Any]:
    for row in found.rows:
        row.reason_word = REASONS.get(row.reason or "", "")
    return {}


PAYMENTS = ListPage(
    "payments", PaymentForm, "panel/payments/list.html", "/v1/payment_intents", is_counted=True
)
REFUNDS = ListPage("refunds", RefundForm, "panel/refunds/list.html", "/v1/refunds", is_counted=True)
DISPUTES = ListPage(
    "disputes", DisputeForm, "panel/disputes/list.html", "/v1/disputes", is_counted=True,
    words=_reasons,
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
    return list_pages.answer(request, member, DISPUTES, rows)


def _first_call(member: Member) -> str:
    """Return the call that makes a first payment; nothing in live, where no test card is taken."""
    if settings.LIVEMODE:
        return ""
    return calls.curl("POST", *calls.first_payment(member.merchant.default_currency))
