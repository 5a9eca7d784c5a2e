"""Gates that charge by themselves (model `3d_pay`): no charge of a lost payer is overlooked.

The bank charges before the browser comes back, and the browser may never come back.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.conf import settings
from django.db.models import F

from acquirers import terminals
from acquirers.models import Terminal
from cases.models import Case
from core import clock
from payments.charging import tasks
from payments.intents import deadlines
from payments.intents.models import Attempt, Modification
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_books import order, orders
from tests.stage.books import captured_by_bank
from tests.stage.client import Answer, ApiClient
from tests.stage.doors import MANUAL
from tests.stage.factories import confirmation
from tests.stage.protocol_gate import walk
from tests.stage.protocol_way import ProtocolWay
from tests.stage.real_banks import KINDS, real_bank
from tests.stage.sweeper import sweep, sweep_after
from tests.stage.threeds import bring, challenged, decide, pressed, return_to

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"


@pytest.fixture(params=KINDS)
def bank(db: None, request: pytest.FixtureRequest) -> Iterator[ProtocolWay]:
    with real_bank(request.param) as way:
        terminal = Terminal.objects.get(kind=request.param)
        values = {**terminals.credentials_of(terminal), "model": "3d_pay"}
        terminals.replace(terminal, values)
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


@pytest.mark.parametrize("charges", [True, False])
def test_a_gate_of_which_the_bank_says_nothing_comes_to_a_person(
    charges: bool, acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    gate = pressed(asked)
    if charges:
        walk(gate)
    bank.fault = "cut_before"
    sweep_after(2 * 3600)
    assert acme.payment(asked["id"])["status"] == "processing"

    clock.advance(timedelta(seconds=settings.CASE_AFTER_SECONDS))
    tasks.watch_cases()
    assert [case.kind for case in Case.objects.all()] == ["unknown_outcome"]
    bank.fault = None
    for _ in range(4):
        sweep_after(86_400)

    ends = "succeeded" if charges else "requires_payment_method"
    assert acme.payment(asked["id"])["status"] == ends
    assert captured_by_bank(acme) == (12500 if charges else 0)
    assert_audit_is_clean()


def test_a_payer_who_comes_back_in_doubt_lets_the_bank_be_asked_at_once(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme, **MANUAL)
    began = Attempt.objects.get().created_at
    back = decide(asked, "Approve")
    bank.fault = "cut_before"
    sweep_after(2 * 3600)
    bank.fault = None

    bring(back.fields, to=return_to(asked))
    sweep()

    assert acme.payment(asked["id"])["status"] == "requires_capture"
    # The bank counts its days from the payer's visit, not from our doubt.
    assert deadlines.expires_at(Attempt.objects.get()) == began + timedelta(days=7)
    assert Attempt.objects.get(asked_at__gt=F("created_at"))
    assert_audit_is_clean()


def test_a_payer_who_never_pressed_leaves_nothing_in_doubt(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    bank.fault = "cut_before"

    sweep_after(2 * 3600)

    assert acme.payment(asked["id"])["status"] == "requires_action"


def leave(acme: ApiClient, asked: Answer) -> None:
    sweep_after(2 * 3600)
    assert acme.payment(asked["id"])["status"] == "requires_payment_method"


def use_another_card(acme: ApiClient, asked: Answer) -> None:
    acme.post(f"{PATH}/{asked['id']}/confirm", confirmation())


def give_up(acme: ApiClient, asked: Answer) -> None:
    assert cancel(acme, asked)["status"] == "canceled"


@pytest.mark.parametrize("end", [give_up, use_another_card, leave])
def test_a_charge_after_the_attempts_end_is_found_without_a_return_and_given_back(
    end: Callable[[ApiClient, Answer], None], acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    gate = pressed(asked)
    end(acme, asked)
    walk(gate)

    go_on_asking()

    assert reversals() == [("reverse", "succeeded")]
    [charged] = [one for one in orders() if one.captured_amount]
    assert (charged.captured_amount, charged.taken) == (12500, ())
    assert_audit_is_clean()


def test_a_charge_after_a_confirm_that_met_a_silent_bank_is_found(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    gate = pressed(asked)
    clock.advance(timedelta(minutes=30))
    bank.fault = "cut_before"
    use_another_card(acme, asked)
    bank.fault = None
    for seconds in (10, 30, 120):
        sweep_after(seconds)
    walk(gate)

    go_on_asking()

    assert acme.payment(asked["id"])["status"] == "succeeded"
    assert captured_by_bank(acme) == 12500
    assert_audit_is_clean()


def test_an_attempt_whose_payer_never_pressed_is_not_asked_about(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)
    assert cancel(acme, asked)["status"] == "canceled"

    go_on_asking()

    assert bank.asked == []
