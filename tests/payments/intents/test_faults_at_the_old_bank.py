"""The faults that a bank of the old kind makes dear, each planted once and found.

Each check is made against the service as it is, and against an adapter or a service with the
fault: a check that a fault passes proves nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings as service_settings
from django.test import override_settings
from django.utils import timezone

from acquirers.models import Terminal
from payments.intents.models import PaymentIntent
from tests.stage import bank_books
from tests.stage.both_banks import OLD
from tests.stage.client import ApiClient
from tests.stage.oldbank import wrong
from tests.stage.oldbank.gateway import OldBankGateway
from tests.stage.oldbank.terminals import SECOND
from tests.stage.oldbank.way import KIND, OldBankWay, add_terminal
from tests.stage.stories import assert_charged_at_most_once
from tests.stage.sweeper import sweep_after

pytestmark = [
    pytest.mark.proof(part="doors"),
    pytest.mark.parametrize("door", [OLD], indirect=True),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
IMPATIENCE_SECONDS = 0.3
Check = Callable[[ApiClient, OldBankWay], None]


@contextmanager
def planted(adapter: type[OldBankGateway], bank: OldBankWay) -> Iterator[None]:
    """Let the service use an adapter with a fault during the block."""
    place = f"{adapter.__module__}.{adapter.__name__}"
    with override_settings(ACQUIRERS={**service_settings.ACQUIRERS, KIND: place}):
        bank.carry_for(Terminal.objects.get(kind=KIND))
        yield


def status(payment_id: str) -> str:
    return PaymentIntent.objects.get(id=payment_id).status


def pay_and_hear_nothing(shop: ApiClient) -> str:
    """Pay while the bank keeps the payment in the air for longer than it is waited for."""
    with override_settings(ACQUIRER_TIMEOUT_SECONDS=IMPATIENCE_SECONDS):
        return shop.pay()["id"]


def a_time_out_charges_once(shop: ApiClient, bank: OldBankWay) -> None:
    with bank.bank.held():
        payment_id = pay_and_hear_nothing(shop)
        asked = len(bank.seen)
    bank.bank.await_lines(asked)

    sweep_after(10)

    assert assert_charged_at_most_once(payment_id) == 12500


def what_is_on_its_way_is_not_given_up(shop: ApiClient, bank: OldBankWay) -> None:
    with bank.bank.held():
        payment_id = pay_and_hear_nothing(shop)
        sweep_after(10)
    bank.bank.await_lines()
    sweep_after(3600)

    assert status(payment_id) == "succeeded"
    assert assert_charged_at_most_once(payment_id) == 12500


def a_void_goes_where_the_payment_was_made(shop: ApiClient, bank: OldBankWay) -> None:
    payment_id = shop.pay(capture_method="manual")["id"]
    add_terminal(bank.bank, SECOND)

    canceled = shop.post(f"{PATH}/{payment_id}/cancel")

    assert canceled["status"] == "canceled"
    assert bank_books.order().state == "voided"


def a_late_charge_is_given_back_where_it_was_made(shop: ApiClient, bank: OldBankWay) -> None:
    payment_id = shop.pay("4000001100000066", capture_method="manual")["id"]
    add_terminal(bank.bank, SECOND)

    shop.post(f"{PATH}/{payment_id}/capture")

    assert bank_books.order().held == 0, "the refused capture's authorisation is held"


def an_unanswered_capture_is_found_behind_its_payment(shop: ApiClient, bank: OldBankWay) -> None:
    payment_id = shop.pay(capture_method="manual")["id"]
    bank.fault = "cut_after"
    shop.post(f"{PATH}/{payment_id}/capture", {"amount_to_capture": 5000})
    bank.fault = None

    sweep_after(3700)

    assert status(payment_id) == "succeeded"
    assert assert_charged_at_most_once(payment_id) == 5000


def a_request_at_work_is_left_alone(shop: ApiClient, bank: OldBankWay) -> None:
    real = OldBankGateway.authorize

    def sweep_meanwhile(*arguments: Any) -> Any:
        told = real(*arguments)
        sweep_after(86_400)
        return told

    with patch.object(OldBankGateway, "authorize", sweep_meanwhile):
        shop.pay()

    assert bank.inquiries_seen() == 0


CHECKS: dict[str, tuple[Check, type[OldBankGateway] | None]] = {
    "retry after a time-out": (a_time_out_charges_once, wrong.SendsAgain),
    "no record believed at once": (what_is_on_its_way_is_not_given_up, wrong.BelievesNoRecord),
    "void at the wrong terminal": (a_void_goes_where_the_payment_was_made, wrong.VoidsElsewhere),
    "void at the wrong terminal, believed": (
        a_void_goes_where_the_payment_was_made,
        wrong.VoidsElsewhereAndBelieves,
    ),
    "release at the wrong terminal": (
        a_late_charge_is_given_back_where_it_was_made,
        wrong.VoidsElsewhere,
    ),
    "payment hidden by a modification": (
        an_unanswered_capture_is_found_behind_its_payment,
        wrong.AsksPlainly,
    ),
    "lease not taken": (a_request_at_work_is_left_alone, None),
}


@pytest.mark.parametrize("fault", CHECKS)
def test_the_service_passes_the_check(fault: str, acme: ApiClient, bank: OldBankWay) -> None:
    check, _adapter = CHECKS[fault]

    check(acme, bank)


@pytest.mark.planted
@pytest.mark.parametrize("fault", [name for name in CHECKS if CHECKS[name][1]])
def test_the_check_finds_the_planted_fault(fault: str, acme: ApiClient, bank: OldBankWay) -> None:
    check, adapter = CHECKS[fault]
    assert adapter is not None

    with planted(adapter, bank), pytest.raises(AssertionError):
        check(acme, bank)


@pytest.mark.planted
def test_the_check_finds_a_lease_that_is_not_taken(
    acme: ApiClient, bank: OldBankWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = timezone.now() - timedelta(seconds=1)
    monkeypatch.setattr("acquirers.conversation.leases.end", lambda: past)

    with pytest.raises(AssertionError):
        a_request_at_work_is_left_alone(acme, bank)
