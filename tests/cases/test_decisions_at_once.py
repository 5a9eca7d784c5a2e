"""Decisions that meet: two operators, and the sweeper or the bank in the same moment."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from acquirers.conversation import leases, settling
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.models import Case
from cases.refusals import CaseChanged
from cases.states import CaseDecision
from events.models import Event
from merchants.models import AuditEntry, User
from payments.bank import attempts
from payments.charging import tasks
from payments.deciding import decisions
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.audited import assert_audit_is_clean, assert_our_own_books_agree
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.held_bank import HeldBank
from tests.stage.sweeper import leases_run_out, sweep
from tests.stage.threads import together
from tests.stage.undecided import (
    NO,
    YES,
    an_operator,
    attempt_of,
    decide,
    decisions_written,
    ended,
    in_background,
    silent_case,
    the_bank_says,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

CHARGED, NOT_CHARGED = CaseDecision.CHARGED, CaseDecision.NOT_CHARGED


@pytest.fixture
def operators() -> list[User]:
    return [an_operator("first@pay.example"), an_operator("second@pay.example")]


def test_of_two_operators_at_once_one_decides(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    for _round in range(3):
        case = silent_case(acme)
        before, _ = decisions_written()

        ends = together(
            [
                lambda: ended(lambda: decide(operators[0], case, CHARGED)),  # noqa: B023
                lambda: ended(lambda: decide(operators[1], case, NOT_CHARGED)),  # noqa: B023
            ]
        )

        assert sorted(ends) in (["BankIsBeingAsked", "decided"], ["CaseChanged", "decided"])
        case.refresh_from_db()
        assert decisions_written() == (before + 1, before + 1)
        status = "succeeded" if case.decision == CHARGED else "failed"
        assert attempt_of(case).status == status
        assert len(acme.told(case.intent_id)) == 3
        assert_our_own_books_agree()


def test_while_the_first_asks_the_bank_the_second_is_refused(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case, held = silent_case(acme), HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        first = in_background(pool, lambda: ended(lambda: decide(operators[0], case, CHARGED)))
        held.await_asked()

        second = ended(lambda: decide(operators[1], case, NOT_CHARGED))
        held.answer(99)

        assert (first.result(), second) == ("decided", "BankIsBeingAsked")
    assert decisions_written() == (1, 1)


@pytest.mark.parametrize(("word", "status"), [(YES, "succeeded"), (NO, "failed")])
def test_while_the_sweeper_asks_nobody_decides_and_the_bank_wins(
    word: str, status: str, acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_case(acme)
    the_bank_says(word)
    held = HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        swept = in_background(pool, sweep)
        held.await_asked()

        refused = ended(lambda: decide(operators[0], case, CHARGED))
        held.answer(99)
        swept.result()

    assert refused == "BankIsBeingAsked"
    tasks.watch_cases()
    case.refresh_from_db()
    assert (case.status, case.decision, attempt_of(case).status) == ("resolved", None, status)
    assert decisions_written() == (0, 0)
    assert_audit_is_clean()


def test_a_decision_and_the_sweeper_at_once_end_in_one_way(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    for word in (YES, NO):
        case = silent_case(acme)
        the_bank_says(word)

        [end, _] = together([lambda: ended(lambda: decide(operators[0], case, CHARGED)), sweep])  # noqa: B023

        tasks.watch_cases()
        case.refresh_from_db()
        assert end in ("bank", "BankIsBeingAsked", "CaseChanged")
        assert (case.status, case.decision) == ("resolved", None)
        assert attempt_of(case).status == ("succeeded" if word == YES else "failed")
        assert len(acme.told(case.intent_id)) == 3
    assert_audit_is_clean()


def test_the_banks_own_answer_while_it_is_asked_is_not_overruled(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case, held = silent_case(acme), HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        deciding_ = in_background(
            pool, lambda: ended(lambda: decide(operators[0], case, NOT_CHARGED))
        )
        held.await_asked()
        # The request that once asked for the money gets its answer after all.
        the_bank_says(YES)
        attempt = attempt_of(case)
        settling.settle(
            attempts.KIND, attempt, Outcome(Answer.APPROVED, authorization_code="A1B2C3")
        )
        held.answer(99)

        assert deciding_.result() == "bank"
    assert PaymentIntent.objects.get().status == "succeeded"
    assert decisions_written() == (0, 0)
    assert_audit_is_clean()


def test_a_lease_that_ran_out_and_was_taken_over_decides_nothing(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case, held = silent_case(acme), HeldBank(bank)
    with ThreadPoolExecutor(2) as pool:
        slow = in_background(pool, lambda: ended(lambda: decide(operators[0], case, NOT_CHARGED)))
        held.await_asked()
        leases_run_out()
        other = in_background(pool, lambda: ended(lambda: decide(operators[1], case, CHARGED)))
        held.await_asked()
        held.answer(99)

        assert sorted([slow.result(), other.result()]) in (
            ["BankIsBeingAsked", "decided"], ["CaseChanged", "decided"],
        )  # fmt: skip
    case.refresh_from_db()
    assert case.decision == CHARGED
    assert decisions_written() == (1, 1)


# --- In one transaction -----------------------------------------------------------------------


def assert_decided_with_its_audit_row_or_not_at_all(case: Case, operator: User) -> None:
    """Let the database fail at the audit row, and look at everything else."""
    told = Event.objects.count()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("merchants.audit_log.APPEND", "SELECT 1/0 AS %(chain)s")
        patched.setattr("merchants.audit_log.NEXT", "SELECT 1/0, %(chain)s")
        with suppress(DatabaseError, CaseChanged):
            decide(operator, case, CHARGED)
    case.refresh_from_db()
    kept = AuditEntry.objects.filter(action="case.decided").count()
    assert (case.status == "resolved", attempt_of(case).status == "succeeded") == (
        kept == 1, kept == 1,
    )  # fmt: skip
    assert Event.objects.count() == told + kept
    assert attempt_of(case).lease_until is None


def test_the_audit_row_is_written_in_the_decisions_transaction(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    assert_decided_with_its_audit_row_or_not_at_all(silent_case(acme), operators[0])


def test_a_planted_audit_row_outside_of_the_transaction_is_found(
    acme: ApiClient,
    bank: BankTransport,
    operators: list[User],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = cases.audit_log.record

    def afterwards(action: str, **facts: Any) -> None:
        def write() -> None:
            with transaction.atomic():
                record(action, **facts)

        transaction.on_commit(write)

    monkeypatch.setattr(cases.audit_log, "record", afterwards)

    with pytest.raises(AssertionError):
        assert_decided_with_its_audit_row_or_not_at_all(silent_case(acme), operators[0])


def assert_refused_while_leased(case: Case, operator: User) -> None:
    with leases.held(attempt_of(case)):
        end = ended(lambda: decide(operator, case, CHARGED))
    assert (end, decisions_written()) == ("BankIsBeingAsked", (0, 0))


def test_nobody_decides_while_another_process_has_the_lease(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    assert_refused_while_leased(silent_case(acme), operators[0])


def test_a_planted_decision_without_the_lease_is_found(
    acme: ApiClient,
    bank: BankTransport,
    operators: list[User],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def not_leased(row: Attempt) -> Iterator[Attempt]:
        yield Attempt.objects.select_related(*Attempt.read_with).get(pk=row.pk)

    monkeypatch.setattr(decisions, "_leased", not_leased)

    with pytest.raises(AssertionError):
        assert_refused_while_leased(silent_case(acme), operators[0])
