"""Stripe's SDK for Python with checkout sessions: as its quickstart calls them, unmodified."""

import pytest
import stripe

from tests.stage.checkouts import SUCCESS_URL
from tests.stage.factories import confirmation

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


def test_a_refusal_is_stripes_own_error() -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        session(locale="de")

    assert (refused.value.code, refused.value.param) == ("parameter_invalid", "locale")
