"""Topups with Stripe's official SDK for Python, against the running service."""

import pytest
import stripe

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("stripe_calls_us"),
]


def test_a_topup_is_made_read_changed_listed_and_canceled() -> None:
    made = stripe.Topup.create(
        amount=300, currency="try", source="test_never", metadata={"run": "1"}
    )

    changed = stripe.Topup.modify(made.id, metadata={"run": "2"})
    read = stripe.Topup.retrieve(made.id)
    listed = [one.id for one in stripe.Topup.list(status="pending", limit=3).data]
    canceled = stripe.Topup.cancel(made.id)

    assert isinstance(made, stripe.Topup)
    assert (made.status, made.amount) == ("pending", 300)
    assert made.source.to_dict().keys() == {"type", "reference"}
    assert changed.metadata.to_dict() == read.metadata.to_dict() == {"run": "2"}
    assert made.id in listed
    assert canceled.status == "canceled"


def test_what_was_canceled_is_not_canceled_again() -> None:
    made = stripe.Topup.create(amount=300, currency="try", source="test_never")
    stripe.Topup.cancel(made.id)

    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.Topup.cancel(made.id)

    assert refused.value.code == "topup_unexpected_state"
