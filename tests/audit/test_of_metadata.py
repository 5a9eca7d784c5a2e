"""`manage.py audit`: lists find a payment by the metadata that it shows, and by nothing else."""

from collections.abc import Callable

import pytest
from django.db import connection

from payments.intents.models import MetadataEntry, PaymentIntent
from tests.audit.test_audit import audit, differences_of, unguarded
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CHECK = "metadata is found as it is shown"


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    """The id of a payment whose metadata was changed, among others."""
    acme.pay()
    acme.pay(metadata={"shop": "1"})
    paid = acme.pay(metadata={"shop": "1", "till": "7", "clerk": "Ali"})["id"]
    acme.post(f"/v1/payment_intents/{paid}", {"metadata": {"till": "", "shop": "2"}})
    connection.check_constraints()
    return paid


def test_what_merchants_give_and_change_is_clean(paid: str) -> None:
    status, said = audit()

    assert status == 0
    assert f"{CHECK}: 3 looked at, ok" in said


def an_entry_lost(paid: str) -> None:
    MetadataEntry.objects.filter(intent=paid, key="shop").delete()


def a_key_shown_no_more(paid: str) -> None:
    PaymentIntent.objects.filter(id=paid).update(metadata={"clerk": "Ali"})


def another_value(paid: str) -> None:
    MetadataEntry.objects.filter(intent=paid, key="shop").update(value="3")


def another_merchants_entry(paid: str) -> None:
    unguarded(
        "UPDATE intents_metadataentry SET merchant_id = %s WHERE intent_id = %s AND key = 'shop'",
        MerchantFactory().id,
        paid,
    )


def another_time(paid: str) -> None:
    unguarded("UPDATE intents_paymentintent SET created_at = now() WHERE id = %s", paid)


def an_entry_of_nothing(paid: str) -> None:
    unguarded("UPDATE intents_metadataentry SET intent_id = intent_id || 'x' WHERE key = 'clerk'")


@pytest.mark.every_case("each difference in the books must be found")
@pytest.mark.parametrize(
    ("plant", "named"),
    [
        (an_entry_lost, "key shop is not found by lists"),
        (a_key_shown_no_more, "key shop is found by lists and not shown"),
        (another_value, "key shop is found by lists with another value"),
        (another_merchants_entry, "key shop is found by lists with another value, merchant"),
        (another_time, "key clerk is found by lists with another value, merchant or time"),
        (an_entry_of_nothing, "key clerk is found by lists and not shown"),
    ],
)
def test_a_planted_difference_is_named(plant: Callable[[str], None], named: str, paid: str) -> None:
    plant(paid)

    status, said = audit()

    assert status == 1
    assert paid in differences_of(CHECK, said)
    assert named in differences_of(CHECK, said)
