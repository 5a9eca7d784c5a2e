"""Refunds at a bank that keeps no name of them: which line of its list is whose is concluded."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from acquirers.conversation import settling
from acquirers.models import Terminal
from acquirers.outcomes import OperationKind
from core import clock
from payments.intents.models import Attempt
from tests.stage.bank_days import begin_at_noon
from tests.stage.client import REFUNDS, ApiClient
from tests.stage.oldbank import nameless
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import OldBankWay, old_bank_behind
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import sweep, sweep_after

pytestmark = [
    pytest.mark.usefixtures("books_agree"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

PART = 4000
HOUR = 3600


@pytest.fixture
def bank(db: None, old_bank: OldBank) -> Iterator[OldBankWay]:
    with old_bank_behind(old_bank, adapter=nameless.ADAPTER) as way:
        yield way


@pytest.fixture
def paid(acme: ApiClient, bank: OldBankWay) -> str:
    begin_at_noon()
    return acme.pay()["id"]


def lost(client: ApiClient, bank: OldBankWay, payment_id: str, fault: str) -> str:
    """Refund a part; the bank's answer does not come, or the request gets lost on its way."""
    bank.fault = fault
    made = client.refund(payment_id, PART)
    bank.fault = None
    assert (made["status"], made["pending_reason"]) == ("pending", "processing")
    return made["id"]


def refunds_asked(bank: OldBankWay) -> int:
    return sum(kind == "Refund" for kind, _order, _terminal in bank.seen)


def ends(client: ApiClient, *refund_ids: str) -> list[str]:
    return [client.refunded(one)["status"] for one in refund_ids]


def test_of_two_equal_parts_the_one_whose_answer_was_lost_is_found(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    first = acme.refund(paid, PART)
    clock.advance(timedelta(seconds=5))
    second = lost(acme, bank, paid, "cut_after")

    sweep_after(10)

    found = acme.refunded(second)
    assert (first["status"], found["status"]) == ("succeeded", "succeeded")
    assert None not in (first["reference"], found["reference"])
    assert first["reference"] != found["reference"]
    assert given_back(paid) == GivenBack(2 * PART, 2 * PART)


def test_of_two_equal_parts_the_one_that_was_lost_on_its_way_is_not_taken_for_the_other(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    acme.refund(paid, PART)  # In the same second, so that only its number tells it apart.
    second = lost(acme, bank, paid, "lost")

    for _ in range(4):
        sweep_after(HOUR)
    assert (ends(acme, second), refunds_asked(bank)) == (["pending"], 1)
    for _ in range(4):
        sweep_after(6 * HOUR)

    assert (ends(acme, second), refunds_asked(bank)) == (["succeeded"], 2)
    assert given_back(paid) == GivenBack(2 * PART, 2 * PART)


def test_the_next_one_waits_until_it_is_known_how_the_first_ended(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    first = lost(acme, bank, paid, "cut_after")
    second = acme.refund(paid, PART)
    assert (second["status"], second["pending_reason"]) == ("pending", "processing")
    assert refunds_asked(bank) == 1

    sweep_after(10)
    assert ends(acme, first) == ["succeeded"]
    sweep_after(60)

    assert (ends(acme, second["id"]), refunds_asked(bank)) == (["succeeded"], 2)
    assert given_back(paid) == GivenBack(2 * PART, 2 * PART)
    numbers = [acme.refunded(one)["reference"] for one in (first, second["id"])]
    assert len({*numbers}) == 2


def test_one_that_waits_for_its_turn_can_be_canceled(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    lost(acme, bank, paid, "cut_after")
    second = acme.refund(paid, PART)

    canceled = acme.post(f"{REFUNDS}/{second['id']}/cancel")
    sweep_after(10)

    assert canceled["status"] == "canceled"
    assert given_back(paid) == GivenBack(PART, PART)


def test_nothing_is_sent_again_before_the_end_of_the_banks_day(
    paid: str, acme: ApiClient, bank: OldBankWay
) -> None:
    made = lost(acme, bank, paid, "lost")

    for _ in range(9):
        sweep_after(HOUR)
    assert refunds_asked(bank) == 0
    clock.advance(timedelta(hours=1, minutes=9))
    sweep()
    assert refunds_asked(bank) == 0
    for _ in range(3):
        sweep_after(60)

    assert (ends(acme, made), refunds_asked(bank)) == (["succeeded"], 1)
    assert given_back(paid) == GivenBack(PART, PART)


def test_a_refund_that_the_bank_writes_down_late_is_not_sent_again(
    paid: str, acme: ApiClient, bank: OldBankWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bank's list is a day behind: only at the end of its day it has the refund."""
    with monkeypatch.context() as patched:
        patched.setattr(nameless.NamelessGateway, "inquire_refund", without_refunds)
        made = lost(acme, bank, paid, "cut_after")
        for _ in range(9):
            sweep_after(HOUR)
        assert ends(acme, made) == ["pending"]

    clock.advance(timedelta(hours=1, minutes=10))
    sweep()

    assert (ends(acme, made), refunds_asked(bank)) == (["succeeded"], 1)
    assert given_back(paid) == GivenBack(PART, PART)


def test_a_terminal_that_is_disabled_while_the_bank_is_asked_lets_nothing_be_sent_twice(
    paid: str, acme: ApiClient, bank: OldBankWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third "no record" counts by the facts of the terminal's bank, also while it is closed."""
    made = lost(acme, bank, paid, "cut_after")
    terminals = Terminal.objects.filter(id=Attempt.objects.get().terminal_id)
    settle = settling.settle

    def enabled_after(*arguments: Any) -> None:
        settle(*arguments)
        terminals.update(status=Terminal.Status.ENABLED)

    def disabled_meanwhile(gateway: Any, order: Any, *, sought: Any) -> Any:
        terminals.update(status=Terminal.Status.DISABLED)
        return without_refunds(gateway, order, sought=sought)

    with monkeypatch.context() as patched:
        patched.setattr(nameless.NamelessGateway, "inquire_refund", disabled_meanwhile)
        patched.setattr(settling, "settle", enabled_after)
        for _ in range(4):
            sweep_after(HOUR)
    sweep_after(6 * HOUR)

    assert (ends(acme, made), refunds_asked(bank)) == (["succeeded"], 1)
    assert given_back(paid) == GivenBack(PART, PART)


def without_refunds(gateway: Any, order: Any, *, sought: Any) -> Any:
    standing = gateway.inquire(order)
    payment = [one for one in standing.operations if one.deed is not OperationKind.REFUND]
    return replace(standing, operations=tuple(payment))
