"""The bank's NestPay doors asked the same at the same moment: its book moves money once."""

from functools import partial
from typing import Any

import pytest
from django.db.models import Sum

from testbank import misbehaviours
from testbank.models import (
    Authentication,
    Authorization,
    Capture,
    Misbehaviour,
    Repayment,
    Reversal,
)
from tests.stage import nestpay_shop as shop
from tests.stage import payer
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.nestpay_shop import DONE, refused, said
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


def test_a_proof_that_is_used_at_once_pays_once() -> None:
    back = shop.walk()

    told = answers(partial(shop.proven, back))

    assert told.count(DONE) == 1
    assert set(told) <= {DONE, refused("CORE-2127"), refused("CORE-2507")}
    assert Capture.objects.get().amount == 12500


def test_looks_at_the_way_back_charge_once() -> None:
    page = shop.enter(shop.form(storetype="3d_pay"))
    transaction_id = Authentication.objects.get().transaction_id
    sent = b"decision=approve"
    payer.request("POST", f"{page.form.action}", sent)

    pages = together([partial(payer.get, f"/acs/{transaction_id}/answer")] * AT_ONCE)

    assert len({one.content for one in pages}) == 1
    assert Authorization.objects.count() == Capture.objects.count() == 1


def test_refunds_at_once_give_back_what_was_captured() -> None:
    shop.pay()
    end_the_day()

    told = answers(partial(shop.refund, "25.00"))

    assert told.count(DONE) == 5
    assert set(told) == {DONE, refused("CORE-2504")}
    assert Repayment.objects.aggregate(total=Sum("amount"))["total"] == 12500


def test_voids_at_once_give_back_once() -> None:
    shop.pay()

    told = answers(shop.void)

    assert told.count(DONE) == 1
    assert Reversal.objects.get().amount == 12500


def test_captures_at_once_take_once() -> None:
    shop.hold()

    told = answers(shop.capture)

    assert told.count(DONE) == 1
    assert Capture.objects.get().amount == 12500


def test_a_misbehaviour_happens_as_often_as_planned() -> None:
    shop.pay()
    misbehaviours.plan("CORE-9999", times=3, on="ORDERHISTORY")

    told = answers(shop.inquire)

    assert told.count(refused("CORE-9999")) == 3
    assert Misbehaviour.objects.get().times_left == 0
