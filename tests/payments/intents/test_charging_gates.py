"""Gates that charge by themselves (model `3d_pay`): no charge of a lost payer is overlooked.

The bank charges before the browser comes back, and the browser may never come back.
"""

from collections.abc import Iterator

import pytest

from acquirers import terminals
from acquirers.models import Terminal
from payments.intents.models import Modification
from testbank.garanti.terminals import FIRST as GARANTI
from testbank.nestpay.terminals import FIRST as NESTPAY
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_books import order
from tests.stage.bank_days import begin_at_noon
from tests.stage.books import captured_by_bank
from tests.stage.client import Answer, ApiClient
from tests.stage.doors import MANUAL
from tests.stage.factories import confirmation
from tests.stage.garanti.way import garanti_behind
from tests.stage.nestpay.way import nestpay_behind
from tests.stage.protocol_gate import walk
from tests.stage.protocol_way import ProtocolWay
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import challenged, decide, pressed

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
BANKS = {"nestpay": lambda: nestpay_behind(NESTPAY), "garanti": lambda: garanti_behind(GARANTI)}


@pytest.fixture(params=sorted(BANKS))
def bank(db: None, request: pytest.FixtureRequest) -> Iterator[ProtocolWay]:
    with BANKS[request.param]() as way:
        terminal = Terminal.objects.get(kind=request.param)
        values = {**terminals.credentials_of(terminal), "model": "3d_pay"}
        terminals.replace(terminal, values)
        begin_at_noon()
        yield way


def cancel(acme: ApiClient, paid: Answer) -> Answer:
    return acme.post(f"{PATH}/{paid['id']}/cancel", {})


def reversals() -> list[tuple[str, str]]:
    return list(Modification.objects.values_list("kind", "status"))


def go_on_asking() -> None:
    """Let the time pass in which an attempt that has ended is asked about."""
    for seconds in (1, 10, 30, 120, 600, 3600):
        sweep_after(seconds)


def test_a_payer_who_was_charged_meanwhile_is_not_canceled(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    decide(asked, "Approve")  # The return is lost.

    answer = cancel(acme, asked)

    assert answer.refusal[:2] == (400, "payment_intent_unexpected_state")
    assert acme.payment(asked["id"])["status"] == "succeeded"
    assert captured_by_bank(acme) == 12500
    assert_audit_is_clean()


def test_money_that_was_held_meanwhile_is_released_by_the_cancel(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme, **MANUAL)
    decide(asked, "Approve")

    answer = cancel(acme, asked)

    assert (answer.status, answer["status"]) == (200, "canceled")
    assert order().state == "voided"
    assert_audit_is_clean()


def test_nothing_is_canceled_while_the_bank_does_not_say_whether_it_charged(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    decide(asked, "Approve")
    bank.fault = "cut_before"

    answer = cancel(acme, asked)

    assert answer.refusal[:2] == (503, "upstream_unavailable")
    assert acme.payment(asked["id"])["status"] == "requires_action"


def test_a_charge_after_the_cancel_is_found_without_the_payers_return(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    gate = pressed(asked)
    assert cancel(acme, asked)["status"] == "canceled"
    walk(gate)

    go_on_asking()

    assert reversals() == [("reverse", "succeeded")]
    assert (order().captured_amount, order().taken) == (12500, ())
    assert_audit_is_clean()


def test_a_first_card_that_is_charged_behind_a_second_one_is_given_back(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    gate = pressed(asked)
    acme.post(f"{PATH}/{asked['id']}/confirm", confirmation())
    walk(gate)

    go_on_asking()

    assert reversals() == [("reverse", "succeeded")]
    assert_audit_is_clean()


def test_a_payer_who_left_is_asked_about_until_no_charge_can_come(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    gate = pressed(asked)
    sweep_after(2 * 3600)
    assert acme.payment(asked["id"])["status"] == "requires_payment_method"
    walk(gate)

    go_on_asking()

    assert reversals() == [("reverse", "succeeded")]
    assert_audit_is_clean()


def test_an_attempt_whose_payer_never_pressed_is_not_asked_about(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    assert cancel(acme, asked)["status"] == "canceled"

    go_on_asking()

    assert bank.asked == []
