"""Fees: which price counts, how it is rounded, and when it is taken (contract-money)."""

import pytest
from django.db import IntegrityError
from hypothesis import given
from hypothesis import strategies as st

from ledger import parts, sale_terms
from ledger.book import Sale
from ledger.models import Price
from merchants.models import Merchant
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import CAPTURED_ON, Till, price
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def merchant() -> Merchant:
    return MerchantFactory()


def fee(merchant: Merchant, amount: int = 10_000, **terms: object) -> int:
    return fee_of(merchant, Sale(amount, "try", **terms))


def fee_of(merchant: Merchant, sale: Sale) -> int:
    return sale_terms.of(merchant.id, sale, captured_on=CAPTURED_ON).fee.amount


def test_without_a_price_a_charge_is_free(merchant: Merchant) -> None:
    price(MerchantFactory())

    assert fee(merchant) == 0


@pytest.mark.every_case("amounts and their rounding")
@pytest.mark.parametrize(
    ("amount", "expected"),
    # 250 bps of 19 are 0.475, of 20 are 0.5; 25 are more than all of the first three.
    [(1, 1), (24, 24), (25, 25), (26, 26), (10_000, 275), (10_019, 275), (10_020, 276)],
)
def test_a_fee_is_rounded_half_up_and_at_most_all(
    amount: int, expected: int, merchant: Merchant
) -> None:
    price(merchant)

    assert fee(merchant, amount) == expected


def test_no_fee_is_taken_of_the_surcharge(merchant: Merchant) -> None:
    price(merchant)

    assert fee(merchant, 12_600, surcharge=600) == 325


def test_the_most_specific_price_counts(merchant: Merchant) -> None:
    price(merchant, bps=100, fixed=0)
    price(merchant, bps=200, fixed=0, card_type="debit")
    price(merchant, bps=300, fixed=0, installments=3)
    price(merchant, bps=400, fixed=0, card_type="debit", installments=3)

    assert fee(merchant, card_type="credit") == 100
    assert fee(merchant, card_type="debit") == 200
    assert fee(merchant, card_type="credit", installments=3) == 300
    assert fee(merchant, card_type="debit", installments=3) == 400


def test_a_price_is_of_its_currency(merchant: Merchant) -> None:
    price(merchant)

    assert fee_of(merchant, Sale(10_000, "eur")) == 0


@pytest.mark.parametrize(
    "terms", [{"bps": -1}, {"bps": 10_001}, {"fixed": -1}, {"installments": 0}]
)
def test_a_price_that_makes_no_sense_is_refused(terms: dict, merchant: Merchant) -> None:
    with pytest.raises(IntegrityError, match="a_price_is"):
        price(merchant, **terms)


def test_one_price_counts_for_the_same_charges(merchant: Merchant) -> None:
    price(merchant, card_type="debit")

    with pytest.raises(IntegrityError, match="one_price_per_currency_card_type_and_installments"):
        price(merchant, card_type="debit")


def test_the_fee_is_the_one_of_the_moment_of_the_capture(
    acme: ApiClient, bank: BankTransport
) -> None:
    authorized = acme.pay(capture_method="manual")
    price(acme.merchant)
    acme.post(f"/v1/payment_intents/{authorized['id']}/capture")
    Price.objects.update(bps=500)

    attempt = Attempt.objects.get(intent_id=authorized["id"])
    assert attempt.fee == 338
    assert acme.pending() == 12500 - 338


def test_the_card_decides_the_price(acme: ApiClient, bank: BankTransport) -> None:
    price(acme.merchant, bps=100, fixed=0)
    price(acme.merchant, bps=200, fixed=0, card_type="credit")

    paid = acme.pay()

    assert paid["card"]["card_type"] == "credit"
    assert Attempt.objects.get(intent_id=paid["id"]).fee == 250


@given(amount=st.integers(0, 10**12), count=st.integers(1, 12))
def test_parts_are_alike_and_sum_to_the_whole(amount: int, count: int) -> None:
    lines = parts.split(amount, [CAPTURED_ON] * count)

    first, *others = [line.amount for line in lines]
    assert first + sum(others) == amount
    assert set(others) <= {amount // count}
    assert 0 <= first - amount // count < count


def test_parts_of_nothing_are_not_written(merchant: Merchant) -> None:
    price(merchant, bps=0, fixed=9)

    movement = Till(merchant).charge(10, parts=3)

    assert sorted(movement.entries.values_list("amount", flat=True)) == [-10, 1, 9]
