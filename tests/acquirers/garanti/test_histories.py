"""Histories of orders: read whole or not at all; they say why a void or a refund was refused."""

from datetime import UTC, datetime

import pytest

from acquirers import standings
from acquirers.garanti.gateway import GarantiGateway
from acquirers.gateway import Order, SoughtRefund
from acquirers.outcomes import Answer, Finding, OperationKind
from tests.acquirers.garanti.conftest import NUMBER
from tests.acquirers.garanti.recorded import (
    CAPTURE,
    FAILED_REFUND,
    HELD,
    NO,
    NO_RECORD,
    REFUND,
    REFUNDS,
    REFUSED,
    SALE,
    VOID,
    declined,
    document,
    history,
    listed,
    refused,
)
from tests.stage.scripted_bank import ScriptedBank

UNKNOWN = Answer.UNKNOWN
Line = dict[str, str]

A, C, V, R = (
    OperationKind.AUTHORIZATION, OperationKind.CAPTURE, OperationKind.VOID, OperationKind.REFUND,
)  # fmt: skip
YES, DECLINED = Answer.APPROVED, Answer.DECLINED
SOLD = [(A, YES, 10025), (C, YES, 10025)]
HISTORIES: dict[str, tuple[list[Line], list[tuple[OperationKind, Answer, int | None]]]] = {
    "a sale": ([SALE], SOLD),
    "a sale that the bank has settled": ([{**SALE, "Settlement": "Y"}], SOLD),
    "a pre-authorisation": ([HELD], [(A, YES, 10025)]),
    "a part that was captured": ([HELD, CAPTURE], [(A, YES, 10025), (C, YES, 4000)]),
    "a capture that was refused": ([HELD, {**CAPTURE, **{"Status": "01", "ReturnCode": "13"}}],
                                   [(A, YES, 10025)]),
    "a void by its own line": ([SALE, VOID], [*SOLD, (V, YES, None)]),
    "a void by the sale's day": ([{**SALE, "VoidDate": "20240310"}], [*SOLD, (V, YES, None)]),
    "a void by both": ([{**SALE, "VoidDate": "20240310"}, VOID], [*SOLD, (V, YES, None)]),
    "a void after a capture": ([HELD, {**CAPTURE, "VoidDate": "20240310"}, VOID],
                               [(A, YES, 10025), (C, YES, 4000), (V, YES, None)]),
    "a sale that was voided, then one that was kept":
        ([{**SALE, "VoidDate": "20240310"}, VOID, SALE], SOLD),
    "two sales that were voided": ([{**SALE, "VoidDate": "20240310"}, VOID] * 2,
                                   [*SOLD, *SOLD, (V, YES, None)]),
    "a void that was refused": ([SALE, {**VOID, "Status": "01", "ReturnCode": "92"}], SOLD),
    "a decline": ([NO], [(A, DECLINED, 10025)]),
    "a soft decline": ([{**NO, "ReturnCode": "1A"}], [(A, Answer.AUTHENTICATION_REQUIRED, 10025)]),
    "a refusal by the gateway or a silent host": ([{**NO, "ReturnCode": "92"}],
                                                  [(A, UNKNOWN, 10025)]),
    "a code that is not listed": ([{**NO, "ReturnCode": "08"}], [(A, UNKNOWN, 10025)]),
    "no code": ([{**NO, "ReturnCode": ""}], [(A, UNKNOWN, 10025)]),
    "a decline, then a yes": ([NO, SALE], [(A, DECLINED, 10025), *SOLD]),
    "the order of the lines proves nothing": ([SALE, NO], [*SOLD, (A, DECLINED, 10025)]),
    "a refund hides no sale": ([SALE, REFUND], [*SOLD, (R, YES, 100)]),
    "a refund that the gateway refused": ([SALE, FAILED_REFUND, REFUND], [*SOLD, (R, YES, 100)]),
    "a refund that the issuer refused": (
        [SALE, {**REFUND, "Status": "01", "ReturnCode": "51"}], [*SOLD, (R, DECLINED, 100)]),
    "a refusal that does not say why": (
        [SALE, {**REFUND, "Status": "01", "ReturnCode": "05"}], SOLD),
    "a refund that was voided": ([SALE, {**REFUND, "VoidDate": "20240312"}, VOID],
                                 [*SOLD, (R, DECLINED, 100)]),
}  # fmt: skip


def test_a_sale_that_was_voided_hides_none_that_was_kept(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(history({**SALE, "VoidDate": "20240310"}, VOID, SALE))

    standing = gateway.inquire(order)

    told = standings.authorization(standing)
    assert (told.answer, told.captured) == (YES, 10025)
    assert standings.modification(standing, V).answer is Answer.NO_RECORD


@pytest.mark.parametrize(("lines", "operations"), HISTORIES.values(), ids=HISTORIES)
def test_a_history_is_read_whole(
    lines: list[Line], operations: list[tuple[OperationKind, Answer, int | None]],
    gateway: GarantiGateway, order: Order, bank: ScriptedBank,
) -> None:  # fmt: skip
    bank.says(history(*lines))

    standing = gateway.inquire(order)

    assert standing.finding is Finding.FOUND
    assert [(one.deed, one.state, one.amount) for one in standing.operations] == operations


def test_a_history_has_each_transactions_number_and_day(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(history(NO, HELD, CAPTURE, REFUND))

    standing = gateway.inquire(order)

    told = standings.authorization(standing)
    assert (told.answer, told.captured, told.response_code) == (Answer.APPROVED, 4000, "00")
    assert (told.authorization_code, told.network_reference) == ("304919", NUMBER)
    assert told.exchange.numbers == {"host_ref": NUMBER}
    captured = standings.modification(standing, OperationKind.CAPTURE)
    assert captured.exchange.numbers == {"host_ref": "407000985166"}
    given_back = standing.operations[-1]
    assert given_back.numbers == {
        "host_ref": "407200985170", "network_reference": "407200985170",
    }  # fmt: skip
    # A day alone counts until its last second.
    assert given_back.at == datetime(2024, 3, 12, 20, 59, 59, tzinfo=UTC)


def test_the_inquirys_own_numbers_are_not_the_orders(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(history(SALE, Source="HOST", RetrefNum="999999999999", AuthCode="999999"))

    standing = gateway.inquire(order)

    assert (standing.network_reference, standing.authorization_code) == (NUMBER, "304919")


NOT_FOUND = {
    "as the history says it": NO_RECORD,
    "as the inquiry says it": document({**REFUSED, "ReasonCode": "0110"}),
}


@pytest.mark.parametrize("answer", NOT_FOUND.values(), ids=NOT_FOUND)
def test_no_record_is_no_decline(
    answer: bytes, gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(answer)

    assert gateway.inquire(order).finding is Finding.NO_RECORD


TWICE = listed(SALE)
BAD_HISTORIES = {
    "nothing in it": history(),
    "no list": document({**REFUSED, "Source": "GVPS", "Code": "00", "Message": "Approved",
                         "ReasonCode": ""}),
    "two results": history(SALE).replace(TWICE.encode(), (TWICE + TWICE).encode()),
    "something else in the list": history(SALE).replace(b"OrderTxn>", b"Txn>"),
    "a doubled element": history(SALE).replace(b"<Status>", b"<Status>01</Status><Status>"),
    "refunds without a payment": history(REFUND),
    "another type": history({**SALE, "Type": "Satis"}),
    "no status": history({k: v for k, v in SALE.items() if k != "Status"}),
    "done by a code that refuses": history({**SALE, "ReturnCode": "51"}),
    "an amount with a point": history({**SALE, "AuthAmount": "100.25"}),
    "more than the order's amount": history({**SALE, "AuthAmount": "10026"}),
    "another currency": history({**SALE, "CurrencyCode": "840"}),
    "another way to write a day": history({**SALE, "AuthDate": "10.03.2024"}),
    "a day that is none": history({**SALE, "AuthDate": "20240231"}),
    "another settlement": history({**SALE, "Settlement": "E"}),
    "another order's": history(SALE, OrderID="0THER0RDER0RDER0RDER"),
    "no order": history(SALE, OrderID=""),
    "a wrong hash": history(SALE).replace(b"20240310 14:05:08", b"20240310 14:05:09"),
    "declined with lines": history(SALE, Code="92", ReasonCode="0108", Message="Declined"),
    "no record of another order": document(
        {**REFUSED, "ReasonCode": "0108", "OrderID": "0THER0RDER0RDER0RDER"}
    ),
    "no record that nobody signed": document({**REFUSED, "ReasonCode": "0108"}, digest=""),
    "credentials": refused("0651"),
    "the way": refused("0208"),
}  # fmt: skip


@pytest.mark.parametrize("answer", BAD_HISTORIES.values(), ids=BAD_HISTORIES)
def test_a_history_that_cannot_be_read_finds_nothing_out(
    answer: bytes, gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(answer)

    assert gateway.inquire(order).finding is Finding.UNKNOWN


# --- Refunds without a name -------------------------------------------------------------------

NOON = datetime(2024, 3, 12, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lines", "sent_at", "answer"),
    [
        ([REFUND], NOON, Answer.APPROVED),
        ([], NOON, Answer.NO_RECORD),
        ([FAILED_REFUND], NOON, Answer.NO_RECORD),
        ([REFUND, {**REFUND, "RetrefNum": "407200985199"}], NOON, UNKNOWN),
        # An earlier line that is nobody's may still be it, for the two clocks may differ.
        ([REFUND], datetime(2024, 3, 13, 9, 0, tzinfo=UTC), UNKNOWN),
        ([{**REFUND, "AuthAmount": "200"}], NOON, Answer.NO_RECORD),
    ],
)
def test_a_refund_whose_answer_was_lost_is_known_by_its_day_and_amount(
    lines: list[Line], sent_at: datetime, answer: Answer,
    gateway: GarantiGateway, order: Order, bank: ScriptedBank,
) -> None:  # fmt: skip
    sought = SoughtRefund("R" * 20, 100, sent_at)
    bank.says(history(SALE, *lines))

    told = standings.nameless_refund(gateway.inquire_refund(order, sought=sought), sought)

    assert told.answer is answer


# --- Refusals that do not say why -------------------------------------------------------------

SETTLED = {**SALE, "Settlement": "Y"}
WHY = {
    "0208": refused("0208", password=REFUNDS),
    "05": declined("05", password=REFUNDS),
}
VOIDED = [{**SALE, "VoidDate": "20240310"}]
VOIDS = {
    "voided before": (history(*VOIDED), Answer.APPROVED, Answer.APPROVED),
    "settled": (history(SETTLED), Answer.SETTLED, Answer.SETTLED),
    "captured and settled": (history(HELD, {**CAPTURE, "Settlement": "Y"}), Answer.SETTLED,
                             Answer.SETTLED),
    "not settled": (history(SALE), UNKNOWN, Answer.DECLINED),
    "still held": (history({**HELD, "PreAuthDate": ""}), UNKNOWN, Answer.DECLINED),
    "declined": (history(NO), UNKNOWN, UNKNOWN),
    "no record": (NO_RECORD, UNKNOWN, UNKNOWN),
    "no answer": (b"", UNKNOWN, UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize("why", WHY)
@pytest.mark.parametrize(("told", "of_gateway", "of_host"), VOIDS.values(), ids=VOIDS)
def test_a_refused_void_is_told_apart_by_the_history(
    why: str, told: bytes, of_gateway: Answer, of_host: Answer,
    gateway: GarantiGateway, order: Order, bank: ScriptedBank,
) -> None:  # fmt: skip
    bank.says(WHY[why], told)

    outcome = gateway.void(order)

    assert outcome.answer is (of_gateway if why == "0208" else of_host)
    assert outcome.after is not None
    shown = {"0208": "92/0208", "05": "05"}[why]
    assert shown in (outcome.exchange.code, outcome.after.exchange.code)


@pytest.mark.parametrize(
    ("held_on", "lines", "answer"),
    [
        ("20240310", [], UNKNOWN),
        ("20240309", [], Answer.LAPSED),
        ("20240309", [CAPTURE], UNKNOWN),
        ("20240309", [{**CAPTURE, "Status": "01", "ReturnCode": "92"}], Answer.LAPSED),
    ],
)
def test_a_hold_of_seven_days_that_cannot_be_voided_has_lapsed(
    held_on: str, lines: list[Line], answer: Answer, monkeypatch: pytest.MonkeyPatch,
    gateway: GarantiGateway, order: Order, bank: ScriptedBank,
) -> None:  # fmt: skip
    monkeypatch.setattr("core.clock.now", lambda: datetime(2024, 3, 16, 12, 0, tzinfo=UTC))
    bank.says(WHY["0208"], history({**HELD, "PreAuthDate": held_on}, *lines))

    assert gateway.void(order).answer is answer


@pytest.mark.parametrize(
    ("held_on", "lines", "answer"),
    [
        ("20240308", [], Answer.APPROVED),
        ("20240307", [], Answer.LAPSED),
        ("20240307", [CAPTURE], Answer.APPROVED),
        ("20240307", [VOID], Answer.VOIDED),
    ],
)
def test_an_old_hold_of_which_nothing_was_taken_has_lapsed(
    held_on: str, lines: list[Line], answer: Answer, monkeypatch: pytest.MonkeyPatch,
    gateway: GarantiGateway, order: Order, bank: ScriptedBank,
) -> None:  # fmt: skip
    monkeypatch.setattr("core.clock.now", lambda: datetime(2024, 3, 16, 12, 0, tzinfo=UTC))
    bank.says(history({**HELD, "PreAuthDate": held_on}, *lines))

    assert standings.authorization(gateway.inquire(order)).answer is answer


REFUNDED = {
    "not settled": (history(SALE), Answer.DAY_OPEN, Answer.DAY_OPEN),
    "captured, not settled": (history(HELD, CAPTURE), Answer.DAY_OPEN, Answer.DAY_OPEN),
    "settled": (history(SETTLED), UNKNOWN, Answer.DECLINED),
    "voided": (history(*VOIDED), UNKNOWN, Answer.DECLINED),
    "no answer": (b"", UNKNOWN, UNKNOWN),
}


@pytest.mark.parametrize("why", WHY)
@pytest.mark.parametrize(("told", "of_gateway", "of_host"), REFUNDED.values(), ids=REFUNDED)
def test_a_refused_refund_waits_while_the_money_is_not_settled(
    why: str, told: bytes, of_gateway: Answer, of_host: Answer,
    gateway: GarantiGateway, order: Order, bank: ScriptedBank,
) -> None:  # fmt: skip
    bank.says(WHY[why], told)

    outcome = gateway.refund(order, reference="R" * 20, amount=100)

    assert outcome.answer is (of_gateway if why == "0208" else of_host)
    assert outcome.after is not None
    # The bank's yes to the payment is none to the refund.
    assert (outcome.after.answer, outcome.after.exchange.numbers) == (outcome.answer, {})


def test_another_refusal_of_a_void_is_one(
    gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(declined("57", password=REFUNDS))

    assert gateway.void(order).answer is Answer.DECLINED
    assert len(bank.seen) == 1


CONTRADICTIONS = {
    "05, approved": declined("05", password=REFUNDS, Message="Approved"),
    "05 for another reason": declined("05", password=REFUNDS, ReasonCode="0208"),
    "05 by another source": declined("05", password=REFUNDS, Source="BKM"),
    "0208, approved": refused("0208", password=REFUNDS, Message="Approved"),
    "0208 by another source": refused("0208", password=REFUNDS, Source="BKM"),
}


@pytest.mark.parametrize("told", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_refusal_that_contradicts_itself_is_none_so_that_no_refund_goes_twice(
    told: bytes, gateway: GarantiGateway, order: Order, bank: ScriptedBank
) -> None:
    bank.says(told, history(SALE))

    assert gateway.refund(order, reference="R" * 20, amount=100).answer is UNKNOWN

    bank.says(told, history(SETTLED))

    assert gateway.void(order).answer is UNKNOWN
