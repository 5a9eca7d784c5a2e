"""One payment to which much happened, and a file of many rows: the panel's dearest two."""

import resource
import time
from datetime import timedelta
from typing import Any

from django.test import Client

from acquirers import references
from acquirers.models import Terminal
from bench.bars import Figures
from core import clock, ids
from core.cards import CardData
from events.models import Event
from merchants.models import Merchant
from payments.intents.models import Attempt, PaymentIntent
from payments.risk import own_blocks
from payments.risk.lists import BlockEntry
from vault import cards
from webhooks.models import Delivery

ATTEMPTS, EVENTS, DELIVERIES = 30, 200, 500
# Of the payment's id what follows the prefix: above all that are filled in.
NUMBER = "9" * 24
TEST_CARD = "4242424242424242"
CARD = {
    "brand": "visa", "bin": "424242", "last4": "4242", "masked": "424242******4242",
    "exp_month": 12, "exp_year": 2040, "card_type": "credit", "domestic": False,
}  # fmt: skip
NEW_LINE = b"\n"
KIB_IN_MIB = 1024


def make_full(merchant: Merchant, endpoint: str) -> None:
    """Write a payment with attempts, events and deliveries, the payer of which is blocked."""
    now = clock.now()
    payment = PaymentIntent.objects.create(
        id=f"pi_{NUMBER}", merchant=merchant, status="requires_payment_method",
        capture_method="automatic", currency="try", amount=12500,
        billing_details={"email": "full@example.com"}, created_at=now,
    )  # fmt: skip
    attempts = [_attempt(payment, number) for number in range(ATTEMPTS)]
    Attempt.objects.bulk_create(attempts)
    payment.attempt_ids = [one.id for one in attempts]
    payment.save(update_fields=["attempt_ids"])
    events = [_event(payment, number) for number in range(EVENTS)]
    Event.objects.bulk_create(events)
    Delivery.objects.bulk_create(
        _delivery(events[number % EVENTS], endpoint, number) for number in range(DELIVERIES)
    )
    colleague = merchant.members.exclude(role="owner").select_related("user")[0].user
    own_blocks.block(merchant, colleague, BlockEntry("block", "email", "full@example.com", "Bench"))


def _attempt(payment: PaymentIntent, number: int) -> Attempt:
    at = payment.created_at + timedelta(seconds=number)
    merchant = payment.merchant
    return Attempt(
        id=ids.new("att"), intent=payment, merchant=merchant,
        terminal=Terminal.objects.get(name="sandbox"), acquirer_reference=references.new(),
        status="failed", amount=payment.amount, currency=payment.currency,
        capture_method=payment.capture_method, request_id=ids.new("req"),
        sealed_card=cards.seal(merchant.id, CardData(TEST_CARD, 12, 2040), now=at),
        card=CARD,
        three_d_secure_requested="automatic",
        error={"code": "card_declined", "decline_code": "insufficient_funds", "message": "No."},
        bank_code="51", bank_text="NO FUNDS", created_at=at, asked_at=at, closed_at=at,
    )  # fmt: skip


def _event(payment: PaymentIntent, number: int) -> Event:
    return Event(
        id=ids.new("evt"), merchant=payment.merchant, type="payment_intent.payment_failed",
        aggregate_type="payment_intent", aggregate_id=payment.id, sequence=number + 1,
        request_id=ids.new("req"), body=b'{"data": {}}',
        created_at=payment.created_at + timedelta(seconds=number),
    )  # fmt: skip


def _delivery(event: Event, endpoint: str, number: int) -> Delivery:
    at = event.created_at
    return Delivery(
        id=ids.new("whd"), merchant=event.merchant, endpoint_id=endpoint, event_id=event.id,
        event_type=event.type, url="https://acme.example/hooks", lane_key=event.aggregate_id,
        aggregate_id=event.aggregate_id, sequence=event.sequence, trigger="automatic",
        status="failed" if number >= EVENTS else "succeeded", attempt=1 + number // EVENTS,
        delay_seconds=0, scheduled_at=at, attempted_at=at, duration_ms=20, response_status=200,
        created_at=at,
    )  # fmt: skip


def newest(merchant: Merchant, *, most: int) -> int:
    """Return a moment from which on the merchant has so many payments, or a few less; 0 for all."""
    rows = PaymentIntent.objects.for_merchant(merchant).order_by("-created_at", "-id")
    found = rows.values_list("created_at", flat=True)[most : most + 1].first()
    return clock.unix(found) + 1 if found else 0


def export(client: Client, url: str, host: str) -> Figures:
    """Read a file to its end; the memory is what this process needed more than before at most."""
    before = _peak_mib()
    began = time.perf_counter()
    answer: Any = client.post(url, headers={"Host": host})
    pieces = iter(answer.streaming_content)
    piece = next(pieces)
    first = time.perf_counter() - began
    size, lines = len(piece), piece.count(NEW_LINE)
    for piece in pieces:
        size, lines = size + len(piece), lines + piece.count(NEW_LINE)
    return {
        # All but the header; no payment that is filled in has a line break in a text.
        "export_rows": lines - 1,
        "export_first_byte_s": first,
        "export_s": time.perf_counter() - began,
        "export_mib": size / KIB_IN_MIB**2,
        "export_more_memory_mib": _peak_mib() - before,
    }


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_IN_MIB
