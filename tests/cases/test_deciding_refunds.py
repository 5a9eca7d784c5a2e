"""A person decides about a refund that the bank leaves unknown; a late yes to an ended one."""

from datetime import timedelta

import pytest
from django.conf import settings

from acquirers.conversation import leases, settling
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.models import Case
from cases.refusals import BankIsBeingAsked, CaseChanged, MayNotResolve, NotDecidable
from cases.states import CaseDecision, CaseKind
from core import clock
from merchants.models import AuditEntry, User
from payments.charging import tasks
from payments.deciding import decisions
from payments.refunds import asking
from payments.refunds.models import Refund
from tests.stage.audited import assert_audit_is_clean, assert_our_own_books_agree, audit
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.undecided import (
    REASON,
    a_day_passes,
    acts,
    an_operator,
    decide,
    does_it_late,
    silent_refund,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

RELEASED, NOT_RELEASED = CaseDecision.RELEASED, CaseDecision.NOT_RELEASED
AMOUNTS = pytest.mark.parametrize("amount", [4000, None], ids=["refund", "void"])


@pytest.fixture
def operator() -> User:
    return an_operator()


@pytest.fixture
def case(acme: ApiClient, bank: BankTransport) -> Case:
    return silent_refund(acme, bank, 4000)


def of(case: Case) -> Refund:
    return Refund.objects.get(id=case.operation_id)


def days_pass(count: int = 3) -> None:
    for _ in range(count):
        a_day_passes()


def opened() -> list[tuple[str, str]]:
    return sorted(Case.objects.values_list("kind", "status"))


# --- Opened and closed ------------------------------------------------------------------------


def test_a_refund_that_is_unknown_for_an_hour_is_a_case_until_the_bank_has_said(
    acme: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    payment_id = acme.pay()["id"]
    bank.fault = "lost"
    acme.refund(payment_id, 4000)
    clock.advance(timedelta(seconds=settings.CASE_AFTER_SECONDS - 10))
    tasks.watch_cases()
    assert opened() == []

    clock.advance(timedelta(seconds=10))
    tasks.watch_cases()
    tasks.watch_cases()
    case = Case.objects.get()
    assert (case.operation_id, opened()) == (of(case).id, [("unknown_outcome", "open")])

    does_it_late(bank)
    a_day_passes()
    tasks.watch_cases()
    assert opened() == [("unknown_outcome", "resolved")]
    assert acts(case) == ["opened", "settled"]


def test_what_has_not_left_for_the_bank_is_no_case(acme: ApiClient, bank: BankTransport) -> None:
    begin_at_noon()
    payment_id = acme.pay()["id"]
    bank.fault = "cut_before"
    acme.refund(payment_id, 4000)
    clock.advance(timedelta(days=1))

    tasks.watch_cases()

    assert opened() == []


# --- The decision -----------------------------------------------------------------------------


@AMOUNTS
@pytest.mark.both_banks
@pytest.mark.at_the_old_bank
def test_a_refund_that_is_called_given_back_succeeds(
    amount: int | None, acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    case = silent_refund(acme, bank, amount)

    decided = decide(operator, case, RELEASED)

    assert (decided.by_bank, decided.case.status) == (False, "resolved")
    assert acme.refunded(of(case).id)["status"] == "succeeded"
    assert [one["type"] for one in acme.events_of(of(case).id)] == [
        "refund.created", "refund.succeeded",
    ]  # fmt: skip
    assert acme.pending() == 12500 - (amount or 12500)
    assert_our_own_books_agree()


@AMOUNTS
@pytest.mark.both_banks
@pytest.mark.at_the_old_bank
def test_a_refund_that_is_called_not_given_back_fails_and_can_be_asked_for_again(
    amount: int | None, acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    case = silent_refund(acme, bank, amount)

    decide(operator, case, NOT_RELEASED)

    refund = acme.refunded(of(case).id)
    assert (refund["status"], refund["failure_reason"]) == ("failed", "declined")
    assert acme.pending() == 12500
    bank.fault = None
    assert acme.refund(case.intent_id, amount)["status"] == "succeeded"
    assert_audit_is_clean()


@pytest.mark.every_case("the states of money and of banks' answers")
@AMOUNTS
@pytest.mark.parametrize("decision", [RELEASED, NOT_RELEASED])
def test_the_banks_word_in_that_moment_wins(
    decision: CaseDecision, amount: int | None, acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    case = silent_refund(acme, bank, amount)
    does_it_late(bank)

    assert decide(operator, case, decision).by_bank

    assert acme.refunded(of(case).id)["status"] == "succeeded"
    assert not AuditEntry.objects.filter(action="case.decided").exists()
    assert_audit_is_clean()


def test_refusals_change_nothing(case: Case, operator: User, bank: BankTransport) -> None:
    with pytest.raises(MayNotResolve):
        decide(an_operator("reader@pay.example", "view_case"), case, RELEASED)
    for decision in (CaseDecision.CHARGED, CaseDecision.NOT_CHARGED, CaseDecision.ACKNOWLEDGED):
        with pytest.raises(NotDecidable):
            decide(operator, case, decision)
    with leases.held(of(case)), pytest.raises(BankIsBeingAsked):
        decide(operator, case, RELEASED)
    with pytest.raises(NotDecidable):
        cases.acknowledge(operator, case.id, reason=REASON, seen=case.version)

    case.refresh_from_db()
    assert (case.status, of(case).status, of(case).lease_until) == ("open", "pending", None)
    assert decisions.offered(case) == (RELEASED, NOT_RELEASED)


def test_a_stale_page_decides_nothing(case: Case, operator: User) -> None:
    decide(operator, case, NOT_RELEASED)

    with pytest.raises(CaseChanged, match="has decided meanwhile"):
        decide(an_operator("other@pay.example"), case, RELEASED)

    assert of(case).status == "failed"


# --- The bank's later word --------------------------------------------------------------------


def test_a_yes_that_agrees_is_noted_once(case: Case, operator: User, bank: BankTransport) -> None:
    decide(operator, case, RELEASED)
    does_it_late(bank)

    days_pass()

    assert acts(case) == ["opened", "decided", "confirmed"]
    assert of(case).due_at is None
    assert_audit_is_clean()


def test_a_no_that_agrees_is_believed_the_third_time_and_nothing_is_sent_again(
    case: Case, operator: User, bank: BankTransport
) -> None:
    decide(operator, case, NOT_RELEASED)
    bank.fault = None

    days_pass(2)
    assert acts(case) == ["opened", "decided"]
    days_pass(2)

    assert acts(case) == ["opened", "decided", "confirmed"]
    assert_audit_is_clean()


def test_a_later_yes_after_not_given_back_opens_it_again_and_leaves_the_books(
    case: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, case, NOT_RELEASED)
    does_it_late(bank)

    a_day_passes()

    case.refresh_from_db()
    assert (case.kind, case.status) == ("bank_contradicts_book", "open")
    assert acts(case) == ["opened", "decided", "reopened"]
    assert (of(case).status, acme.pending()) == ("failed", 12500)
    status, said = audit()
    assert (status, f"{of(case).id} of {case.intent_id} is failed" in said) == (1, True)


def test_a_later_no_after_given_back_opens_it_again(
    case: Case, operator: User, bank: BankTransport
) -> None:
    decide(operator, case, RELEASED)
    bank.fault = None

    days_pass()

    case.refresh_from_db()
    assert (case.kind, case.status) == ("bank_contradicts_book", "open")
    assert of(case).status == "succeeded"


def test_the_bank_is_asked_for_thirty_days_at_most(
    case: Case, operator: User, bank: BankTransport
) -> None:
    decide(operator, case, RELEASED)
    bank.fault = "delay"
    before = bank.inquiries_seen()

    days_pass(32)

    assert bank.inquiries_seen() - before == 30
    assert of(case).due_at is None


# --- A yes to what had ended ------------------------------------------------------------------


def test_a_yes_to_a_refund_that_had_failed_is_a_case_at_once(
    acme: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    paid = acme.pay("4000001100000074")["id"]
    end_the_day()
    refund = Refund.objects.get(id=acme.refund(paid)["id"])
    assert refund.status == "failed"

    for _ in range(2):
        settling.settle(asking.KIND, refund, Outcome(Answer.APPROVED))

    case = Case.objects.get()
    assert (case.kind, case.status, case.operation_id) == (
        CaseKind.BANK_CONTRADICTS_BOOK, "open", refund.id,
    )  # fmt: skip
    assert refund.id in case.finding
    assert (of(case).status, acme.payment(paid)["amount_refundable"]) == ("failed", 12500)
    assert_our_own_books_agree()


def test_a_yes_to_the_void_that_has_become_a_refund_is_a_case_at_once(
    case: Case, bank: BankTransport, acme: ApiClient
) -> None:
    refund = of(silent_refund(acme, bank, None))
    settling.settle(asking.KIND, refund, Outcome(Answer.SETTLED))

    settling.settle(asking.KIND, refund, Outcome(Answer.APPROVED))

    found = Case.objects.get(kind=CaseKind.BANK_CONTRADICTS_BOOK)
    assert (found.operation_id, of(found).method) == (refund.id, "refund")
