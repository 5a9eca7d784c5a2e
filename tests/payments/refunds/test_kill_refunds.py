"""kill -9 of a web worker, or of the sweeper's, during a refund, in real processes (I2, I7, I8)."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest
from requests import Response

from events.models import Event
from payments.refunds.models import Refund
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon, end_the_day, wait_for_refunds
from tests.stage.booked import movements
from tests.stage.client import ApiClient
from tests.stage.kills import (
    BOUNDARIES,
    PROOF_OF_KILLS,
    SWEEPERS_BOUNDARIES,
    Installation,
    retried,
    until,
    until_believed,
    until_swept,
)
from tests.stage.lengths import each_met
from tests.stage.refund_books import GivenBack, given_back

pytestmark = [pytest.mark.both_banks, pytest.mark.at_the_old_bank, *PROOF_OF_KILLS]


class Wanted(NamedTuple):
    """A refund that is asked for, and the movement that it is; amounts in minor units."""

    amount: int | None
    method: str
    goes_back: int


WANTED = {"void": Wanted(None, "void", 12500), "refund": Wanted(4000, "refund", 4000)}


@pytest.fixture
def paid(installation: Installation, acme: ApiClient) -> str:
    """A payment of 125.00 whose bank still has half of its day before it."""
    begin_at_noon()
    return acme.pay()["id"]


def asking(
    installation: Installation, acme: ApiClient, paid: str, wanted: Wanted
) -> Callable[[], Response]:
    """Return a call that asks for the refund, at a time at which the bank does it."""
    if wanted.amount:
        wait_for_refunds(installation)
    return partial(installation.refund, acme, paid, wanted.amount)


def status() -> str:
    return Refund.objects.get().status


def is_over() -> bool:
    return status() == "succeeded"


def of_the_merchant(acme: ApiClient) -> int:
    """Return pending and available money: days may have passed."""
    balance = acme.get("/v1/balance")
    return sum(one["amount"] for kind in ("pending", "available") for one in balance[kind])


def assert_gone_back_once(acme: ApiClient, paid: str, wanted: Wanted) -> None:
    refund = Refund.objects.get()
    assert (refund.status, refund.method) == ("succeeded", wanted.method)
    assert given_back(paid) == GivenBack(wanted.goes_back, wanted.goes_back)
    assert bank_books.order().given_back == (wanted.goes_back,)
    assert of_the_merchant(acme) == 12500 - wanted.goes_back
    assert movements(refund.id) == [wanted.method, "refund_paid"]
    told = Event.objects.filter(aggregate_id=refund.id).order_by("sequence")
    assert list(told.values_list("type", flat=True)) == ["refund.created", "refund.succeeded"]
    assert_audit_is_clean()


@pytest.mark.parametrize(("boundary", "what"), each_met(BOUNDARIES, list(WANTED)))
def test_after_a_kill_the_retry_finishes_it(
    boundary: str, what: str, paid: str, installation: Installation, acme: ApiClient
) -> None:
    wanted = WANTED[what]
    ask = asking(installation, acme, paid, wanted)
    installation.start(boundary)
    installation.dies_during(ask)

    answer = retried(ask)

    assert ask().content == answer.content
    if not installation.repeats and answer.json()["status"] == "pending":
        # Nothing is sent again to such a bank before it is believed that it got nothing.
        installation.start_sweeper()
        until_believed(is_over)
    else:
        assert answer.json()["status"] == "succeeded"
    assert_gone_back_once(acme, paid, wanted)


@pytest.mark.parametrize(("boundary", "what"), each_met(BOUNDARIES, list(WANTED)))
def test_after_a_kill_the_sweeper_alone_resolves_it(
    boundary: str, what: str, paid: str, installation: Installation, acme: ApiClient
) -> None:
    ask = asking(installation, acme, paid, WANTED[what])
    installation.start(boundary)
    installation.start_sweeper()
    installation.dies_during(ask)

    until_believed(is_over)

    assert_gone_back_once(acme, paid, WANTED[what])
    assert ask().json()["status"] == "succeeded"
    assert_gone_back_once(acme, paid, WANTED[what])


@pytest.mark.at_the_sandbox("the old bank's day ends at another hour")
def test_a_void_whose_bank_was_not_asked_before_midnight_becomes_a_refund(
    paid: str, installation: Installation, acme: ApiClient
) -> None:
    installation.start("after_the_first_transaction")
    installation.dies_during(lambda: installation.refund(acme, paid))
    end_the_day()

    installation.start_sweeper()

    until_swept(is_over)
    assert Refund.objects.get().method == "refund"
    assert given_back(paid) == GivenBack(12500, 12500)
    assert bank_books.order().given_back == (12500,)
    assert_audit_is_clean()


@pytest.mark.parametrize("boundary", SWEEPERS_BOUNDARIES)
def test_after_a_kill_of_the_sweeper_another_one_finishes_it(
    boundary: str, paid: str, installation: Installation, acme: ApiClient
) -> None:
    wanted = WANTED["refund"]
    installation.start("after_the_first_transaction")
    installation.dies_during(asking(installation, acme, paid, wanted))
    installation.start(boundary)

    installation.start_sweeper(is_deadly=True)

    until(lambda: not installation.once.exists())
    until_believed(is_over)
    assert_gone_back_once(acme, paid, wanted)
