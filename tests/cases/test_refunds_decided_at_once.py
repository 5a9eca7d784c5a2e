"""Decisions about refunds that meet another operator's, the sweeper's, or the bank's own answer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from acquirers.conversation import settling
from acquirers.outcomes import Answer, Outcome
from cases.models import Case
from cases.states import CaseDecision
from merchants.models import User
from payments.charging import tasks
from payments.refunds import asking
from payments.refunds.models import Refund
from tests.stage.audited import assert_audit_is_clean, assert_our_own_books_agree
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.held_bank import HeldBank
from tests.stage.sweeper import leases_run_out, sweep, sweep_after
from tests.stage.threads import together
from tests.stage.undecided import (
    an_operator,
    decide,
    decisions_written,
    does_it_late,
    ended,
    in_background,
    silent_refund,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

RELEASED, NOT_RELEASED = CaseDecision.RELEASED, CaseDecision.NOT_RELEASED
AMOUNTS = pytest.mark.parametrize("amount", [4000, None], ids=["refund", "void"])


@pytest.fixture
def operators() -> list[User]:
    return [an_operator("first@pay.example"), an_operator("second@pay.example")]


def of(case: Case) -> Refund:
    return Refund.objects.get(id=case.operation_id)


def deciding_as(operator: User, case: Case, decision: CaseDecision) -> Callable[[], str]:
    return lambda: ended(lambda: decide(operator, case, decision))


@AMOUNTS
def test_of_two_operators_at_once_one_decides(
    amount: int | None, acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_refund(acme, bank, amount)

    ends = together(
        [deciding_as(operators[0], case, RELEASED), deciding_as(operators[1], case, NOT_RELEASED)]
    )

    assert sorted(ends) in (["BankIsBeingAsked", "decided"], ["CaseChanged", "decided"])
    case.refresh_from_db()
    expected = "succeeded" if case.decision == RELEASED else "failed"
    assert (of(case).status, decisions_written()) == (expected, (1, 1))
    assert len(acme.events_of(case.operation_id)) == 2
    assert_our_own_books_agree()


@AMOUNTS
def test_while_the_sweeper_asks_nobody_decides_and_the_bank_wins(
    amount: int | None, acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_refund(acme, bank, amount)
    does_it_late(bank)
    held = HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        swept = in_background(pool, lambda: sweep_after(60))
        held.await_asked()

        refused = deciding_as(operators[0], case, NOT_RELEASED)()
        held.answer(99)
        swept.result()

    assert refused == "BankIsBeingAsked"
    tasks.watch_cases()
    case.refresh_from_db()
    assert (case.status, case.decision, of(case).status) == ("resolved", None, "succeeded")
    assert_audit_is_clean()


@AMOUNTS
def test_a_decision_and_the_sweeper_at_once_end_in_one_way(
    amount: int | None, acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_refund(acme, bank, amount)
    does_it_late(bank)
    Refund.objects.update(due_at=case.opened_at)

    [end, _] = together([deciding_as(operators[0], case, NOT_RELEASED), sweep])

    tasks.watch_cases()
    case.refresh_from_db()
    assert end in ("bank", "BankIsBeingAsked", "CaseChanged")
    assert (case.status, case.decision, of(case).status) == ("resolved", None, "succeeded")
    assert_audit_is_clean()


def test_the_requests_own_answer_while_the_bank_is_asked_is_not_overruled(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_refund(acme, bank, 4000)
    does_it_late(bank)
    bank.fault, held = "delay", HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        decided = in_background(pool, deciding_as(operators[0], case, NOT_RELEASED))
        held.await_asked()
        settling.settle(asking.KIND, of(case), Outcome(Answer.APPROVED))
        held.answer(99)

        assert decided.result() == "bank"
    bank.fault = None
    assert (of(case).status, decisions_written()) == ("succeeded", (0, 0))
    assert_audit_is_clean()


def test_a_lease_that_ran_out_and_was_taken_over_decides_nothing(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_refund(acme, bank, 4000)
    bank.fault, held = "delay", HeldBank(bank)
    with ThreadPoolExecutor(2) as pool:
        slow = in_background(pool, deciding_as(operators[0], case, NOT_RELEASED))
        held.await_asked()
        leases_run_out()
        other = in_background(pool, deciding_as(operators[1], case, RELEASED))
        held.await_asked()
        held.answer(99)

        assert sorted([slow.result(), other.result()]) in (
            ["BankIsBeingAsked", "decided"], ["CaseChanged", "decided"],
        )  # fmt: skip
    assert (of(case).status, decisions_written()) == ("succeeded", (1, 1))
