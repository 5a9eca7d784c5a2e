"""One payment: what it is, why it is so, what happened, and what may be done with it."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from merchants.models import Member
from merchants.sessions import is_poll
from panel import permissions
from panel.merchants import booked, details, links, listing, payment_parts, payment_words, timeline
from panel.merchants.pages import page, show
from panel.merchants.payment_acts import acts
from panel.merchants.payment_parts import PaymentParts
from payments.intents import payer_blocks, render
from payments.intents.models import PaymentIntent
from payments.risk import own_blocks

TEMPLATE = "panel/payments/payment.html"
LINES_MOST = 200
CAPTURES: dict[str, Any] = {"automatic": _("At once"), "manual": _("By hand")}
CARD_TYPES: dict[str, Any] = {
    "credit": _("Credit card"), "debit": _("Debit card"), "prepaid": _("Prepaid card"),
}  # fmt: skip


def find(member: Member, payment: str) -> PaymentIntent:
    """Return a payment of the member's merchant.

    :raises Http404: there is none.
    """
    rows = PaymentIntent.objects.for_merchant(member.merchant).select_related("customer")
    found: PaymentIntent = listing.find(rows, payment)
    return found


def address(member: Member, payment_id: str) -> str:
    """Return the address of a payment's page."""
    return reverse("panel:payment", args=[member.merchant_id, payment_id])


@page()
def payment(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Show a payment with its timeline."""
    row = find(member, payment)
    lines = row.line_items.filter(merchant=member.merchant).order_by("position")[:LINES_MOST]
    return details.answer(
        request, TEMPLATE, row, "/v1/payment_intents",
        **_live(member, row),
        lines=list(lines) if row.line_item_ids else [],
        json=render.payment_intent(row),
        brought=booked.brought(member, row),
        customer_url=links.to(member, row.customer_id),
        capture_word=CAPTURES.get(row.capture_method, row.capture_method),
    )  # fmt: skip


@is_poll
@page()
def payment_now(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Show the part of a payment's page that changes by itself; pages ask it every 3 seconds."""
    return show(request, "panel/payments/now.html", _live(member, find(member, payment)))


def _live(member: Member, row: PaymentIntent) -> dict[str, Any]:
    parts = payment_parts.read(member, row)
    last = parts.last_attempt
    possible, refused = acts(member, row)
    entries = timeline.of(member, parts)
    return {
        "payment": row,
        "parts": parts,
        "received": row.captured_minor - row.captured_surcharge,
        "standing": payment_words.standing(row),
        "reason": payment_words.reason_of(row.last_payment_error, last.bank_text if last else None),
        "acts": possible,
        "refused_acts": refused,
        "blocks": own_blocks.current(member.merchant, payer_blocks.listed(row, last)),
        "may_unblock": permissions.may_open(member, "unblock_payer"),
        "entries": entries,
        "has_technical": any(entry.is_technical for entry in entries),
        "attempt": last,
        "three_d_secure": _three_d_secure(row, parts),
        "fraud": _fraud(row),
        "card_type": CARD_TYPES.get((row.card or {}).get("card_type", ""), ""),
        "canceled_because": payment_words.CANCELLATIONS.get(row.cancellation_reason or ""),
        "docs_url": settings.DOCS_URL,
    }


def _three_d_secure(row: PaymentIntent, parts: PaymentParts) -> dict[str, Any]:
    told = parts.last_attempt.authentication if parts.last_attempt else {}
    requested, effective = row.three_d_secure_requested, row.three_d_secure_effective
    return {
        "requested": payment_words.REQUESTED.get(requested, requested),
        "effective": payment_words.EFFECTIVE.get(effective, effective),
        "result": payment_words.RESULTS.get(told.get("result") or "", told.get("result")),
        "version": told.get("version"),
        "eci": told.get("eci"),
    }


def _fraud(row: PaymentIntent) -> dict[str, Any] | None:
    if not row.fraud:
        return None
    rule = row.fraud.get("rule") or ""
    level, status = row.fraud.get("risk_level", ""), row.fraud.get("status", "")
    return {
        "level": payment_words.LEVELS.get(level, level),
        "score": row.fraud.get("risk_score"),
        "rule": payment_words.RULES.get(rule, rule),
        "status": payment_words.VERDICTS.get(status, status),
    }
