"""Topups that meet: whatever their order, a transfer is booked once, or not at all."""

from collections.abc import Iterator
from typing import Any

import pytest

from payouts.topups.models import IncomingTransfer
from testbank import incoming
from tests.stage.audited import assert_our_own_books_agree
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.sweeper import on_one_thread_each
from tests.stage.threads import together
from tests.stage.topups import TOPUPS, awaited, come, come_after, status, told, top_up
from tests.stage.transfers import IN_CASH, balance, hear, pay_out, rich

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

ARRIVED = IncomingTransfer.objects.exclude(rail=IN_CASH)


@pytest.fixture(autouse=True)
def _sweepers_ask_where_they_are() -> Iterator[None]:
    with on_one_thread_each():
        yield


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return rich(acme, 1000)


def test_a_cancellation_as_the_transfer_comes_is_one_or_the_other(shop: ApiClient) -> None:
    for _ in range(6):
        made = awaited(shop)
        text = made["source"]["reference"]
        incoming.receive(amount=5000, currency="try", remittance=text)
        together([hear, lambda made=made: shop.twin().post(f"{TOPUPS}/{made['id']}/cancel")])
        assert status(made["id"]) in ("canceled", "succeeded")

    matched = ARRIVED.filter(status="matched").count()
    assert ARRIVED.filter(status="unmatched").count() == 6 - matched
    assert balance(shop) == 1000 + 5000 * matched
    assert_our_own_books_agree()


def test_two_transfers_for_one_topup_are_one_and_a_case(shop: ApiClient) -> None:
    text = awaited(shop)["source"]["reference"]
    for _ in range(2):
        incoming.receive(amount=5000, currency="try", remittance=text)

    together([hear] * 4)
    hear()

    found = ARRIVED.order_by("id").values_list("status", flat=True)
    assert sorted(found) == ["matched", "unmatched"]
    assert balance(shop) == 6000
    assert_our_own_books_agree()


def test_a_bank_told_by_many_has_the_transfer_once(shop: ApiClient) -> None:
    made = top_up(shop)

    together([come] * 4)
    come()

    assert (told(shop, made["id"]), balance(shop)) == (["succeeded"], 6000)
    assert ARRIVED.count() == 1


def test_a_reversal_beside_payouts_loses_no_money(shop: ApiClient) -> None:
    top_up(shop, source="test_reverse")
    come()

    def paying_out() -> Any:
        twin = shop.twin()

        def call() -> Answer:
            while (answer := pay_out(twin, 1000)).status == 409:
                pass
            return answer

        return call

    together([lambda: come_after(5), *(paying_out() for _ in range(19))])
    come()

    paid = sum(row["amount"] for row in shop.get("/v1/payouts?limit=100")["data"])
    # The reversal may take it below zero; a payout never does.
    assert balance(shop) == 1000 - paid
    assert paid <= 6000
    assert_our_own_books_agree()
