"""Payments at Garanti's doors: the bank's book, our ledger and the audit agree after each.

Both terminals of the bank are walked: one has a line for a void in its histories, the other only
the day of it, and repeats the sale's numbers outside of the result of an inquiry.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import acquirers
from acquirers import exchanges, terminals
from acquirers.exchanges import Spoken
from acquirers.gateway import Order, SoughtRefund
from acquirers.models import BankExchange, Terminal
from acquirers.outcomes import Outcome
from core import clock
from payments.bank import repayments
from payments.bank.orders import order_of
from payments.intents.models import Attempt
from testbank.garanti.terminals import FIRST, SECOND, GarantiTerminal
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_books import order
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.garanti.way import garanti_behind
from tests.stage.plans import BONUS, agree, plan
from tests.stage.protocol_way import ProtocolWay
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import authenticate, challenged, decide

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DECLINED, CHARGED_SILENTLY = "4000000000009995", "4000001100000017"
AN_HOUR, A_DAY = 3600, 86_400


@pytest.fixture(params=[FIRST, SECOND], ids=["first", "second"])
def bank(db: None, request: pytest.FixtureRequest) -> Iterator[ProtocolWay]:
    account: GarantiTerminal = request.param
    with garanti_behind(account) as way:
        begin_at_noon()
        yield way


def operations(attempt_id: str) -> list[tuple[str, str, str | None]]:
    """Return the exchanges that are written down, in the order in which they were sent."""
    rows = BankExchange.objects.filter(attempt_id=attempt_id).order_by("sent_at")
    return list(rows.values_list("operation", "answer", "bank_code"))


def test_a_sale_is_taken_and_voided_whole_on_its_day(acme: ApiClient, bank: ProtocolWay) -> None:
    paid = acme.pay()
    assert (paid["status"], captured_by_bank(acme)) == ("succeeded", 12500)

    made = acme.refund(paid["id"])

    assert (made["status"], made["method"]) == ("succeeded", "void")
    assert (order().state, order().given_back) == ("voided", (12500,))
    assert_audit_is_clean()


def test_a_part_waits_for_the_end_of_the_day_and_the_rest_for_its_turn(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    paid = acme.pay()
    part = acme.refund(paid["id"], 4000)
    assert (part["status"], part["pending_reason"]) == ("pending", "bank_day_open")

    end_the_day()
    sweep_after(AN_HOUR)
    rest = acme.refund(paid["id"])

    part = acme.refunded(part["id"])
    assert (part["status"], rest["status"]) == ("succeeded", "succeeded")
    assert len({part["reference"], rest["reference"], None}) == 3
    assert given_back(paid["id"]) == GivenBack(12500, 12500)
    assert_audit_is_clean()


def test_the_banks_yes_to_a_payment_is_none_to_its_refund(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    paid = acme.pay()
    waiting = acme.refund(paid["id"], 4000)

    assert acme.post(f"/v1/refunds/{waiting['id']}/cancel")["status"] == "canceled"

    assert operations(paid["latest_attempt"])[-1] == ("refund_inquiry", "day_open", "00")
    assert given_back(paid["id"]) == GivenBack(0, 0)
    assert_audit_is_clean()


def test_a_pre_authorisation_is_captured_in_part_and_refunded(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    held = acme.pay(capture_method="manual")
    taken = acme.post(f"/v1/payment_intents/{held['id']}/capture", {"amount_to_capture": 5000})
    assert (taken["status"], captured_by_bank(acme)) == ("succeeded", 5000)

    end_the_day()
    made = acme.refund(held["id"])

    assert (made["status"], made["method"], made["amount"]) == ("succeeded", "refund", 5000)
    assert_audit_is_clean()


def test_a_pre_authorisation_is_released(acme: ApiClient, bank: ProtocolWay) -> None:
    held = acme.pay(capture_method="manual")

    released = acme.post(f"/v1/payment_intents/{held['id']}/cancel")

    assert (released["status"], order().state, order().held) == ("canceled", "voided", 0)
    assert_audit_is_clean()


def test_a_hold_that_nobody_captured_has_lapsed_a_day_later(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    held = acme.pay(capture_method="manual")

    sweep_after(7 * A_DAY + 60)

    assert acme.payment(held["id"])["status"] == "canceled"
    assert order().state == "lapsed"
    assert_audit_is_clean()  # The bank's history shows the hold for one more day.
    sweep_after(2 * A_DAY)
    assert_audit_is_clean()


def number_is_asked_for_first(attempt: Attempt) -> Order:
    return replace(order_of(attempt), numbers={})


ACTS: dict[str, Callable[[Attempt], Outcome]] = {
    "a refund sent again": lambda attempt: repayments.refund_again(
        attempt, SoughtRefund("r", 4000, clock.now())
    ),
    "a refund without a number": lambda attempt: acquirers.of(attempt).refund(
        number_is_asked_for_first(attempt), reference="r", amount=4000
    ),
    "a void without a number": lambda attempt: acquirers.of(attempt).void(
        number_is_asked_for_first(attempt)
    ),
}


@pytest.mark.parametrize("act", ACTS)
def test_every_request_of_a_refusal_is_kept(act: str, acme: ApiClient, bank: ProtocolWay) -> None:
    acme.pay()
    attempt = Attempt.objects.select_related("terminal", "intent").get()
    if "void" in act:
        end_the_day()
    asked = len(bank.asked)

    exchanges.record_all(Spoken(attempt, BankExchange.Operation.REFUND, "re_1"), ACTS[act](attempt))

    assert BankExchange.objects.filter(operation_id="re_1").count() == len(bank.asked) - asked == 3


def test_a_decline_is_the_issuers(acme: ApiClient, bank: ProtocolWay) -> None:
    failed = acme.pay(DECLINED)

    assert failed["status"] == "requires_payment_method"
    error = failed["last_payment_error"]
    assert (error["decline_code"], error["network_decline_code"]) == ("insufficient_funds", "51")
    assert_audit_is_clean()


@pytest.mark.parametrize("fault", ["cut_after", "delay", "garble"])
def test_a_charge_without_an_answer_is_found_in_the_history(
    fault: str, acme: ApiClient, bank: ProtocolWay
) -> None:
    bank.fault = fault
    assert acme.pay()["status"] == "processing"

    bank.fault = None
    sweep_after(AN_HOUR)

    [payment] = acme.get("/v1/payment_intents")["data"]
    assert payment["status"] == "succeeded"
    assert captured_by_bank(acme) == 12500
    assert sum(b"<Type>sales</Type>" in body for body in bank.asked) == 1
    assert_audit_is_clean()


def test_a_silent_bank_that_charged_is_asked(acme: ApiClient, bank: ProtocolWay) -> None:
    paid = acme.pay(CHARGED_SILENTLY)
    assert paid["status"] == "processing"

    sweep_after(AN_HOUR)

    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert_audit_is_clean()


def test_a_refund_without_an_answer_is_found_by_its_line(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    paid = acme.pay()
    end_the_day()
    known = acme.refund(paid["id"], 4000)
    bank.fault = "cut_after"
    made = acme.refund(paid["id"], 4000)
    assert (known["status"], made["status"]) == ("succeeded", "pending")

    bank.fault = None
    sweep_after(AN_HOUR)

    found = acme.refunded(made["id"])
    assert (found["status"], found["reference"] != known["reference"]) == ("succeeded", True)
    assert sum(b"<Type>refund</Type>" in body for body in bank.asked) == 2
    assert given_back(paid["id"]) == GivenBack(8000, 8000)
    assert_audit_is_clean()


def test_a_void_after_the_banks_day_becomes_a_refund_and_both_answers_are_kept(
    acme: ApiClient, bank: ProtocolWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = acme.pay()
    # The bank closes its day earlier than the adapter believes.
    end_the_day()
    monkeypatch.setattr("acquirers.hearing.HeardGateway.voidable_until", lambda *_: None)

    made = acme.refund(paid["id"])

    assert (made["status"], made["method"]) == ("succeeded", "refund")
    asked = operations(paid["latest_attempt"])
    assert asked[0] == ("void", "settled", "92/0208")
    assert asked[1][:2] == ("modification_inquiry", "no_record")
    assert asked[2][:2] == ("refund", "approved")
    assert_audit_is_clean()


def test_installments_are_split_by_the_issuer(acme: ApiClient, bank: ProtocolWay) -> None:
    agree(acme.merchant, plan(3, 500, program="bonus"))
    paid = acme.pay(BONUS, amount=12_000, installments=3)

    assert (paid["status"], paid["installments"]) == ("succeeded", 3)
    assert b"<InstallmentCnt>3</InstallmentCnt><Amount>12600</Amount>" in bank.asked[0]
    assert_audit_is_clean()


@pytest.mark.parametrize("capture_method", ["automatic", "manual"])
def test_a_payer_authenticates_and_the_card_is_charged_by_the_proof(
    capture_method: str, acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme, capture_method=capture_method)

    arrived = authenticate(asked)

    assert arrived.status == 302, arrived.text
    paid = acme.payment(asked["id"])
    status = {"automatic": "succeeded", "manual": "requires_capture"}[capture_method]
    attempt = Attempt.objects.get(id=paid["latest_attempt"])
    assert (paid["status"], attempt.authentication["result"]) == (status, "authenticated")
    [sent] = [body for body in bank.asked if bank.inquiry not in body]
    assert b"<AuthenticationCode>" in sent
    assert b"CVV2" not in sent
    assert GOOD_CARD.encode() not in sent
    assert_audit_is_clean()


@pytest.mark.parametrize("button", ["Reject", "Cancel"])
def test_a_payer_who_does_not_authenticate_is_not_charged(
    button: str, acme: ApiClient, bank: ProtocolWay
) -> None:
    asked = challenged(acme)

    authenticate(asked, button)

    failed = acme.payment(asked["id"])
    assert failed["last_payment_error"]["code"] == "authentication_failed"
    assert bank.asked == []
    assert_audit_is_clean()


def test_a_bank_that_charges_by_itself_is_asked_after_the_return(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    use_model_3d_pay()
    asked = challenged(acme)

    authenticate(asked)

    assert acme.payment(asked["id"])["status"] == "succeeded"
    assert all(bank.inquiry in body for body in bank.asked)
    assert captured_by_bank(acme) == 12500
    assert_audit_is_clean()


def test_a_payer_who_was_charged_and_never_came_back_has_paid(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    use_model_3d_pay()
    asked = challenged(acme)
    decide(asked, "Approve")

    sweep_after(2 * AN_HOUR)

    assert acme.payment(asked["id"])["status"] == "succeeded"
    assert captured_by_bank(acme) == 12500
    assert_audit_is_clean()


def use_model_3d_pay() -> None:
    terminal = Terminal.objects.get(kind="garanti")
    values = {**terminals.credentials_of(terminal), "model": "3d_pay"}
    terminals.replace(terminal, values)


def test_wrong_credentials_charge_nothing_and_are_named(acme: ApiClient, bank: ProtocolWay) -> None:
    terminal = Terminal.objects.get(kind="garanti")
    assert terminals.problem_of(terminal) is None
    values = {**terminals.credentials_of(terminal), "password": "another"}
    terminals.replace(terminal, values)

    failed = acme.pay()

    assert failed["last_payment_error"]["code"] == "processing_error"
    assert "92/0651" in (terminals.problem_of(terminal) or "")
    assert_audit_is_clean()
