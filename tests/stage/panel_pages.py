"""The panel's pages, from its table of addresses."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.urls import URLPattern

from core import clock, ids, local_days
from ledger.models import Run
from merchants import invitations
from merchants.models import AuditEntry, Invitation, Member, Merchant, User
from panel.merchants import team_addresses, urls
from panel.permissions import PAGES
from payments.checkout import creation as sessions
from payments.checkout.models import CheckoutSession
from payments.customers import customers
from payments.customers.forms import CreateCustomerForm
from payments.customers.models import Customer
from payments.disputes.models import Dispute
from payments.intents import payer_blocks
from payments.intents.models import PaymentIntent
from payments.refunds.models import Refund
from payments.risk import own_blocks
from payments.risk.lists import BlockEntry
from payouts import creation as payouts
from payouts.models import Payout
from payouts.topups import creation as topups
from payouts.topups.models import Topup
from tests.stage.factories import (
    AttemptFactory,
    EndpointFactory,
    PaymentFactory,
    RequestLogFactory,
)
from tests.stage.hooks import tell
from tests.stage.transfers import enrich
from webhooks.models import Delivery

# No merchant's, and nothing to do with a role.
OF_EVERYBODY = {"home", "look"}
# Parts of pages, which a page asks for by itself.
PARTS = {"payment_now"}
# By the page's name, a thing of the merchant that the page shows.
THINGS: dict[str, Callable[[Merchant], Any]] = {
    "key": lambda merchant: merchant.api_keys.order_by("created_at", "id")[0].pk,
    "roll_key": lambda merchant: merchant.api_keys.order_by("created_at", "id")[0].pk,
    "revoke_key": lambda merchant: merchant.api_keys.order_by("created_at", "id")[0].pk,
    "remove_website": lambda merchant: merchant.websites.order_by("id")[0].pk,
    "request_log": lambda merchant: RequestLogFactory(merchant=merchant).pk,
    "remove_callback": lambda merchant: _callback(merchant).pk,
    **dict.fromkeys(
        (
            "endpoint", "edit_endpoint", "roll_endpoint_secret", "disable_endpoint",
            "enable_endpoint", "delete_endpoint", "replay_endpoint", "try_endpoint",
        ),
        lambda merchant: _delivery(merchant).endpoint_id,
    ),
    "delivery": lambda merchant: _delivery(merchant).pk,
    **dict.fromkeys(
        (
            "payment", "payment_now", "capture_payment", "cancel_payment", "refund_payment",
            "note_payment", "block_payer",
        ),
        lambda merchant: _payment(merchant).pk,
    ),
    "refund": lambda merchant: _refund(merchant).pk,
    "ask_again": lambda merchant: _waiting(merchant).pk,
    **dict.fromkeys(
        ("payment_page", "end_payment_page"), lambda merchant: _session(merchant).pk
    ),
    "unblock_payer": lambda merchant: _blocked(merchant).pk,
    **dict.fromkeys(
        ("dispute", "dispute_evidence", "submit_dispute", "accept_dispute"),
        lambda merchant: _dispute(merchant).pk,
    ),
    **dict.fromkeys(("payout", "cancel_payout"), lambda merchant: _payout(merchant).pk),
    **dict.fromkeys(("topup", "cancel_topup"), lambda merchant: _topup(merchant).pk),
    **dict.fromkeys(("statement", "export_statement"), lambda merchant: _month(merchant)),
    "settlement": lambda merchant: _run(merchant).pk,
    "export_settlement": lambda merchant: _run(merchant).pk,
    "event": lambda merchant: _delivery(merchant).event_id,
    "resend_event": lambda merchant: _delivery(merchant).event_id,
    **dict.fromkeys(
        ("customer", "edit_customer", "delete_customer"),
        lambda merchant: _customer(merchant).pk,
    ),
    "audit_entry": lambda merchant: AuditEntry.objects.filter(merchant=merchant)[0].pk,
    "change_role": lambda merchant: team_addresses.of(_colleague(merchant)),
    "remove_member": lambda merchant: team_addresses.of(_colleague(merchant)),
    "resend_invitation": lambda merchant: _invitation(merchant).pk,
    "withdraw_invitation": lambda merchant: _invitation(merchant).pk,
}  # fmt: skip


def pages() -> list[URLPattern]:
    """Return the pages of merchants."""
    return [one for one in urls.urlpatterns if one.name not in OF_EVERYBODY]


def unlisted() -> set[str]:
    """Return the pages without a row in the table of roles."""
    return {str(one.name) for one in pages()} - {*PAGES}


def address(name: str, merchant: str, thing: Any = "unknown") -> str:
    """Return a page's address."""
    pattern = next(one for one in urls.urlpatterns if one.name == name).pattern
    written = str(pattern).replace("<str:merchant>", merchant)
    return "/panel/" + re.sub(r"<str:\w+>", str(thing), written)


def addresses(merchant: Merchant) -> dict[str, str]:
    """Return the address of every page of a merchant, each of a thing that is there.

    :raises KeyError: a page shows a thing, and `THINGS` has none for it.
    """
    return {str(one.name): _of(one, merchant) for one in pages()}


def address_of(name: str, merchant: Merchant) -> str:
    """Return the address of one page of a merchant, of a thing that is there."""
    return _of(next(one for one in pages() if one.name == name), merchant)


def _of(page: URLPattern, merchant: Merchant) -> str:
    name = str(page.name)
    is_of_a_thing = str(page.pattern).count("<str:") > 1
    return address(name, merchant.id, THINGS[name](merchant) if is_of_a_thing else "")


def _callback(merchant: Merchant) -> Any:
    url = "http://localhost:3000/return"
    return merchant.callback_urls.get_or_create(url=url, defaults={"created_at": clock.now()})[0]


def _payment(merchant: Merchant) -> PaymentIntent:
    """Return a charged payment of the merchant's, with the attempt that charged it."""
    found = PaymentIntent.objects.filter(merchant=merchant, attempts__status="succeeded").first()
    if found is None:
        found = PaymentFactory(
            merchant=merchant, description="Sipariş #7", attempt_ids=["att_x"],
            billing_details={"name": "Eve", "email": "eve@evil.example"},
        )  # fmt: skip
        now = clock.now()
        AttemptFactory(
            intent=found, status="succeeded", captured_minor=found.captured_minor,
            captured_at=now, closed_at=now, due_at=None, card_fingerprint="ab" * 32,
        )  # fmt: skip
    return found


def _refund(merchant: Merchant) -> Refund:
    """Return a refund of the merchant's that the bank has made."""
    found = Refund.objects.filter(merchant=merchant).first()
    if found is None:
        attempt, now = _payment(merchant).attempts.get(), clock.now()
        found = Refund.objects.create(
            id=ids.new("re"), merchant=merchant, intent=attempt.intent, attempt=attempt,
            acquirer_reference=ids.new("re"), amount=100, currency="try", status="succeeded",
            method="refund", sent_at=now, created_at=now, asked_at=now, closed_at=now,
            request_id="req_1",
        )  # fmt: skip
    return found


def _waiting(merchant: Merchant) -> PaymentIntent:
    """Return a payment of the merchant's that waits for a card, and has no payment page."""
    found = PaymentIntent.objects.filter(
        merchant=merchant, status="requires_payment_method", checkout_session=None
    ).first()
    nothing = dict.fromkeys(("authorized_minor", "captured_minor"), 0)
    return found or PaymentFactory(merchant=merchant, status="requires_payment_method", **nothing)


def _session(merchant: Merchant) -> CheckoutSession:
    """Return a checkout session of the merchant's that is open."""
    found = CheckoutSession.objects.filter(merchant=merchant, status="open").first()
    draft = {"amount": 5000, "currency": "try", "customer_email": "payer@x.example"}
    return found or sessions.create(merchant, draft)


def _blocked(merchant: Merchant) -> PaymentIntent:
    """Return a payment of the merchant's, the payer of which is blocked by a colleague."""
    found = _payment(merchant)
    value, shown = payer_blocks.value_of(found, "card")
    entry = BlockEntry("block", "card", value, "Chargebacks", shown=shown)
    own_blocks.block(merchant, _colleague(merchant).user, entry)
    return found


def _dispute(merchant: Merchant) -> Dispute:
    """Return a dispute of the merchant's that waits for an answer."""
    found = Dispute.objects.filter(merchant=merchant).first()
    if found is None:
        attempt = _payment(merchant).attempts.get()
        found = Dispute.objects.create(
            id=ids.new("dp"), merchant=merchant, intent=attempt.intent, attempt=attempt,
            bank_reference=ids.new("dp"), amount=100, currency="try", status="needs_response",
            reason="fraudulent", evidence_due_by=clock.now() + timedelta(days=9, hours=1),
            created_at=clock.now(),
        )  # fmt: skip
    return found


def _payout(merchant: Merchant) -> Payout:
    """Return a payout of the merchant's that was not sent."""
    found = Payout.objects.filter(merchant=merchant, status="pending").first()
    if found is None:
        enrich(merchant)
        found = payouts.create(merchant, {"amount": 5000, "currency": "try"})
    return found


def _topup(merchant: Merchant) -> Topup:
    """Return a top-up of the merchant's whose transfer has not come."""
    found = Topup.objects.filter(merchant=merchant, status="pending").first()
    draft = {"amount": 5000, "currency": "try", "source": "test_never"}
    return found or topups.create(merchant, draft)


def _month(merchant: Merchant) -> str:
    """Return the running month of a merchant who has money, as pages of statements name it."""
    enrich(merchant)
    return f"{local_days.of(clock.now(), merchant.timezone):%Y-%m}-try"


def _run(merchant: Merchant) -> Run:
    """Return a settlement of the merchant's."""
    found = Run.objects.filter(merchant=merchant).first()
    now = clock.now()
    return found or Run.objects.create(
        id=ids.new("run"), merchant=merchant, currency="try", date=now.date(), boundary=0,
        amount=0, created_at=now,
    )  # fmt: skip


def _customer(merchant: Merchant) -> Customer:
    """Return a customer who was not deleted."""
    known = Customer.objects.for_merchant(merchant).existing().first()
    draft = CreateCustomerForm.read({"email": "payer@x.example", "name": "Ayşe"})
    return known or customers.create(merchant, draft)


def _colleague(merchant: Merchant) -> Member:
    """Return a member of the team who is no owner."""
    email = f"colleague@{merchant.id.lower()}.example"
    user = User.objects.filter(email=email).first() or User.objects.create_user(email)
    defaults = {"role": "support", "created_at": clock.now()}
    return merchant.members.get_or_create(user=user, defaults=defaults)[0]


def _invitation(merchant: Merchant) -> Invitation:
    """Return an invitation that is open."""
    known = merchant.invitations.filter(accepted_at=None, withdrawn_at=None).first()
    owner = merchant.members.filter(role="owner").order_by("pk")[0]
    return known or invitations.invite(owner, email="new@x.example", role="finance").invitation


def _delivery(merchant: Merchant) -> Delivery:
    """Return a delivery to an endpoint of the merchant's, which a test may have deleted."""
    found = Delivery.objects.filter(merchant=merchant, endpoint__deleted_at=None).first()
    if found is None:
        EndpointFactory(merchant=merchant)
        event = tell(merchant, "cus_1")
        found = Delivery.objects.get(event=event, endpoint__deleted_at=None)
    return found
