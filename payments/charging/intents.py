"""Payments before the bank is asked: checked, written down, changed by their merchant."""

from datetime import datetime
from typing import Any

from django.db import transaction

from acquirers.conversation import leases
from api import idempotency
from core import clock, ids, rows
from core.errors import ResourceMissing
from core.metadata import merge
from core.rest.messages import listed
from events import outbox
from merchants.models import Merchant
from payments.bank.authorization import end_unpaid
from payments.bank.inquiries import refuse_in_flight
from payments.charging import installments
from payments.charging.installments import Wish
from payments.charging.methods import OfferedCard, billing_of, requested_authentication
from payments.customers.models import Customer
from payments.intents import metadata, render
from payments.intents.models import LineItem, PaymentIntent
from payments.intents.refusals import (
    IntentUnexpectedState,
    LineItemsAmountMismatch,
)
from payments.intents.states import (
    CREATED,
    AttemptStatus,
    PaymentStatus,
)

OF_MERCHANT = "merchant_id = %(merchant)s::text AND id = %(id)s::text"
# A merchant changes these only before the first attempt, which uses them.
BEFORE_FIRST_ATTEMPT = ("amount", "currency", "customer", "installments", "line_items")
TERMS_ARE_FIXED = f"{listed(BEFORE_FIRST_ATTEMPT)} can be changed before the first attempt only."


def find(merchant: Merchant, intent_id: str) -> PaymentIntent:
    """Return a merchant's payment.

    :raises ResourceMissing: the merchant has no such payment.
    """
    found = None
    if "\x00" not in intent_id:  # PostgreSQL's driver refuses it with a crash.
        found = rows.find(PaymentIntent, OF_MERCHANT, merchant=merchant.id, id=intent_id)
    if found is None:
        raise ResourceMissing(wanted=PaymentIntent, given=intent_id)
    found.merchant = merchant
    return found


def check(merchant: Merchant, draft: dict[str, Any]) -> None:
    """Refuse a draft that cannot become a payment, before anything is stored.

    :raises LineItemsAmountMismatch: the lines do not sum to the amount.
    :raises ResourceMissing: the customer is not the merchant's.
    """
    items = draft.get("line_items")
    if items and sum(item["amount"] for item in items) != draft["amount"]:
        raise LineItemsAmountMismatch
    _require_customer(merchant, draft.get("customer"))


def add(
    merchant: Merchant,
    intent_id: str,
    draft: dict[str, Any],
    offered: OfferedCard | None,
    *,
    session_id: str | None = None,
) -> PaymentIntent:
    """Write a checked draft down, in the caller's transaction, with its `created` event.

    :param draft: a body that `check` has accepted; amounts in minor units.
    :param offered: the card to store with the payment, None if it comes later.
    :param session_id: the checkout session that makes the payment, if one does.
    """
    now = clock.now()
    status = (
        PaymentStatus.REQUIRES_CONFIRMATION if offered else PaymentStatus.REQUIRES_PAYMENT_METHOD
    )
    intent = _drafted(merchant, intent_id, draft, status, now)
    intent.checkout_session = session_id
    if offered:
        intent.sealed_card = offered.seal(merchant)
        intent.card = offered.shown
        intent.billing_details = billing_of(draft["payment_method_data"])
    items = _line_items(intent, draft.get("line_items") or [])
    rows.insert(intent)
    LineItem.objects.bulk_create(items)
    metadata.index(intent)
    outbox.record(merchant, CREATED, render.payment_intent(intent))
    return intent


def _drafted(
    merchant: Merchant, intent_id: str, draft: dict[str, Any], status: PaymentStatus, now: datetime
) -> PaymentIntent:
    requested = requested_authentication(draft.get("payment_method_options")) or "automatic"
    return PaymentIntent(
        id=intent_id,
        merchant=merchant,
        status=status,
        amount=draft["amount"],
        currency=draft["currency"],
        installments=draft.get("installments") or 1,
        capture_method=draft.get("capture_method") or PaymentIntent.CaptureMethod.AUTOMATIC,
        customer_id=draft.get("customer"),
        description=draft.get("description"),
        metadata=merge({}, draft.get("metadata")),
        return_url=draft.get("return_url"),
        three_d_secure_requested=requested,
        three_d_secure_effective=requested,
        created_at=now,
    )


@transaction.atomic(durable=True)
def update(merchant: Merchant, intent_id: str, changes: dict[str, Any]) -> PaymentIntent:
    """Change a payment as far as the merchant still may (contract 3).

    :param changes: a body that `UpdateIntentForm` has validated.
    :raises IntentUnexpectedState: money terms are to change after the first attempt.
    :raises LockTimeout: an authorisation is in flight.
    :raises LineItemsAmountMismatch: amount and lines no longer agree.
    :raises InstallmentsNotAvailable: the payment's installments are not for sale on its terms.
    """
    idempotency.take(intent_id)
    intent = PaymentIntent.objects.for_merchant(merchant).lock(intent_id)
    refuse_in_flight(intent)
    if changes.keys() & set(BEFORE_FIRST_ATTEMPT):
        _change_terms(intent, changes)
    if "description" in changes:
        intent.description = changes["description"]
    if "metadata" in changes:
        intent.metadata = merge(intent.metadata, changes["metadata"])
        metadata.index_anew(intent)
    intent.save()
    return intent


def give_up_action(intent: PaymentIntent) -> None:
    """Close the attempt that awaits its payer, if any; the payer's answer then changes nothing.

    The caller has locked the payment.
    """
    awaiting = intent.attempts.filter(status=AttemptStatus.REQUIRES_ACTION)
    for attempt in awaiting.select_for_update():  # One at most.
        end_unpaid(attempt, AttemptStatus.CANCELED)
        attempt.closed_at = clock.now()
        leases.end_with(attempt)
        attempt.save()


def _change_terms(intent: PaymentIntent, changes: dict[str, Any]) -> None:
    if intent.attempt_ids or intent.status not in (
        PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.REQUIRES_CONFIRMATION,
    ):  # fmt: skip
        raise IntentUnexpectedState(intent, advice=TERMS_ARE_FIXED)
    intent.amount = changes.get("amount", intent.amount)
    intent.currency = changes.get("currency", intent.currency)
    if changes.keys() & {"amount", "currency", "installments"}:
        _change_installments(intent, changes.get("installments", intent.installments))
    if "customer" in changes:
        _require_customer(intent.merchant, changes["customer"])
        intent.customer_id = changes["customer"]
    if "line_items" in changes:
        _replace_line_items(intent, changes["line_items"] or [])
    _require_matching_lines(intent)


def _change_installments(intent: PaymentIntent, count: int | None) -> None:
    """Check the count again: it may not be for sale at another amount or in another currency."""
    intent.installments = count or 1
    wish, amount, currency = Wish(intent.installments), intent.amount, intent.currency
    installments.check(intent.merchant, intent.card, wish, amount=amount, currency=currency)


def _replace_line_items(intent: PaymentIntent, drafts: list[dict[str, Any]]) -> None:
    intent.line_items.all().delete()
    LineItem.objects.bulk_create(_line_items(intent, drafts))


def _require_matching_lines(intent: PaymentIntent) -> None:
    lines = list(intent.line_items.all())
    if lines and sum(line.amount for line in lines) != intent.amount:
        raise LineItemsAmountMismatch
    if any(line.currency != intent.currency for line in lines):
        intent.line_items.update(currency=intent.currency)


def _line_items(intent: PaymentIntent, drafts: list[dict[str, Any]]) -> list[LineItem]:
    items = [
        LineItem(
            id=ids.new("li"),
            merchant_id=intent.merchant_id,
            intent=intent,
            position=position,
            currency=intent.currency,
            created_at=intent.created_at,
            **draft,
        )
        for position, draft in enumerate(drafts)
    ]
    intent.line_item_ids = [item.id for item in items]
    return items


def _require_customer(merchant: Merchant, customer_id: str | None) -> None:
    if customer_id:
        customers = Customer.objects.for_merchant(merchant).existing()
        customers.find(customer_id, param="customer")
