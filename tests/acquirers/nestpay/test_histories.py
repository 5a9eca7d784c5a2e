"""Histories of orders: read whole or not at all; they tell "nothing to cancel" apart."""

import re
from dataclasses import replace

import pytest

from acquirers import standings
from acquirers.gateway import Order
from acquirers.nestpay.gateway import NestPayGateway
from acquirers.outcomes import Answer, Finding, OperationKind
from tests.acquirers.nestpay.recorded import (
    DECLINED,
    FAILED_REFUND,
    GOOD,
    HELD,
    NO,
    NO_RECORD,
    REFUND,
    SALE,
    VOIDED,
    document,
    history,
    refused,
)
from tests.stage.adapters import REFERENCE
from tests.stage.scripted_bank import ScriptedBank

UNKNOWN = Answer.UNKNOWN
# --- Histories --------------------------------------------------------------------------------

A, C, V, R = (
    OperationKind.AUTHORIZATION, OperationKind.CAPTURE, OperationKind.VOID, OperationKind.REFUND,
)  # fmt: skip
LATER = SALE.replace("2024-01-01 22:15", "2024-01-01 22:20")
HISTORIES = {
    "a sale": ([SALE], [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025)]),
    "a sale that the bank has settled": (
        [SALE.replace("S\tC", "S\tS", 1)],
        [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025)],
    ),
    "a pre-authorisation": ([HELD], [(A, Answer.APPROVED, 10025)]),
    "a part that was captured": (
        [SALE.replace("\t10025\t10025", "\t10025\t4000")],
        [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 4000)],
    ),
    "amounts with a point": (
        [SALE.replace("10025", "100.25")],
        [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025)],
    ),
    "a void": ([VOIDED], [(A, Answer.APPROVED, 10025), (V, Answer.APPROVED, 10025)]),
    "a decline": ([NO], [(A, Answer.DECLINED, 10025)]),
    "a soft decline": (
        [NO.replace("\t51\t", "\t1A\t")],
        [(A, Answer.AUTHENTICATION_REQUIRED, 10025)],
    ),
    "a host that was silent": ([NO.replace("\t51\t", "\t92\t")], [(A, UNKNOWN, 10025)]),
    "an error": ([NO.replace("S\tD", "S\tERR", 1)], [(A, UNKNOWN, 10025)]),
    "one that waits": ([NO.replace("S\tD", "S\tPN", 1)], [(A, Answer.PENDING, 10025)]),
    "a decline, then a yes": (
        [SALE, NO],
        [(A, Answer.DECLINED, 10025), (A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025)],
    ),
    "a payment that was reversed, then one that was kept": (
        [LATER, VOIDED],
        [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025)],
    ),
    "a payment that was kept, then one that was reversed": (
        [VOIDED.replace("2024-01-01 22:15", "2024-01-01 22:20"), SALE],
        [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025)],
    ),
    "two payments that were reversed": (
        [VOIDED.replace("2024-01-01 22:15", "2024-01-01 22:20"), VOIDED],
        [(A, Answer.APPROVED, 10025), (V, Answer.APPROVED, 10025)] * 2,
    ),
    "two payments": (
        [LATER, SALE], [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025)] * 2,
    ),
    "the order of the lines proves nothing": (
        [NO, SALE],
        [(A, Answer.DECLINED, 10025), (A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025)],
    ),
    "a refund hides no sale": (
        [FAILED_REFUND.replace("\t99\t", "\t05\t"), REFUND, SALE],
        [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025),
         (R, Answer.APPROVED, 100), (R, Answer.DECLINED, 100)],
    ),
    "a refund that the gateway refused for a reason that is not said": (
        [FAILED_REFUND, SALE],
        [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025)],
    ),
    "a refund that was voided": (
        [REFUND.replace("C\tC", "C\tV", 1), SALE],
        [(A, Answer.APPROVED, 10025), (C, Answer.APPROVED, 10025), (R, Answer.DECLINED, 100)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "operations"), HISTORIES.values(), ids=HISTORIES)
def test_a_history_is_read_whole_and_oldest_first(
    lines: list[str], operations: list[tuple[OperationKind, Answer, int]],
    gateway: NestPayGateway, order: Order, bank: ScriptedBank,
) -> None:  # fmt: skip
    bank.says(history(*lines))

    standing = gateway.inquire(order)

    assert standing.finding is Finding.FOUND
    assert [(one.deed, one.state, one.amount) for one in standing.operations] == operations


def test_a_payment_that_was_reversed_hides_none_that_was_kept(
    gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(history(LATER, VOIDED))

    standing = gateway.inquire(order)

    told = standings.authorization(standing)
    assert (told.answer, told.captured) == (Answer.APPROVED, 10025)
    assert told.exchange.numbers["trans_id"] == "24001WPbH16694"
    assert standings.modification(standing, V).answer is Answer.NO_RECORD


def test_a_history_has_the_payments_numbers_and_times(
    gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(history(REFUND, SALE, NO))

    standing = gateway.inquire(order)

    told = standings.authorization(standing)
    assert (told.answer, told.captured, told.response_code) == (Answer.APPROVED, 10025, "00")
    assert (told.authorization_code, told.network_reference) == ("P14578", "400100743898")
    assert told.exchange.numbers["trans_id"] == "24001WPbH16694"
    sale = standing.operations[1]
    assert sale.at is not None
    assert sale.at.isoformat() == "2024-01-01T19:15:27.511000+00:00"


NOT_FOUND = {
    "as the history says it": NO_RECORD,
    "by another code, without the order": NO_RECORD.replace(b">05<", b">99<").replace(
        REFERENCE.encode() + b"</OrderId>", b"</OrderId>"
    ),
}


@pytest.mark.parametrize("answer", NOT_FOUND.values(), ids=NOT_FOUND)
def test_no_record_is_no_decline(
    answer: bytes, gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(answer)

    assert gateway.inquire(order).finding is Finding.NO_RECORD


BAD_HISTORIES = {
    "nothing in it": history(),
    "fewer lines than counted": history(SALE, count="2"),
    "more lines than counted": history(SALE, NO, count="1"),
    "no count": history(SALE, count=""),
    "a huge count": history(SALE, count="9" * 30),
    "a line is missing": history(SALE, NO).replace(b"TRX1", b"TRX3"),
    "a doubled line": history(SALE, NO).replace(b"TRX2", b"TRX1"),
    "a line with fewer fields": history(SALE.rpartition("\t")[0]),
    "a line with more fields": history(f"{SALE}\t1"),
    "spaces in place of tabs": history(SALE.replace("\t", " ")),
    "another type": history(SALE.replace("S\tC", "X\tC", 1)),
    "another status": history(SALE.replace("S\tC", "S\tZ", 1)),
    "an amount with one digit": history(SALE.replace("10025", "100.2")),
    "an amount with a comma": history(SALE.replace("10025", "100,25")),
    "more than the order's amount": history(SALE.replace("10025", "10026")),
    "another time": history(SALE.replace("2024-01-01 22", "01.01.2024 22")),
    "a day that is none": history(SALE.replace("2024-01-01", "2024-02-31")),
    "another order's": history(SALE, OrderId="0THER0RDER0RDER0RDER"),
    "no order": history(SALE, OrderId=""),
    "declined with lines": history(SALE, Response="Declined", ProcReturnCode="05"),
    "no record, with a line": NO_RECORD.replace(b"<TRXCOUNT>0", b"<TRX1>x</TRX1><TRXCOUNT>0"),
    "no record of another order": NO_RECORD.replace(
        REFERENCE.encode() + b"</OrderId>", b"0THER0RDER0RDER0RDER</OrderId>"
    ),
    "declined with other words": re.sub(b"No record found", b"Try again", NO_RECORD),
    "credentials": refused("CORE-2201"),
}


@pytest.mark.parametrize("answer", BAD_HISTORIES.values(), ids=BAD_HISTORIES)
def test_a_history_that_cannot_be_read_finds_nothing_out(
    answer: bytes, gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(answer)

    assert gateway.inquire(order).finding is Finding.UNKNOWN


# --- Nothing to cancel ------------------------------------------------------------------------

NOTHING = refused("CORE-2008")
TOLD_APART = {
    "voided before": (history(VOIDED), Answer.APPROVED),
    "settled": (history(SALE.replace("S\tC", "S\tS", 1)), Answer.SETTLED),
    "captured": (history(SALE), Answer.SETTLED),
    "still held": (history(HELD), UNKNOWN),
    "declined": (history(NO), UNKNOWN),
    "no record": (NO_RECORD, UNKNOWN),
    "no answer": (b"", UNKNOWN),
}


@pytest.mark.parametrize("code", ["CORE-2008", "CORE-2120"])
@pytest.mark.parametrize(("told", "answer"), TOLD_APART.values(), ids=TOLD_APART)
def test_nothing_to_cancel_is_told_apart_by_the_history(
    code: str, told: bytes, answer: Answer,
    gateway: NestPayGateway, order: Order, bank: ScriptedBank,
) -> None:  # fmt: skip
    bank.says(refused(code), told)

    outcome = gateway.void(order)

    assert outcome.answer is answer
    assert outcome.after is not None
    both = {outcome.exchange.sent_at, outcome.after.exchange.sent_at}
    assert len(both) == 2
    assert code in (outcome.exchange.code, outcome.after.exchange.code)


def test_an_order_with_several_transactions_is_voided_by_the_number(
    gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(refused("CORE-2133"), GOOD)

    outcome = gateway.void(replace(order, numbers={"trans_id": "1", "capture.trans_id": "2"}))

    assert outcome.answer is Answer.APPROVED
    assert b"TransId" not in bank.seen[0]
    assert b"<TransId>2</TransId>" in bank.seen[1]
    assert outcome.after is not None
    assert outcome.after.exchange.code == "CORE-2133"


def test_a_void_that_the_issuer_refuses_is_refused(
    gateway: NestPayGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(document({**DECLINED, "ProcReturnCode": "05"}))

    assert gateway.void(order).answer is Answer.DECLINED
