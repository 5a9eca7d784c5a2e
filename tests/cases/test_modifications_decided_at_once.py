"""Decisions about captures and releases that meet others, the sweeper, the bank or the merchant."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import DatabaseError

from acquirers.conversation import leases, settling
from acquirers.outcomes import Answer, Outcome
from cases.models import Case, CaseChange
from cases.states import CaseDecision
from events.models import Event
from merchants.models import AuditEntry, User
from payments.bank import modifications
from payments.charging import tasks
from payments.deciding import decisions
from payments.intents.models import Modification
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
    silent_modification,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

CHARGED, NOT_CHARGED = CaseDecision.CHARGED, CaseDecision.NOT_CHARGED
RELEASED, NOT_RELEASED = CaseDecision.RELEASED, CaseDecision.NOT_RELEASED
PAIRS = {"capture": (CHARGED, NOT_CHARGED), "cancel": (RELEASED, NOT_RELEASED)}
ENDS = {CHARGED: "succeeded", RELEASED: "canceled"}
BOTH = pytest.mark.parametrize("act", PAIRS)


@pytest.fixture
def operators() -> list[User]:
    return [an_operator("first@pay.example"), an_operator("second@pay.example")]


def of(case: Case) -> Modification:
    return Modification.objects.get(id=case.operation_id)


def deciding_as(operator: User, case: Case, decision: CaseDecision) -> Callable[[], str]:
    return lambda: ended(lambda: decide(operator, case, decision))


@BOTH
def test_of_two_operators_at_once_one_decides(
    act: str, acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    for _round in range(3):
        bank.fault = None
        case = silent_modification(acme, bank, act)
        before, _ = decisions_written()

        words = zip(operators, PAIRS[act], strict=True)
        ends = together([deciding_as(one, case, decision) for one, decision in words])

        assert sorted(ends) in (["BankIsBeingAsked", "decided"], ["CaseChanged", "decided"])
        case.refresh_from_db()
        assert decisions_written() == (before + 1, before + 1)
        expected = ENDS.get(CaseDecision(case.decision), "requires_capture")
        assert acme.payment(case.intent_id)["status"] == expected
        assert len(acme.told(case.intent_id)) == 4
        assert_our_own_books_agree()


@BOTH
def test_while_the_sweeper_asks_nobody_decides_and_the_bank_wins(
    act: str, acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_modification(acme, bank, act)
    does_it_late(bank)
    held = HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        swept = in_background(pool, lambda: sweep_after(60))
        held.await_asked()

        refused = deciding_as(operators[0], case, PAIRS[act][1])()
        held.answer(99)
        swept.result()

    assert refused == "BankIsBeingAsked"
    tasks.watch_cases()
    case.refresh_from_db()
    assert (case.status, case.decision, of(case).status) == ("resolved", None, "succeeded")
    assert decisions_written() == (0, 0)
    assert_audit_is_clean()


@BOTH
def test_a_decision_and_the_sweeper_at_once_end_in_one_way(
    act: str, acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_modification(acme, bank, act)
    does_it_late(bank)
    Modification.objects.update(due_at=case.opened_at)

    [end, _] = together([deciding_as(operators[0], case, PAIRS[act][1]), sweep])

    tasks.watch_cases()
    case.refresh_from_db()
    assert end in ("bank", "BankIsBeingAsked", "CaseChanged")
    assert (case.status, case.decision, of(case).status) == ("resolved", None, "succeeded")
    assert len(acme.told(case.intent_id)) == 4
    assert_audit_is_clean()


@BOTH
def test_the_requests_own_answer_while_the_bank_is_asked_is_not_overruled(
    act: str, acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_modification(acme, bank, act)
    does_it_late(bank)
    bank.fault, held = "delay", HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        decided = in_background(pool, deciding_as(operators[0], case, PAIRS[act][1]))
        held.await_asked()
        settling.settle(modifications.KIND, of(case), Outcome(Answer.APPROVED))
        held.answer(99)

        assert decided.result() == "bank"
    bank.fault = None
    assert acme.payment(case.intent_id)["status"] == ENDS[PAIRS[act][0]]
    assert decisions_written() == (0, 0)
    assert_audit_is_clean()


@BOTH
def test_a_lease_that_ran_out_and_was_taken_over_decides_nothing(
    act: str, acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    case = silent_modification(acme, bank, act)
    bank.fault, held = "delay", HeldBank(bank)
    with ThreadPoolExecutor(2) as pool:
        slow = in_background(pool, deciding_as(operators[0], case, PAIRS[act][1]))
        held.await_asked()
        leases_run_out()
        other = in_background(pool, deciding_as(operators[1], case, PAIRS[act][0]))
        held.await_asked()
        held.answer(99)

        assert sorted([slow.result(), other.result()]) in (
            ["BankIsBeingAsked", "decided"], ["CaseChanged", "decided"],
        )  # fmt: skip
    case.refresh_from_db()
    assert case.decision == PAIRS[act][0]
    assert decisions_written() == (1, 1)


def test_a_merchants_cancellation_beside_a_decision_about_an_expired_one_ends_once(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    paid = acme.pay(capture_method="manual")
    bank.fault = "lost"
    sweep_after(7 * 86_400)
    sweep_after(3600)
    tasks.watch_cases()
    case = Case.objects.get()
    bank.fault = None
    held = HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        decided = in_background(pool, deciding_as(operators[0], case, RELEASED))
        held.await_asked()
        held.answer(99)
        canceled = acme.post(f"/v1/payment_intents/{paid['id']}/cancel")
        end = decided.result()

    assert end in ("decided", "bank")
    assert canceled.status in (200, 400)
    assert acme.told(paid["id"])[-1] == "canceled"
    assert acme.told(paid["id"]).count("canceled") == 1
    assert_our_own_books_agree()


# --- In one transaction, and under the lease --------------------------------------------------


def test_the_audit_row_is_written_in_the_decisions_transaction(
    acme: ApiClient, bank: BankTransport, operators: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = silent_modification(acme, bank)
    told = Event.objects.count()
    monkeypatch.setattr("merchants.audit_log.APPEND", "SELECT 1/0 AS %(chain)s")
    monkeypatch.setattr("merchants.audit_log.NEXT", "SELECT 1/0, %(chain)s")

    with suppress(DatabaseError):
        decide(operators[0], case, CHARGED)

    case.refresh_from_db()
    assert (case.status, of(case).status, of(case).lease_until) == ("open", "processing", None)
    assert (Event.objects.count(), acme.pending()) == (told, 0)
    assert not AuditEntry.objects.filter(action="case.decided").exists()
    assert not CaseChange.objects.filter(act="decided").exists()


def assert_refused_while_leased(case: Case, operator: User) -> None:
    with leases.held(of(case)):
        end = deciding_as(operator, case, CHARGED)()
    assert (end, decisions_written()) == ("BankIsBeingAsked", (0, 0))


def test_nobody_decides_while_another_process_has_the_lease(
    acme: ApiClient, bank: BankTransport, operators: list[User]
) -> None:
    assert_refused_while_leased(silent_modification(acme, bank), operators[0])


def test_a_planted_decision_without_the_lease_is_found(
    acme: ApiClient, bank: BankTransport, operators: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def not_leased(row: Any) -> Iterator[Any]:
        yield type(row).objects.select_related(*row.read_with).get(pk=row.pk)

    monkeypatch.setattr(decisions, "_leased", not_leased)

    with pytest.raises(AssertionError):
        assert_refused_while_leased(silent_modification(acme, bank), operators[0])
