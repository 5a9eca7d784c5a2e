"""The lists of payments, refunds and disputes, narrowed by the filters of the API's lists."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext_lazy as _

from core.errors import DomainError
from core.querysets import MerchantRows
from merchants.models import Member
from panel.merchants import addresses, calls, links, listing
from panel.merchants.dispute_words import REASONS
from panel.merchants.list_forms import ListForm
from panel.merchants.pages import page, show
from panel.merchants.payment_filters import DisputeForm, PaymentForm, RefundForm, common, rare
from panel.patience import TookTooLong
from payments.disputes import render as dispute_render
from payments.intents.models import PaymentIntent
from payments.refunds.models import Refund

TEMPLATES = {
    "/v1/payment_intents": "panel/payments/list.html",
    "/v1/refunds": "panel/refunds/list.html",
    "/v1/disputes": "panel/disputes/list.html",
    "/v1/payouts": "panel/balance/payouts.html",
    "/v1/topups": "panel/balance/topups.html",
}
TOO_LONG = _("This took too long. Narrow the time, and try again.")


@page()
def payments(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's payments, or how the first one is made."""
    rows = PaymentIntent.objects.for_merchant(member.merchant)
    first = _first_call(member)
    return listed(request, member, rows, PaymentForm, "/v1/payment_intents", first_call=first)


@page()
def refunds(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's refunds."""
    rows = Refund.objects.for_merchant(member.merchant)
    return listed(request, member, rows, RefundForm, "/v1/refunds")


@page()
def disputes(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's disputes and inquiries."""
    rows = dispute_render.DISPUTES.for_merchant(member.merchant)
    return listed(request, member, rows, DisputeForm, "/v1/disputes")


def listed(
    request: HttpRequest,
    member: Member,
    rows: MerchantRows,
    form_class: type[ListForm],
    path: str,
    **shown: Any,
) -> HttpResponse:
    """Answer a list with its form; with an address in the API's terms, if it is not yet."""
    merchant, name = member.merchant, TEMPLATES[path].split("/")[1]
    problem = addresses.unsafe(request)
    # Without what was typed: the page may be printed or photographed.
    query = QueryDict() if problem else request.GET
    form = form_class(query, zone=merchant.timezone, currency=merchant.default_currency)
    if problem:
        form.add_error(None, str(problem))
    if form.is_valid() and (better := form.in_the_apis_terms(query)) is not None:
        return HttpResponseRedirect(f"{request.path}?{better}" if better else request.path)
    if not form.errors:
        shown["page"] = _page(rows, query, form)
    wanted = QueryDict() if form.errors else listing.asked(query, form.spec)
    shown |= {
        "form": form,
        "common": common(form),
        "rare": rare(form),
        "is_narrowed": form.is_narrowed,
        "export_url": links.to_export(member, name, wanted),
        "call": calls.listing(path, wanted),
    }
    status = 400 if form.errors else 200
    return show(request, TEMPLATES[path], shown, status=status)


def _page(rows: MerchantRows, query: QueryDict, form: ListForm) -> Any:
    try:
        found = listing.counted_page(rows, query, form.spec)
        for row in found.rows:
            row.reason_word = REASONS.get(getattr(row, "reason", None) or "", "")
        return found
    except TookTooLong:
        form.add_error("created_from", TOO_LONG)
    except DomainError as problem:
        form.refuse(problem)
    return None


def _first_call(member: Member) -> str:
    """Return the call that makes a first payment; nothing in live, where no test card is taken."""
    if settings.LIVEMODE:
        return ""
    return calls.curl("POST", *calls.first_payment(member.merchant.default_currency))
