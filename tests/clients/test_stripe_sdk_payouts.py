"""Payouts with Stripe's official SDK for Python, against the running service."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import stripe
from django.db import connections

from merchants.models import Merchant
from tests.stage.sdk_service import SdkService
from tests.stage.transfers import enrich

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("stripe_calls_us"),
]


def _committed(merchant_id: str) -> None:
    enrich(Merchant.objects.get(id=merchant_id))
    connections.close_all()


@pytest.fixture(autouse=True)
def _money(sdk_service: SdkService) -> None:
    # On a connection of its own: the service sees nothing of the test's transaction.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_committed, sdk_service.merchant_id).result()


def test_a_payout_is_made_read_changed_listed_and_canceled() -> None:
    made = stripe.Payout.create(amount=300, currency="try", metadata={"run": "1"})

    changed = stripe.Payout.modify(made.id, metadata={"run": "2"})
    read = stripe.Payout.retrieve(made.id)
    listed = [one.id for one in stripe.Payout.list(status="pending", limit=3).data]
    canceled = stripe.Payout.cancel(made.id)

    assert isinstance(made, stripe.Payout)
    assert (made.status, made.amount, made.destination) == ("pending", 300, "main")
    assert changed.metadata.to_dict() == read.metadata.to_dict() == {"run": "2"}
    assert made.id in listed
    assert canceled.status == "canceled"


def test_more_than_there_is_is_refused() -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.Payout.create(amount=999_999_999, currency="try")

    assert (refused.value.code, refused.value.param) == ("balance_insufficient", "amount")


def test_what_was_canceled_is_not_canceled_again() -> None:
    made = stripe.Payout.create(amount=300, currency="try")
    stripe.Payout.cancel(made.id)

    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.Payout.cancel(made.id)

    assert refused.value.code == "payout_unexpected_state"
