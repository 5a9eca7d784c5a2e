"""The sandbox's gateway, notices and disputes: what it reads, hands in, and never believes."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from acquirers import terminals
from acquirers.models import Terminal
from acquirers.noticed import Notice, NoticeKind, NoticesUnreadable
from acquirers.outcomes import Answer, Outcome
from core import clock
from testbank import decisions, notices
from testbank.models import Authorization
from tests.stage import bank_orders
from tests.stage.bank_disputes import INQUIRED, complained, told
from tests.stage.bank_orders import authorize
from tests.stage.bank_transport import BankTransport, an_order, bank_in_process, sandbox

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WON = {"uncategorized_text": "winning_evidence"}


@pytest.fixture
def bank() -> Iterator[BankTransport]:
    with bank_in_process() as transport:
        yield transport


def told_to_us(after: int = 0, limit: int = 200) -> list[Notice]:
    found = sandbox().notices(Terminal(kind="sandbox"), after=after, limit=limit)
    assert found is not None
    return found


def submit(dispute: str, number: int = 1) -> Outcome:
    return sandbox().submit_evidence(an_order(), dispute=dispute, number=number, evidence=WON)


def accept(dispute: str) -> Outcome:
    return sandbox().accept_dispute(an_order(), dispute=dispute)


def end_inquiry(dispute: str) -> Outcome:
    return sandbox().end_inquiry(an_order(), dispute=dispute)


def test_a_dispute_comes_as_a_notice(bank: BankTransport) -> None:
    dispute = complained()

    [notice] = told_to_us()

    assert notice.due_by is not None
    # The bank writes both in whole seconds, of moments that are not the same.
    assert abs(notice.due_by - notice.at - timedelta(days=10)) <= timedelta(seconds=1)
    assert abs(notice.at - clock.now()) < timedelta(minutes=1)
    assert notice == Notice(
        number=1,
        kind=NoticeKind.DISPUTE_OPENED,
        reference="ref_1",
        refund_reference=None,
        dispute=dispute,
        amount=12500,
        currency="try",
        reason="fraudulent",
        network_reason_code="10.4",
        due_by=notice.due_by,
        at=notice.at,
    )


def test_a_bounced_refund_comes_as_a_notice(bank: BankTransport) -> None:
    authorize(capture=True)
    bank_orders.refund(5000)
    decisions.bounce("back_1")

    [notice] = told_to_us()

    said = (notice.kind, notice.refund_reference, notice.dispute, notice.amount, notice.reason)
    assert said == (NoticeKind.REFUND_BOUNCED, "back_1", None, 5000, None)
    assert (notice.network_reason_code, notice.due_by) == ("54", None)


def test_every_kind_of_notice_has_the_words_of_the_gateways() -> None:
    words = {kind.value for kind in notices.NoticeKind}

    assert words == {kind.value for kind in NoticeKind}


def test_a_kind_that_is_not_listed_is_passed_on_and_stops_no_other(bank: BankTransport) -> None:
    other = {**NOTICE, "kind": "card_replaced", "dispute": None, "reason": "card_lost"}
    bank.fault = "garble"
    bank.garbled = json.dumps({"notices": [other, {**NOTICE, "number": 2}]}).encode()

    assert [one.kind for one in told_to_us(limit=2)] == [
        "card_replaced",
        NoticeKind.DISPUTE_OPENED,
    ]


def test_notices_are_read_page_by_page_to_their_limit(bank: BankTransport) -> None:
    for number in range(105):
        authorize(reference=f"ref_{number}", capture=True)
        decisions.inquiry(f"ref_{number}")

    assert [one.number for one in told_to_us()] == [*range(1, 106)]
    assert [one.number for one in told_to_us(after=100, limit=2)] == [101, 102]
    assert told_to_us(after=105) == []


@pytest.mark.parametrize("fault", ["cut_before", "lost", "cut_after", "delay", "garble"])
def test_a_link_that_fails_tells_no_notices(fault: str, bank: BankTransport) -> None:
    complained()
    bank.fault = fault

    with pytest.raises(NoticesUnreadable):
        told_to_us()


def test_credentials_that_do_not_open_tell_no_notices(bank: BankTransport) -> None:
    terminal = terminals.add("broken", kind="sandbox", values={"signing_key": "k"})
    terminal.sealed = b"x" * 40

    with pytest.raises(NoticesUnreadable):
        sandbox().notices(terminal, after=0)


NOTICE: dict[str, Any] = {
    "number": 1,
    "kind": "dispute_opened",
    "reference": "ref_1",
    "refund_reference": None,
    "dispute": "D" * 20,
    "amount": 12500,
    "currency": "try",
    "reason": "fraudulent",
    "network_reason_code": "10.4",
    "due_by": 1800000000,
    "at": 1799000000,
}


@pytest.mark.every_case("each state, and each answer of a bank")
@pytest.mark.parametrize(
    "changes",
    [
        {"number": 2},
        {"number": 0},
        {"number": True},
        {"number": "1"},
        {"kind": "Payment won"},
        {"kind": "k" * 41},
        {"kind": None},
        {"reference": None},
        {"reference": "ref 1"},
        {"refund_reference": 1},
        {"dispute": "D" * 19},
        {"dispute": "d" * 20},
        {"amount": -1},
        {"amount": 1.5},
        {"currency": "TRY"},
        {"reason": "Because"},
        {"amount": 2**63},
        {"network_reason_code": "10,4"},
        {"due_by": "2027"},
        {"due_by": 2**53},
        {"due_by": 2**52},
        {"at": None},
        {"at": -1},
    ],
)
def test_a_notice_of_another_form_is_not_believed(
    changes: dict[str, Any], bank: BankTransport
) -> None:
    bank.fault, bank.garbled = "garble", json.dumps({"notices": [NOTICE]}).encode()
    assert told_to_us(limit=1)[0].dispute == "D" * 20

    bank.garbled = json.dumps({"notices": [{**NOTICE, **changes}]}).encode()

    with pytest.raises(NoticesUnreadable):
        told_to_us(limit=1)


@pytest.mark.parametrize("body", ["[]", "null", "{}", '{"notices": null}', '{"notices": [null]}'])
def test_no_notices_are_read_from_something_else(body: str, bank: BankTransport) -> None:
    bank.fault, bank.garbled = "garble", body.encode()

    with pytest.raises(NoticesUnreadable):
        told_to_us()


# --- Evidence and acceptance ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "close", "kind"),
    [("4000000000000259", accept, "dispute_lost"), (INQUIRED, end_inquiry, "inquiry_closed")],
)
def test_evidence_and_the_merchants_close_are_acknowledged_each_time(
    number: str, close: Callable[[str], Outcome], kind: str, bank: BankTransport
) -> None:
    dispute = complained(number)

    assert submit(dispute) == submit(dispute) == Outcome(Answer.APPROVED, response_code="00")
    assert close(dispute) == close(dispute) == Outcome(Answer.APPROVED, response_code="00")
    assert told()[1:] == [kind]


def test_what_comes_too_late_is_declined(bank: BankTransport) -> None:
    dispute = complained()
    decisions.win(dispute)

    assert submit(dispute) == accept(dispute) == Outcome(Answer.DECLINED, response_code="12")
    assert end_inquiry(dispute) == Outcome(Answer.DECLINED, response_code="12")
    assert submit("D" * 20) == Outcome(Answer.DECLINED, response_code="25")


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    ("fault", "answer", "is_done"),
    [
        ("cut_before", Answer.NOT_SENT, False),
        ("lost", Answer.UNKNOWN, False),
        ("cut_after", Answer.UNKNOWN, True),
        ("delay", Answer.UNKNOWN, True),
        ("garble", Answer.UNKNOWN, True),
    ],
)
def test_a_link_that_fails_leaves_it_to_be_sent_again(
    fault: str, answer: Answer, is_done: bool, bank: BankTransport
) -> None:
    dispute = complained()
    bank.fault = fault

    assert submit(dispute).answer is accept(dispute).answer is answer
    bank.fault = None
    assert (len(told()) == 2) == is_done
    assert accept(dispute).answer is Answer.APPROVED


@pytest.mark.parametrize(
    "body",
    [
        '{"dispute": "%s", "result": "won", "response_code": "00"}',
        '{"dispute": "x%s", "result": "on_record", "response_code": "00"}',
        '{"dispute": "%s", "result": "on_record"}',
        '{"dispute": "%s", "result": ["on_record"], "response_code": "00"}',
        '["%s"]',
        '"%s"',
    ],
)
def test_a_receipt_of_another_form_is_none(body: str, bank: BankTransport) -> None:
    bank.fault, bank.garbled = "garble", (body % ("D" * 20)).encode()

    assert accept("D" * 20).answer is submit("D" * 20).answer is Answer.UNKNOWN


# --- The statement ----------------------------------------------------------------------------


def test_the_statement_counts_refunds_bounces_and_chargebacks(bank: BankTransport) -> None:
    authorize(capture=True)
    for amount, reference in ((500, "back_1"), (1500, "back_2"), (500, "back_3")):
        bank_orders.refund(amount, reference)
    decisions.lose(decisions.dispute("ref_1"))
    decisions.bounce("back_2")

    [line] = sandbox().statement(Terminal(kind="sandbox")) or []

    assert (line.captured, line.moved, line.charged_back) == (12500, 1500, 10000)
    assert line.refunds == {"back_1": 500, "back_3": 500}


def test_the_statement_finds_the_refunds_of_many_orders(bank: BankTransport) -> None:
    for number in range(105):
        authorize(reference=f"ref_{number:03}", capture=True)
        bank_orders.refund(number + 1, f"back_{number:03}", f"ref_{number:03}")
    authorize(reference="a", capture=True)
    authorize(reference="z", capture=True)

    lines = {line.reference: line for line in sandbox().statement(Terminal(kind="sandbox")) or []}

    assert len(lines) == 107
    assert lines["ref_104"].refunds == {"back_104": 105}
    assert lines["a"].refunds == lines["z"].refunds == {}
    for line in lines.values():
        assert line.moved == 12500 - sum(line.refunds.values())


def test_regained_money_counts_again(bank: BankTransport) -> None:
    dispute = complained()
    decisions.lose(dispute)
    decisions.regain(dispute)

    [line] = sandbox().statement(Terminal(kind="sandbox")) or []

    assert (line.moved, line.charged_back, line.refunds) == (12500, 0, {})
    assert Authorization.objects.filter(captured_amount=F("amount"), disputed_amount=0).exists()
