"""Stripe's SDK for Python with checkout sessions: as its quickstart calls them, unmodified."""

from typing import Any

import pytest
import stripe

from tests.stage.checkouts import SUCCESS_URL
from tests.stage.draining import until
from tests.stage.factories import confirmation
from tests.stage.sdk_service import SdkService

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("stripe_calls_us"),
]


def session(**changes: object) -> stripe.checkout.Session:
    """The call of Stripe's quickstart."""
    price = {"currency": "try", "unit_amount": 2000, "product_data": {"name": "T-shirt"}}
    return stripe.checkout.Session.create(
        line_items=[{"price_data": price, "quantity": 2}],
        mode="payment",
        success_url=SUCCESS_URL,
        **changes,
    )


def test_a_session_is_made_read_listed_and_ended() -> None:
    made = [session(client_reference_id=str(number)) for number in range(3)]
    first = made[0]
    stripe.PaymentIntent.confirm(first.payment_intent, **confirmation())

    read = stripe.checkout.Session.retrieve(first.id, expand=["payment_intent", "line_items"])
    ended = stripe.checkout.Session.expire(made[1].id)
    changed = stripe.checkout.Session.modify(made[2].id, metadata={"order": "7"})
    pages = stripe.checkout.Session.list(limit=1).auto_paging_iter()
    lines = stripe.checkout.Session.list_line_items(first.id, limit=1)

    assert (first.amount_total, first.status, first.url[:4]) == (4000, "open", "http")
    assert (read.status, read.payment_status) == ("complete", "paid")
    assert read.payment_intent.status == "succeeded"
    assert read.line_items.data[0].name == "T-shirt"
    assert (ended.status, ended.expiration_reason) == ("expired", "api")
    assert changed.metadata["order"] == "7"
    assert [one.id for one in pages] == [one.id for one in reversed(made)]
    assert [line.quantity for line in lines.auto_paging_iter()] == [2]


def test_a_paid_session_comes_as_a_webhook(sdk_service: SdkService) -> None:
    endpoint = stripe.WebhookEndpoint.create(
        url=sdk_service.hooks.url, enabled_events=["checkout.session.completed"]
    )
    made = session(client_reference_id="6735")
    stripe.PaymentIntent.confirm(made.payment_intent, **confirmation())

    def sent() -> list[Any]:
        return [it for it in sdk_service.hooks.requests if made.id.encode() in it.body]

    until(sent)
    delivery = sent()[0]
    signature = delivery.headers["pf-signature"]
    event = stripe.Webhook.construct_event(delivery.body, signature, endpoint.secret)

    assert event.type == "checkout.session.completed"
    paid = event.data.object
    assert (paid.id, paid.payment_status, paid.client_reference_id) == (made.id, "paid", "6735")
    assert event.to_dict() == stripe.Event.retrieve(event.id).to_dict()
    stripe.WebhookEndpoint.delete(endpoint.id)


def test_a_refusal_is_stripes_own_error() -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        session(locale="de")

    assert (refused.value.code, refused.value.param) == ("parameter_invalid", "locale")
