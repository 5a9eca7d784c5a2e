"""The sandbox's gateway and refunds: what it makes of answers, and of a bank that fails."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from acquirers import standings
from acquirers.models import Terminal
from acquirers.outcomes import Answer, BankOperation, OperationKind, Outcome
from core import clock
from testbank import behaviours, days
from testbank.models import Refund
from tests.stage import bank_orders
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_transport import BankTransport, an_order, bank_in_process, sandbox
from tests.stage.sought import sought

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

BACK = "BACKBACKBACKBACKBAC1"
PENDS, FAILS = "4000000000007726", "4000001100000074"


@pytest.fixture
def bank() -> Iterator[BankTransport]:
    with bank_in_process() as transport:
        yield transport


def refund(amount: int = 12500) -> Outcome:
    return sandbox().refund(an_order(), reference=BACK, amount=amount)


def inquired() -> Outcome:
    return standings.refund(sandbox().inquire_refund(an_order(), sought=sought(BACK)))


def test_a_refund_carries_the_number_for_the_cardholder(bank: BankTransport) -> None:
    bank_orders.authorize(capture=True)

    outcome = refund()

    [booked] = Refund.objects.all()
    assert outcome == Outcome(
        Answer.APPROVED, response_code="00", network_reference=booked.network_reference
    )
    assert inquired() == outcome
    assert (inquired().is_from_inquiry, outcome.exchange.code) == (True, "00")


def test_an_inquiry_is_about_this_refund_alone(bank: BankTransport) -> None:
    bank_orders.authorize(capture=True)
    refund(5000)
    sandbox().refund(an_order(), reference="BACKBACKBACKBACKBAC2", amount=7000)

    standing = sandbox().inquire_refund(an_order(), sought=sought(BACK))

    [booked] = Refund.objects.filter(reference=BACK)
    number = booked.network_reference
    assert standing.operations == (
        BankOperation(OperationKind.REFUND, Answer.APPROVED, 5000, {"network_reference": number}),
    )


@pytest.mark.parametrize(
    ("number", "amount", "answer", "code"),
    [
        (FAILS, 12500, Answer.DECLINED, "05"),
        (PENDS, 12500, Answer.PENDING, "09"),
        ("4242424242424242", 12501, Answer.DECLINED, "13"),
    ],
)
def test_other_answers_of_the_bank(
    number: str, amount: int, answer: Answer, code: str, bank: BankTransport
) -> None:
    bank_orders.authorize(number, capture=True)

    assert refund(amount) == Outcome(answer, response_code=code)
    assert inquired() == Outcome(answer, response_code=code)


def test_a_pending_refund_is_found_done(bank: BankTransport) -> None:
    bank_orders.authorize(PENDS, capture=True)
    refund()
    clock.advance(behaviours.DECIDED_AFTER)

    assert inquired().answer is refund().answer is Answer.APPROVED


def test_no_record_is_no_decline(bank: BankTransport) -> None:
    assert inquired().answer is Answer.NO_RECORD


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    ("fault", "answer", "is_booked"),
    [
        ("cut_before", Answer.NOT_SENT, False),
        ("lost", Answer.UNKNOWN, False),
        ("cut_after", Answer.UNKNOWN, True),
        ("delay", Answer.UNKNOWN, True),
        ("garble", Answer.UNKNOWN, True),
    ],
)
def test_a_link_that_fails(
    fault: str, answer: Answer, is_booked: bool, bank: BankTransport
) -> None:
    bank_orders.authorize(capture=True)
    bank.fault = fault

    assert refund().answer is answer
    assert inquired().answer is Answer.UNKNOWN
    assert Refund.objects.exists() == is_booked


ANSWER = json.dumps(
    {
        "reference": BACK,
        "authorization": "ref_1",
        "amount": 12500,
        "result": "refunded",
        "response_code": "00",
        "network_reference": "A1",
    }
)


@pytest.mark.every_case("each state, and each answer of a bank")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"refunded"', '"voided"'),
        ('"refunded"', "null"),
        ('"refunded"', "[]"),
        (BACK, "BACKBACKBACKBACKBAC2"),
        ('"ref_1"', '"ref_2"'),
        ("12500", "true"),
        ("12500", "-1"),
        ('"00"', '"000"'),
        ('"A1"', '"A 1"'),
        ('"A1"', "1"),
        (', "network_reference": "A1"', ""),
        (ANSWER, "[]"),
        (ANSWER, "null"),
    ],
)
def test_an_answer_of_another_form_tells_nothing(
    before: str, after: str, bank: BankTransport
) -> None:
    bank.fault, bank.garbled = "garble", ANSWER.encode()
    assert refund().answer is inquired().answer is Answer.APPROVED

    bank.garbled = ANSWER.replace(before, after).encode()

    assert refund().answer is inquired().answer is Answer.UNKNOWN


def test_another_amount_is_not_this_refund(bank: BankTransport) -> None:
    bank.fault, bank.garbled = "garble", ANSWER.replace("12500", "12501").encode()

    assert refund().answer is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("captured_at", "until"),
    [
        (datetime(2026, 11, 23, 20, 59, 59, tzinfo=UTC), datetime(2026, 11, 23, 21, tzinfo=UTC)),
        (datetime(2026, 11, 23, 21, tzinfo=UTC), datetime(2026, 11, 24, 21, tzinfo=UTC)),
    ],
)
def test_the_banks_day_ends_at_midnight_in_istanbul(captured_at: datetime, until: datetime) -> None:
    assert sandbox().voidable_until(Terminal(), captured_at) == until


def test_a_void_after_the_banks_day_is_settled_and_not_declined(bank: BankTransport) -> None:
    begin_at_noon()
    bank_orders.authorize(capture=True)
    until = sandbox().voidable_until(Terminal(), clock.now())
    end_the_day()

    outcome = sandbox().void(an_order())

    assert outcome == Outcome(Answer.SETTLED, response_code="21")
    assert until == days.end_of(clock.now() - timedelta(minutes=1))


@pytest.mark.parametrize(("number", "answer"), [(PENDS, Answer.SETTLED), (FAILS, Answer.DECLINED)])
def test_cards_whose_void_is_refused(number: str, answer: Answer, bank: BankTransport) -> None:
    bank_orders.authorize(number, capture=True)

    assert sandbox().void(an_order()).answer is answer
