"""Stripe's official SDK for Python, as it is installed, against the running service.

Nothing of it is replaced: address and key are set as its documentation says.
"""

from collections.abc import Iterable
from typing import Any

import pytest
import stripe

from tests.stage.factories import (
    DECLINED_CARD,
    RETURN_URL,
    confirmation,
    line,
    payment,
    three_d_secure,
)
from tests.stage.sdk_service import SdkService
from tests.stage.stripe_calls import client

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("stripe_calls_us"),
]


# --- Payments ---------------------------------------------------------------------------------


def test_a_payment_is_made_in_one_call() -> None:
    paid = stripe.PaymentIntent.create(
        **payment(
            description="12345",
            metadata={"order": "6735", "gift": "true", "0": "first"},
            line_items=[line(12000), line(500)],
            return_url=RETURN_URL,
        )
    )

    assert (paid.status, paid.amount, paid.amount_received) == ("succeeded", 12500, 12500)
    assert paid.description == "12345"
    assert paid.metadata.to_dict() == {"order": "6735", "gift": "true", "0": "first"}
    assert paid.card.last4 == "4242"


def test_a_payment_in_installments_is_quoted_made_and_confirmed(sdk_service: SdkService) -> None:
    body = payment("5528790000000008", amount=12000, return_url=RETURN_URL)
    query = "bin=552879&amount=12000&currency=try"
    quoted = client(sdk_service).raw_request("get", f"/v1/installments?{query}")

    paid = stripe.PaymentIntent.create(**body, installments=3, surcharge=330)
    later = stripe.PaymentIntent.create(**{**body, "confirm": False}, installments=3)
    confirmed = stripe.PaymentIntent.confirm(later.id, installments=2, surcharge=0)

    assert [option["installments"] for option in quoted.data["options"]] == [1, 2, 3, 6]
    assert (paid.status, paid.installments, paid.amount_charged) == ("succeeded", 3, 12330)
    assert (later.installments, confirmed.installments) == (3, 2)


def test_a_payment_is_created_changed_confirmed_captured_and_read() -> None:
    intent = stripe.PaymentIntent.create(
        amount=5000, currency="try", capture_method="manual", metadata={"a": "1", "b": "2"}
    )

    changed = stripe.PaymentIntent.modify(
        intent.id, amount=6000, description="tea", metadata={"a": ""}
    )
    held = stripe.PaymentIntent.confirm(intent.id, **confirmation())
    taken = stripe.PaymentIntent.capture(intent.id, amount_to_capture=2500)
    read = stripe.PaymentIntent.retrieve(intent.id)

    assert (intent.status, changed.amount) == ("requires_payment_method", 6000)
    assert (changed.description, changed.metadata.to_dict()) == ("tea", {"b": "2"})
    assert (held.status, held.amount_capturable) == ("requires_capture", 6000)
    assert (taken.status, taken.amount_received) == ("succeeded", 2500)
    assert read.to_dict() == taken.to_dict()


def test_a_payment_is_acted_on_by_its_own_methods() -> None:
    intent = stripe.PaymentIntent.create(**payment(capture_method="manual"))

    intent.cancel(cancellation_reason="requested_by_customer")
    canceled = intent.status
    intent.refresh()

    assert (canceled, intent.status) == ("canceled", "canceled")
    assert intent.cancellation_reason == "requested_by_customer"


def test_a_payment_is_confirmed_and_captured_by_its_own_methods() -> None:
    intent = stripe.PaymentIntent.create(amount=5000, currency="try", capture_method="manual")

    intent.confirm(**confirmation())
    held = intent.status
    intent.capture()

    assert (held, intent.status) == ("requires_capture", "succeeded")
    assert (intent.amount_received, intent.amount_capturable) == (5000, 0)


def test_a_payer_is_sent_to_three_d_secure() -> None:
    intent = stripe.PaymentIntent.create(
        **payment(return_url=RETURN_URL, **three_d_secure("required"))
    )

    assert intent.status == "requires_action"
    assert intent.next_action.redirect_to_url.url.startswith("http")


def test_a_decline_is_an_answer_and_no_error() -> None:
    declined = stripe.PaymentIntent.create(**payment(DECLINED_CARD))

    assert declined.status == "requires_payment_method"
    assert declined.last_payment_error.code == "card_declined"
    assert declined.last_payment_error.decline_code == "generic_decline"


DECLINES = {
    "4000000000009995": "insufficient_funds", "4000000000009987": "lost_card",
    "4000000000009979": "stolen_card", "4000000000000069": "expired_card",
    "4000000000000127": "incorrect_cvc", "4000000000000119": "processing_error",
    "4129111111111111": "do_not_honor",
}  # fmt: skip


@pytest.mark.parametrize("number", DECLINES)
def test_no_decline_of_a_confirm_is_an_error(number: str) -> None:
    intent = stripe.PaymentIntent.create(amount=5000, currency="try")

    declined = stripe.PaymentIntent.confirm(intent.id, **confirmation(number))

    assert declined.status == "requires_payment_method"
    assert declined.last_payment_error.reason == DECLINES[number]


def test_the_client_of_the_newer_style_works_the_same(sdk_service: SdkService) -> None:
    intents = client(sdk_service).v1.payment_intents

    made = intents.create(params={"amount": 5000, "currency": "try"})
    changed = intents.update(made.id, params={"description": "tea"})
    gone = intents.cancel(made.id)

    assert (changed.description, gone.status) == ("tea", "canceled")
    assert intents.retrieve(made.id).to_dict() == gone.to_dict()


# --- Lists ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def five(sdk_service: SdkService) -> list[str]:
    """Five payments of 777, newest first, among others."""
    intents = client(sdk_service).v1.payment_intents
    made = []
    for _one in range(5):
        made.append(intents.create(params={"amount": 777, "currency": "try"}).id)
        intents.create(params={"amount": 778, "currency": "try"})
    return made[::-1]


def ids(objects: Iterable[Any]) -> list[str]:
    return [one.id for one in objects]


def walked(resource: Any, **filters: Any) -> list[Any]:
    """Return what a list has, paged through forwards; backwards it is the same."""
    forwards = list(resource.list(limit=2, **filters).auto_paging_iter())
    later = resource.list(limit=2, ending_before=forwards[-1].id, **filters)
    assert ids(later.auto_paging_iter()) == ids(forwards)[-2::-1]
    return forwards


def test_payments_are_paged_through_both_ways(five: list[str]) -> None:
    assert ids(walked(stripe.PaymentIntent, amount=777)) == five


def test_customers_are_paged_through_both_ways() -> None:
    email = "five@example.com"
    made = [stripe.Customer.create(email=email).id for _one in range(5)]

    assert ids(walked(stripe.Customer, email=email)) == made[::-1]


def test_events_are_paged_through_both_ways() -> None:
    made = [stripe.Customer.create(name=f"Number {n}").id for n in range(5)]

    told = [event.data.object.id for event in walked(stripe.Event)]

    assert [customer_id for customer_id in told if customer_id in made] == made[::-1]


def test_webhook_endpoints_are_paged_through_both_ways() -> None:
    facts = {"url": "https://acme.example/hooks", "enabled_events": ["customer.deleted"]}
    made = [stripe.WebhookEndpoint.create(**facts).id for _one in range(3)]

    assert ids(walked(stripe.WebhookEndpoint)) == made[::-1]
    for endpoint_id in made:
        stripe.WebhookEndpoint.delete(endpoint_id)


def test_a_list_is_filtered_sorted_and_counted(five: list[str]) -> None:
    found = stripe.PaymentIntent.list(
        created={"gte": 1},
        amount={"gte": 777, "lt": 778},
        status=["requires_payment_method", "canceled"],
        sort="created",
        include=["total_count"],
        limit=3,
    )

    assert [payment.id for payment in found] == five[:1:-1]
    assert (found.has_more, found.total_count, found.total_count_capped) == (True, 5, False)


def test_pages_are_turned_by_hand(five: list[str]) -> None:
    first = stripe.PaymentIntent.list(limit=2, amount=777)

    second = first.next_page()
    last = stripe.PaymentIntent.list(limit=2, amount=777, ending_before=second.data[0].id)

    assert [payment.id for payment in second] == five[2:4]
    assert [payment.id for payment in last] == [payment.id for payment in first]


def test_customers_are_listed() -> None:
    ada = stripe.Customer.create(email="ada@example.com")

    assert [found.id for found in stripe.Customer.list(email="ada@example.com")] == [ada.id]


# --- Customers, expansion, events -------------------------------------------------------------


def test_a_customer_is_created_read_and_shown_whole_in_a_payment() -> None:
    customer = stripe.Customer.create(
        email="ayse@example.com", name="Ayşe Yılmaz", metadata={"tier": "gold"}
    )

    made = stripe.PaymentIntent.create(
        amount=5000, currency="try", customer=customer.id, expand=["customer"]
    )
    read = stripe.PaymentIntent.retrieve(made.id, expand=["customer", "latest_attempt"])

    assert stripe.Customer.retrieve(customer.id).to_dict() == customer.to_dict()
    assert isinstance(made.customer, stripe.Customer)
    assert (made.customer.name, read.customer.email) == ("Ayşe Yılmaz", "ayse@example.com")


@pytest.mark.parametrize("expand", ["data.customer", "customer"])
def test_a_list_shows_customers_whole(expand: str) -> None:
    customer = stripe.Customer.create(name="Ayşe Yılmaz")
    facts = {"amount": 5000, "currency": "try", "customer": customer.id}
    made = [stripe.PaymentIntent.create(**facts).id for _one in range(3)]

    payments = stripe.PaymentIntent.list(customer=customer.id, expand=[expand], limit=2)
    found = list(payments.auto_paging_iter())

    assert [payment.id for payment in found] == made[::-1]
    assert [payment.customer.to_dict() for payment in found] == [customer.to_dict()] * 3


def test_a_field_that_cannot_be_expanded_is_an_invalid_request() -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.PaymentIntent.list(expand=["data.charges"])

    assert (refused.value.code, refused.value.param) == ("parameter_invalid", "expand[]")


def test_a_customer_is_changed_and_deleted() -> None:
    address = {"line1": "İstiklal Cd. 1", "city": "İstanbul", "country": "TR"}
    customer = stripe.Customer.create(
        name="Ayşe", address=address, preferred_locales=["tr-TR", "en"]
    )

    moved = stripe.Customer.modify(customer.id, name="", address={"city": "İzmir", "line1": ""})
    deleted = customer.delete()

    assert (moved.name, moved.address.city, moved.address.line1) == (None, "İzmir", None)
    assert (moved.address.country, moved.preferred_locales) == ("TR", ["tr-TR", "en"])
    assert (deleted.deleted, stripe.Customer.retrieve(customer.id).deleted) == (True, True)


def test_events_are_listed_and_read() -> None:
    paid = stripe.PaymentIntent.create(**payment())

    newest = stripe.Event.list(limit=2).data
    event = stripe.Event.retrieve(newest[0].id)

    assert [e.type for e in newest] == ["payment_intent.succeeded", "payment_intent.created"]
    assert isinstance(event.data.object, stripe.PaymentIntent)
    assert (event.data.object.id, event.data.object.status) == (paid.id, "succeeded")


def test_events_are_filtered() -> None:
    paid = stripe.PaymentIntent.create(**payment())

    found = stripe.Event.list(
        types=["payment_intent.succeeded", "customer.created"],
        aggregate_id=paid.id,
        delivery_success=True,
        created={"gte": paid.created},
    )

    assert [event.type for event in found] == ["payment_intent.succeeded"]


# --- The balance ------------------------------------------------------------------------------


def test_the_balance_is_read() -> None:
    before = stripe.Balance.retrieve()
    stripe.PaymentIntent.create(**payment())

    after = stripe.Balance.retrieve()

    assert [row.currency for row in after.pending] == [row.currency for row in after.available]
    earned = sum(row.amount for row in after.pending) - sum(row.amount for row in before.pending)
    assert 0 < earned <= 12500


def test_balance_transactions_are_listed_and_read() -> None:
    paid = stripe.PaymentIntent.create(**payment())

    [charge] = stripe.BalanceTransaction.list(source=paid.id)
    read = stripe.BalanceTransaction.retrieve(charge.id)

    assert isinstance(read, stripe.BalanceTransaction)
    assert read.to_dict() == charge.to_dict()
    assert (read.type, read.source, read.status) == ("charge", paid.id, "pending")
    assert read.net == read.amount - read.fee
    assert read.available_on > read.created


def test_balance_transactions_are_paged_through_both_ways() -> None:
    made = [stripe.PaymentIntent.create(**payment(amount=4321)).id for _one in range(5)]

    charges = walked(stripe.BalanceTransaction, type="charge", currency="try")

    assert [one.source for one in charges if one.source in made] == made[::-1]


# --- Webhook endpoints ------------------------------------------------------------------------


def test_a_webhook_endpoint_is_created_changed_listed_and_deleted() -> None:
    made = stripe.WebhookEndpoint.create(
        url="https://acme.example/hooks",
        enabled_events=["payment_intent.succeeded", "payment_intent.canceled"],
        metadata={"shop": "1"},
    )

    changed = stripe.WebhookEndpoint.modify(made.id, enabled_events=["*"], disabled=True)
    read = stripe.WebhookEndpoint.retrieve(made.id)
    listed = [endpoint.id for endpoint in stripe.WebhookEndpoint.list(limit=1)]
    gone = stripe.WebhookEndpoint.delete(made.id)

    assert made.secret.startswith("whsec_")
    assert made.enabled_events == ["payment_intent.succeeded", "payment_intent.canceled"]
    assert (changed.status, changed.enabled_events) == ("disabled", ["*"])
    assert (read.to_dict(), listed) == (changed.to_dict(), [made.id])
    assert (gone.id, gone.deleted) == (made.id, True)
