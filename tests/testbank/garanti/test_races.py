"""The bank's Garanti doors asked the same at the same moment: its book moves money once."""

from functools import partial
from typing import Any

import pytest
from django.db.models import Sum

from core import clock
from testbank.models import Authentication, Authorization, Capture, Repayment, Reversal
from tests.stage import garanti_shop as shop
from tests.stage import payer
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.garanti_shop import DONE, declined, refused, said
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(databases=["default", "bank"], transaction=True)

AT_ONCE = 8


@pytest.fixture(autouse=True)
def _at_noon() -> None:
    begin_at_noon()


def answers(call: Any) -> list[tuple[str, str, str]]:
    told = together([call] * AT_ONCE)
    print(f"{len(told)} at once: {sorted(map(said, told))}")  # noqa: T201
    return sorted(map(said, told))


def test_refunds_at_once_give_back_what_was_captured() -> None:
    paid = shop.pay()
    end_the_day()

    told = answers(partial(shop.refund, paid, "2500"))

    assert told.count(DONE) == 5
    assert set(told) == {DONE, declined("13")}
    assert Repayment.objects.aggregate(total=Sum("amount"))["total"] == 12500


def test_voids_at_once_give_back_once() -> None:
    paid = shop.pay()

    told = answers(partial(shop.void, paid))

    assert told.count(DONE) == 1
    assert set(told) == {DONE, refused("0208")}
    assert Reversal.objects.get().amount == 12500


def test_captures_at_once_take_once() -> None:
    held = shop.hold()

    told = answers(partial(shop.capture, held))

    assert told.count(DONE) == 1
    assert set(told) == {DONE, refused("0209")}
    assert Capture.objects.get().amount == 12500


def test_lists_at_once_wait_for_each_other() -> None:
    for number in range(5):
        shop.pay(OrderID=f"0RDER{number}")
    day = f"{clock.now():%d/%m/%Y}"

    told = answers(partial(shop.listed, f"{day} 00:00", f"{day} 23:59"))

    assert set(told) == {shop.FOUND}


def test_a_proof_that_is_used_at_once_pays_once() -> None:
    back = shop.walk()

    told = answers(partial(shop.proven, back))

    assert told.count(DONE) == 1
    assert set(told) <= {DONE, refused("0122"), refused("0202")}
    assert Capture.objects.get().amount == 12500


def test_looks_at_the_way_back_charge_once() -> None:
    page = shop.enter(shop.form(secure3dsecuritylevel="3D_PAY"))
    transaction_id = Authentication.objects.get().transaction_id
    payer.request("POST", f"{page.form.action}", b"decision=approve")

    pages = together([partial(payer.get, f"/acs/{transaction_id}/answer")] * AT_ONCE)

    assert len({one.content for one in pages}) == 1
    assert Authorization.objects.count() == Capture.objects.count() == 1
