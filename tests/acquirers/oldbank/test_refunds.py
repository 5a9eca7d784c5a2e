"""Refunds at the old bank: nothing repeats safely, and its day ends at ten in the evening."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from acquirers import standings
from acquirers.gateway import Order
from acquirers.models import Terminal
from acquirers.outcomes import Answer, BankOperation, Finding, OperationKind, Outcome
from core import clock
from testbank import behaviours
from tests.acquirers.oldbank.test_answers import held, pay
from tests.stage import bank_books
from tests.stage.oldbank.gateway import OldBankGateway
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import OldBankWay
from tests.stage.sought import sought
from tests.stage.threads import together

BACK, AGAIN = "BACKBACKBACKBACKBAC1", "BACKBACKBACKBACKBAC2"
PENDS, PENDS_THEN_FAILS = "4000000000007726", "4000000000005126"
FAILS = "4000001100000074"
AFTERNOON = timedelta(hours=15)


@pytest.fixture(autouse=True)
def _the_day_is_long(way: OldBankWay, gateway: OldBankGateway) -> None:
    """Move both clocks to an afternoon: hours are left of the bank's day."""
    until = gateway.voidable_until(Terminal(), clock.now())
    assert until is not None
    clock.advance(until + timedelta(days=1) - timedelta(hours=22) + AFTERNOON - clock.now())


def refund(
    gateway: OldBankGateway, order: Order, amount: int = 12500, reference: str = BACK
) -> Outcome:
    return gateway.refund(order, reference=reference, amount=amount)


def inquired(gateway: OldBankGateway, order: Order, reference: str = BACK) -> Outcome:
    return standings.refund(gateway.inquire_refund(order, sought=sought(reference)))


def lines(old_bank: OldBank) -> list[tuple[str, str, int]]:
    return [(line.kind, line.state, line.amount) for line in old_bank.book()]


def end_the_day(gateway: OldBankGateway) -> None:
    until = gateway.voidable_until(Terminal(), clock.now())
    assert until is not None
    clock.advance(until - clock.now())


def test_a_refund_carries_the_banks_number(gateway: OldBankGateway, order: Order) -> None:
    pay(gateway, order)

    told = refund(gateway, order, 5000)

    found = inquired(gateway, order)
    assert (told.answer, found.answer) == (Answer.APPROVED, Answer.APPROVED)
    assert told.network_reference == found.network_reference != None  # noqa: E711
    assert bank_books.order().given_back == (5000,)


def test_after_a_capture_its_part_is_refunded(gateway: OldBankGateway, order: Order) -> None:
    authorized = held(gateway, order)
    gateway.capture(authorized, amount=5000)

    assert refund(gateway, authorized, 5001).answer is Answer.UNKNOWN
    assert refund(gateway, authorized, 5000).answer is Answer.APPROVED


def test_a_refund_sent_twice_is_made_twice_and_found_as_done(
    gateway: OldBankGateway, order: Order
) -> None:
    pay(gateway, order)

    told = [refund(gateway, order, 5000).answer for _ in range(3)]

    # The third is above what is left: the earlier ones may have been carried out.
    assert told == [Answer.APPROVED, Answer.APPROVED, Answer.UNKNOWN]
    standing = gateway.inquire_refund(order, sought=sought(BACK))
    assert [one.amount for one in standing.operations] == [5000, 5000]
    assert bank_books.order().given_back == (5000, 5000)
    assert not gateway.capabilities.refunds_are_idempotent


def test_an_inquiry_is_about_one_refund_and_the_sale_stays_to_be_seen(
    gateway: OldBankGateway, order: Order
) -> None:
    pay(gateway, order)
    refund(gateway, order, 5000)
    refund(gateway, order, 7000, AGAIN)

    [found] = gateway.inquire_refund(order, sought=sought(AGAIN)).operations

    assert found == BankOperation(
        OperationKind.REFUND, Answer.APPROVED, 7000, found.numbers, found.at
    )
    sale = standings.authorization(gateway.inquire(order))
    assert (sale.answer, sale.captured) == (Answer.APPROVED, 12500)


def test_no_record_is_no_decline_although_it_looks_like_one(
    gateway: OldBankGateway, order: Order
) -> None:
    unknown_order = gateway.inquire_refund(order, sought=sought(BACK))
    pay(gateway, order)
    unknown_refund = gateway.inquire_refund(order, sought=sought(BACK))

    assert unknown_order.finding is unknown_refund.finding is Finding.NO_RECORD
    assert refund(gateway, replace(order, reference=AGAIN)).answer is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("number", "answer", "later"),
    [
        (FAILS, Answer.DECLINED, Answer.DECLINED),
        (PENDS, Answer.PENDING, Answer.APPROVED),
        (PENDS_THEN_FAILS, Answer.PENDING, Answer.DECLINED),
    ],
)
def test_cards_whose_refund_ends_otherwise(
    number: str, answer: Answer, later: Answer, gateway: OldBankGateway, order: Order
) -> None:
    pay(gateway, order, number)

    assert refund(gateway, order).answer is inquired(gateway, order).answer is answer
    clock.advance(behaviours.DECIDED_AFTER)

    assert inquired(gateway, order).answer is later
    assert sum(bank_books.order().given_back) == (12500 if later is Answer.APPROVED else 0)


def test_refunds_that_race_never_go_above_what_was_captured(
    gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    pay(gateway, order)
    old_bank.take_time(works_seconds=0.1)

    told = together([lambda: refund(gateway, order, 2500).answer] * 12)

    print(f"{len(told)} refunds of 25.00 of 125.00: {told.count(Answer.APPROVED)} done")  # noqa: T201
    assert told.count(Answer.APPROVED) == 5
    assert sum(bank_books.order().given_back) == 12500


# --- The bank's day ---------------------------------------------------------------------------


def test_a_void_of_captured_money_is_settled_once_the_day_is_over(
    gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    pay(gateway, order)
    end_the_day(gateway)

    assert gateway.void(order).answer is Answer.SETTLED
    assert refund(gateway, order).answer is Answer.APPROVED
    assert lines(old_bank) == [("S", "A", 12500), ("R", "A", 12500)]


@pytest.mark.parametrize("number", [PENDS, PENDS_THEN_FAILS])
def test_cards_that_settle_at_once(number: str, gateway: OldBankGateway, order: Order) -> None:
    pay(gateway, order, number)

    assert gateway.void(order).answer is Answer.SETTLED


def test_a_void_in_time_gives_back_and_leaves_nothing_to_refund(
    gateway: OldBankGateway, order: Order
) -> None:
    pay(gateway, order)

    assert gateway.void(order).answer is Answer.APPROVED
    assert refund(gateway, order).answer is Answer.UNKNOWN
    assert bank_books.order().given_back == (12500,)


def test_what_was_refunded_in_part_is_not_voided(gateway: OldBankGateway, order: Order) -> None:
    pay(gateway, order)
    refund(gateway, order, 1)

    assert gateway.void(order).answer is Answer.DECLINED


def test_a_card_whose_void_fails_is_declined_on_any_day(
    gateway: OldBankGateway, order: Order
) -> None:
    pay(gateway, order, FAILS)
    end_the_day(gateway)

    assert gateway.void(order).answer is Answer.DECLINED


def test_what_was_not_captured_is_released_on_any_day(
    gateway: OldBankGateway, order: Order
) -> None:
    authorized = held(gateway, order)
    end_the_day(gateway)

    assert gateway.void(authorized).answer is Answer.APPROVED
    assert bank_books.order().given_back == ()


@pytest.mark.parametrize(
    ("captured_at", "until"),
    [
        (datetime(2026, 11, 23, 18, 59, tzinfo=UTC), datetime(2026, 11, 23, 19, tzinfo=UTC)),
        (datetime(2026, 11, 23, 19, 0, tzinfo=UTC), datetime(2026, 11, 24, 19, tzinfo=UTC)),
        (datetime(2026, 11, 23, 22, 30, tzinfo=UTC), datetime(2026, 11, 24, 19, tzinfo=UTC)),
    ],
)
def test_its_day_ends_before_midnight(
    captured_at: datetime, until: datetime, gateway: OldBankGateway
) -> None:
    assert gateway.voidable_until(Terminal(), captured_at) == until


# --- A bank that answers badly, and what it has not --------------------------------------------


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    "kind",
    [
        "hang", "half", "html", "error_500", "redirect", "empty", "other_order", "contradiction",
        "doctype", "entities", "too_long", "wrong_encoding", "wrong_type", "duplicate",
    ],
)  # fmt: skip
def test_an_answer_that_proves_nothing_leaves_a_refund_unknown(
    kind: str, gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    pay(gateway, order)
    old_bank.misbehave(kind, on="Refund")

    assert refund(gateway, order).answer is Answer.UNKNOWN
    assert inquired(gateway, order).answer is Answer.APPROVED


@pytest.mark.parametrize("kind", ["hang", "html", "error_500", "wrong_type", "other_order"])
def test_an_inquiry_without_an_answer_finds_nothing_out(
    kind: str, gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    pay(gateway, order)
    refund(gateway, order)
    old_bank.misbehave(kind, on="RefundStatus")

    assert inquired(gateway, order).answer is Answer.UNKNOWN
    assert inquired(gateway, order).answer is Answer.APPROVED


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
def test_a_link_that_fails(
    fault: str,
    answer: Answer,
    is_done: bool,
    gateway: OldBankGateway,
    order: Order,
    way: OldBankWay,
) -> None:
    pay(gateway, order)
    way.fault = fault

    assert refund(gateway, order).answer is answer
    assert inquired(gateway, order).answer is Answer.UNKNOWN
    assert bool(bank_books.order().given_back) == is_done


def test_it_tells_no_notices_and_takes_no_evidence(gateway: OldBankGateway, order: Order) -> None:
    assert gateway.notices(order.terminal, after=0) is None
    assert gateway.statement(order.terminal) is None
    handed_in = gateway.submit_evidence(order, dispute=BACK, number=1, evidence={})
    assert handed_in == gateway.accept_dispute(order, dispute=BACK)
    assert handed_in == gateway.end_inquiry(order, dispute=BACK)
    assert handed_in.answer is Answer.NOT_CHARGED
