"""Payments at a bank that speaks NestPay: its book, our ledger and the audit agree after each.

Both terminals of the bank are walked: one answers in ISO-8859-9 and in minor units, the other in
UTF-8, with amounts as `1.01` and `ERRORCODE` outside of `Extra`.
"""

from collections.abc import Iterator

import pytest

from acquirers import terminals
from acquirers.models import BankExchange, Terminal
from acquirers.sandbox import cards
from payments.intents.models import Attempt
from testbank import behaviours
from testbank.nestpay.terminals import FIRST, SECOND, NestpayTerminal
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_books import order
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.nestpay.way import nestpay_behind
from tests.stage.plans import BONUS, agree, plan
from tests.stage.protocol_way import ProtocolWay
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import authenticate, challenged, decide

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DECLINED, CHARGED_SILENTLY = "4000000000009995", "4000001100000017"
# Of a network that the service does not know; the bank's contract may have it.
OF_MIR = "2200000000000004"
AN_HOUR = 3600


@pytest.fixture(params=[FIRST, SECOND], ids=["first", "second"])
def bank(db: None, request: pytest.FixtureRequest) -> Iterator[ProtocolWay]:
    account: NestpayTerminal = request.param
    with nestpay_behind(account) as way:
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


def test_a_card_of_a_network_that_is_unknown_has_no_brand(
    acme: ApiClient, bank: ProtocolWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only in live, which takes more than test cards. Each answer is held against the schema."""
    monkeypatch.setattr(cards, "NUMBERS", {OF_MIR})
    monkeypatch.setitem(behaviours.CARDS, OF_MIR, behaviours.APPROVE)

    paid = acme.pay(OF_MIR)

    assert (paid["status"], paid["card"]["brand"]) == ("succeeded", None)
    [attempt] = acme.get(f"/v1/payment_intents/{paid['id']}?expand[]=attempts")["attempts"]
    shown = [paid["card"], attempt["card"]]
    shown += [event["data"]["object"]["card"] for event in acme.events_of(paid["id"])[1:]]
    assert {card["brand"] for card in shown} == {None}


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
    assert sum(b"<Type>Auth</Type>" in body for body in bank.asked) == 1
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
    assert sum(b"<Type>Credit</Type>" in body for body in bank.asked) == 2
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
    assert asked[0] == ("void", "settled", "CORE-2008")
    assert asked[1][:2] == ("modification_inquiry", "no_record")
    assert asked[2][:2] == ("refund", "approved")
    assert_audit_is_clean()


def test_installments_are_split_by_the_issuer(acme: ApiClient, bank: ProtocolWay) -> None:
    agree(acme.merchant, plan(3, 500, program="bonus"))
    paid = acme.pay(BONUS, amount=12_000, installments=3)

    assert (paid["status"], paid["installments"]) == ("succeeded", 3)
    assert b"<Total>126.00</Total><Currency>949</Currency><Taksit>3</Taksit>" in bank.asked[0]
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
    [sent] = [body for body in bank.asked if b"<Type>" in body]
    assert b"<PayerAuthenticationCode>" in sent
    assert b"Cvv2Val" not in sent
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
    assert all(b"<Type>" not in body for body in bank.asked)
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
    terminal = Terminal.objects.get(kind="nestpay")
    values = {**terminals.credentials_of(terminal), "model": "3d_pay"}
    terminals.replace(terminal, values)


def test_wrong_credentials_charge_nothing_and_are_named(acme: ApiClient, bank: ProtocolWay) -> None:
    terminal = Terminal.objects.get(kind="nestpay")
    assert terminals.problem_of(terminal) is None
    values = {**terminals.credentials_of(terminal), "password": "another"}
    terminals.replace(terminal, values)

    failed = acme.pay()

    assert failed["last_payment_error"]["code"] == "processing_error"
    assert "CORE-2202" in (terminals.problem_of(terminal) or "")
    assert_audit_is_clean()
