"""Standings: what is concluded from everything that a bank has of an order."""

from datetime import UTC, datetime, timedelta

import pytest

from acquirers import standings
from acquirers.outcomes import (
    Answer,
    BankOperation,
    Exchange,
    Finding,
    OperationKind,
    Outcome,
    Standing,
)
from tests.stage.sought import sought

OK, NO, ASKS, OPEN = (
    Answer.APPROVED, Answer.DECLINED, Answer.AUTHENTICATION_REQUIRED, Answer.PENDING,
)  # fmt: skip
YES = BankOperation(OperationKind.AUTHORIZATION, OK, 500)
TAKEN, TAKEN_TOO = (
    BankOperation(OperationKind.CAPTURE, OK, 300),
    BankOperation(OperationKind.CAPTURE, OK, 200),
)
SOMEHOW_TAKEN = BankOperation(OperationKind.CAPTURE, OK)
BACK = BankOperation(OperationKind.REFUND, OK, 100)
RELEASED, OVER = BankOperation(OperationKind.VOID, OK), BankOperation(OperationKind.LAPSE, OK)


def tried(state: Answer) -> BankOperation:
    return BankOperation(OperationKind.AUTHORIZATION, state)


def refused(deed: OperationKind, state: Answer = NO) -> BankOperation:
    return BankOperation(deed, state)


# The operations; how the authorisation ended, and how much was captured; how a capture and a void
# ended.
TABLE = [
    ((YES,), OK, 0, Answer.NO_RECORD, Answer.NO_RECORD),
    ((YES, TAKEN), OK, 300, OK, Answer.NO_RECORD),
    ((YES, TAKEN, TAKEN_TOO), OK, 500, OK, Answer.NO_RECORD),
    ((YES, SOMEHOW_TAKEN), OK, None, OK, Answer.NO_RECORD),
    ((YES, TAKEN, BACK), OK, 300, OK, Answer.NO_RECORD),
    ((YES, refused(OperationKind.CAPTURE)), OK, 0, Answer.NO_RECORD, Answer.NO_RECORD),
    ((YES, refused(OperationKind.CAPTURE), TAKEN), OK, 300, OK, Answer.NO_RECORD),
    ((YES, refused(OperationKind.CAPTURE, OPEN)), OK, 0, Answer.UNKNOWN, Answer.NO_RECORD),
    ((YES, refused(OperationKind.VOID)), OK, 0, Answer.NO_RECORD, Answer.NO_RECORD),
    ((YES, refused(OperationKind.VOID, OPEN)), OK, 0, Answer.NO_RECORD, Answer.UNKNOWN),
    ((YES, RELEASED), Answer.VOIDED, None, Answer.LAPSED, OK),
    ((YES, TAKEN, RELEASED), Answer.VOIDED, None, Answer.LAPSED, OK),
    ((YES, OVER), Answer.LAPSED, None, Answer.LAPSED, Answer.LAPSED),
    ((tried(NO),), NO, None, Answer.UNKNOWN, Answer.UNKNOWN),
    ((tried(ASKS),), ASKS, None, Answer.UNKNOWN, Answer.UNKNOWN),
    ((tried(OPEN),), OPEN, None, Answer.UNKNOWN, Answer.UNKNOWN),
    # Several tries under one order: money that may be held decides.
    ((tried(NO), YES), OK, 0, Answer.NO_RECORD, Answer.NO_RECORD),
    ((YES, tried(NO)), OK, 0, Answer.NO_RECORD, Answer.NO_RECORD),
    ((tried(NO), tried(OPEN)), OPEN, None, Answer.UNKNOWN, Answer.UNKNOWN),
    ((tried(ASKS), tried(NO)), ASKS, None, Answer.UNKNOWN, Answer.UNKNOWN),
    # Nothing to go by, or a contradiction.
    ((), Answer.UNKNOWN, None, Answer.UNKNOWN, Answer.UNKNOWN),
    ((TAKEN,), Answer.UNKNOWN, None, Answer.UNKNOWN, Answer.UNKNOWN),
    ((RELEASED,), Answer.UNKNOWN, None, Answer.UNKNOWN, Answer.UNKNOWN),
    ((tried(NO), TAKEN), Answer.UNKNOWN, None, Answer.UNKNOWN, Answer.UNKNOWN),
    ((tried(Answer.UNKNOWN),), Answer.UNKNOWN, None, Answer.UNKNOWN, Answer.UNKNOWN),
    ((tried(NO), tried(Answer.UNKNOWN)), Answer.UNKNOWN, None, Answer.UNKNOWN, Answer.UNKNOWN),
]


@pytest.mark.parametrize(("operations", "answer", "captured", "capture", "void"), TABLE)
def test_what_the_bank_has_tells_how_each_request_ended(
    operations: tuple[BankOperation, ...],
    answer: Answer,
    captured: int | None,
    capture: Answer,
    void: Answer,
) -> None:
    standing = Standing(Finding.FOUND, operations)

    authorized = standings.authorization(standing)

    assert (authorized.answer, authorized.captured) == (answer, captured)
    assert standings.modification(standing, OperationKind.CAPTURE).answer is capture
    assert standings.modification(standing, OperationKind.VOID).answer is void


def test_a_capture_that_is_found_tells_how_much() -> None:
    standing = Standing(Finding.FOUND, (YES, TAKEN))

    assert standings.modification(standing, OperationKind.CAPTURE) == Outcome(OK, captured=300)


@pytest.mark.parametrize(
    ("finding", "answer", "of_a_modification"),
    [
        (Finding.UNKNOWN, Answer.UNKNOWN, Answer.UNKNOWN),
        # The bank once had the authorisation, so that "no record" contradicts itself.
        (Finding.NO_RECORD, Answer.NO_RECORD, Answer.UNKNOWN),
    ],
)
def test_an_inquiry_that_finds_nothing(
    finding: Finding, answer: Answer, of_a_modification: Answer
) -> None:
    standing = Standing(finding)

    assert standings.authorization(standing).answer is answer
    for deed in (OperationKind.CAPTURE, OperationKind.VOID):
        assert standings.modification(standing, deed).answer is of_a_modification


def test_the_facts_of_the_authorisation_and_the_course_of_the_inquiry_are_kept() -> None:
    exchange = Exchange(code="ISO8583-00")
    standing = Standing(Finding.FOUND, (YES,), "00", "A1B2C3", "net_1", "normal", 12, exchange)

    told = standings.authorization(standing)

    assert told == Outcome(OK, "00", "A1B2C3", "net_1", "normal", 12, captured=0)
    assert (told.exchange, told.is_from_inquiry) == (exchange, True)


def back(state: Answer) -> BankOperation:
    return BankOperation(OperationKind.REFUND, state, 100)


@pytest.mark.parametrize(
    ("operations", "answer"),
    [
        ((back(OK),), OK),
        ((back(OPEN),), OPEN),
        ((back(NO),), NO),
        ((back(NO), back(OK)), OK),
        ((back(OPEN), back(NO)), OPEN),
        ((back(NO), back(Answer.UNKNOWN)), Answer.UNKNOWN),
        ((back(ASKS),), Answer.UNKNOWN),
        ((YES, TAKEN), Answer.UNKNOWN),
        ((), Answer.UNKNOWN),
    ],
)
def test_what_the_bank_has_of_a_refund_tells_how_it_ended(
    operations: tuple[BankOperation, ...], answer: Answer
) -> None:
    exchange = Exchange(code="ISO8583-00")
    standing = Standing(Finding.FOUND, operations, "00", network_reference="A1", exchange=exchange)

    told = standings.refund(standing)

    assert told == Outcome(answer, response_code="00", network_reference="A1")
    assert (told.exchange, told.is_from_inquiry) == (exchange, True)


@pytest.mark.parametrize(
    ("finding", "answer"),
    [(Finding.UNKNOWN, Answer.UNKNOWN), (Finding.NO_RECORD, Answer.NO_RECORD)],
)
def test_an_inquiry_that_finds_no_refund(finding: Finding, answer: Answer) -> None:
    assert standings.refund(Standing(finding)).answer is answer


# --- Refunds without a name -------------------------------------------------------------------

SENT_AT = datetime(2026, 11, 28, 12, 0, 30, 700_000, tzinfo=UTC)
OURS, THEIRS = {"host_ref": "1", "auth_code": "A"}, {"host_ref": "2", "auth_code": "A"}


def line(
    numbers: dict[str, str], seconds: float = 1, amount: int | None = 100, state: Answer = OK
) -> BankOperation:
    at = SENT_AT + timedelta(seconds=seconds)
    return BankOperation(OperationKind.REFUND, state, amount, numbers, at)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ((), Answer.NO_RECORD),
        ((line(OURS),), OK),
        ((line(OURS, state=NO),), NO),
        ((line(OURS, state=OPEN),), OPEN),
        ((line(OURS, state=ASKS),), Answer.UNKNOWN),
        ((line(OURS), line(THEIRS)), OK),
        ((line(THEIRS), line(OURS)), OK),
        ((line(THEIRS),), Answer.NO_RECORD),
        ((line(OURS, amount=101),), Answer.NO_RECORD),
        ((line(OURS), line({"host_ref": "3"})), Answer.UNKNOWN),
        ((line(OURS, -0.7),), OK),
        ((line(OURS, -1),), Answer.UNKNOWN),
        ((line(OURS, -400),), Answer.UNKNOWN),
        ((line(OURS, -3 * 3600),), Answer.UNKNOWN),
        ((line(OURS, -3 * 3600, state=OPEN),), Answer.UNKNOWN),
        ((line(OURS, -1, state=NO),), Answer.UNKNOWN),
        ((line(OURS, -400, state=NO),), Answer.NO_RECORD),
        ((line(THEIRS, -400),), Answer.NO_RECORD),
        ((line({}),), OK),
        ((line(OURS, amount=None),), Answer.UNKNOWN),
        ((BankOperation(OperationKind.REFUND, OK, 100, OURS),), Answer.UNKNOWN),
    ],
)
def test_a_refund_without_a_name_is_concluded_from_all_refunds_of_its_order(
    lines: tuple[BankOperation, ...], answer: Answer
) -> None:
    asked = sought("R", amount=100, sent_at=SENT_AT, others=(THEIRS,))

    told = standings.nameless_refund(Standing(Finding.FOUND, (YES, TAKEN, *lines)), asked)

    assert told.answer is answer


def test_a_refund_without_a_name_whose_number_is_known_is_found_by_it() -> None:
    asked = sought("R", amount=100, sent_at=SENT_AT, numbers=OURS)
    lines = (line({"host_ref": "3"}), line(OURS, state=NO))

    told = standings.nameless_refund(Standing(Finding.FOUND, lines), asked)

    assert (told.answer, told.exchange.numbers) == (NO, OURS)


@pytest.mark.parametrize("finding", [Finding.UNKNOWN, Finding.NO_RECORD])
def test_without_the_order_nothing_is_known_of_a_refund_without_a_name(finding: Finding) -> None:
    told = standings.nameless_refund(Standing(finding), sought("R"))

    assert told.answer is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("lines", "answer"),
    [((line(OURS),), Answer.UNKNOWN), ((), Answer.NO_RECORD)],
)
def test_a_line_may_be_that_of_a_refund_that_ended_without_a_number(
    lines: tuple[BankOperation, ...], answer: Answer
) -> None:
    asked = sought("R", amount=100, sent_at=SENT_AT, has_unnumbered_twin=True)

    told = standings.nameless_refund(Standing(Finding.FOUND, (YES, TAKEN, *lines)), asked)

    assert told.answer is answer
