"""Sessions made: over a payment that waits for a card, or with a payment of their own."""

from typing import Any

from django.db import transaction

from api import idempotency
from core import ids
from core.errors import ParameterInvalid
from merchants import accounts, audit_log
from merchants.models import Merchant
from payments.bank import inquiries
from payments.charging import intents
from payments.checkout import drafts
from payments.checkout.models import CheckoutSession
from payments.checkout.refusals import SessionUnexpectedState
from payments.checkout.states import SessionStatus
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent
from payments.intents.refusals import IntentUnexpectedState
from payments.intents.states import PaymentStatus


def create(merchant: Merchant, draft: dict[str, Any]) -> CheckoutSession:
    """Make a session, for a payment of the merchant's or for one that is made with it.

    :param draft: a body that `CreateSessionForm` has validated; amounts in minor units.
    :raises MerchantRestricted: the account may take no payments at the moment.
    :raises ResourceMissing: the payment or the customer is not the merchant's.
    :raises IntentUnexpectedState: the payment does not wait for a card.
    :raises SessionUnexpectedState: the payment has an open session, which the answer carries.
    :raises DomainError: as `drafts.session_of` does; nothing is stored then.
    """
    accounts.require_charges(merchant)
    session = drafts.session_of(merchant, draft)
    if draft.get("payment_intent"):
        return _over_payment(merchant, session, draft["payment_intent"])
    payment = drafts.payment_of(draft)
    intents.check(merchant, payment)
    session.made_payment = True
    with transaction.atomic(durable=True):
        idempotency.take(session.id)
        session.intent = intents.add(merchant, ids.new("pi"), payment, None, session_id=session.id)
        session.save(force_insert=True)
        _note_person(session)
    return session


def _over_payment(merchant: Merchant, session: CheckoutSession, intent_id: str) -> CheckoutSession:
    if session.customer_id:
        customers = Customer.objects.for_merchant(merchant).existing()
        customers.find(session.customer_id, param="customer")
    session.made_payment = False
    with transaction.atomic(durable=True):
        idempotency.take(session.id)
        payments = PaymentIntent.objects.for_merchant(merchant).select_related("merchant")
        intent = payments.lock(intent_id, param="payment_intent")
        if intent.status != PaymentStatus.REQUIRES_PAYMENT_METHOD:
            waiting = [PaymentStatus.REQUIRES_PAYMENT_METHOD]
            raise IntentUnexpectedState(intent, "A checkout session", waiting)
        inquiries.refuse_in_flight(intent)
        _refuse_second(intent)
        session.customer_id = _customer_of(session, intent)
        session.intent, intent.checkout_session = intent, session.id
        session.save(force_insert=True)
        intent.save(update_fields=["checkout_session"])
        _note_person(session)
    return session


def _note_person(session: CheckoutSession) -> None:
    intent = session.intent
    audit_log.record_by_person(
        "checkout.created", merchant=session.merchant, subject=session.id,
        after={"payment_intent": intent.id, "amount": intent.amount, "currency": intent.currency},
    )  # fmt: skip


def _refuse_second(intent: PaymentIntent) -> None:
    if intent.checkout_session is None:
        return
    newest: CheckoutSession = intent.checkout_sessions.get(id=intent.checkout_session)
    if newest.status == SessionStatus.OPEN:
        newest.intent = intent
        raise SessionUnexpectedState(newest, "The payment has an open checkout session.")


def _customer_of(session: CheckoutSession, intent: PaymentIntent) -> str | None:
    """Return the customer of session and payment; the payment's own stays."""
    if session.customer_id and intent.customer_id not in (None, session.customer_id):
        raise ParameterInvalid("The payment has another customer.", param="customer")
    return session.customer_id or intent.customer_id
