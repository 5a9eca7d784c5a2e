"""A person decides where the bank is silent, by the way of the bank's answer; its word wins."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail

from acquirers.conversation import leases
from acquirers.models import BankExchange
from cases import cases
from cases.models import Case, CaseChange
from cases.refusals import (
    BankIsBeingAsked,
    CaseChanged,
    MayNotResolve,
    NotDecidable,
    OwnerUnfit,
    ReasonUnfit,
)
from cases.states import CaseDecision
from core import clock
from merchants import accounts
from merchants.models import AuditEntry, Merchant, RequestLog, User
from payments.charging import tasks
from payments.intents.models import Attempt
from testbank.models import Authorization
from tests.stage.audited import assert_audit_is_clean, assert_our_own_books_agree, audit
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.sweeper import sweep, sweep_after
from tests.stage.undecided import (
    DAY,
    NO,
    REASON,
    YES,
    a_day_passes,
    acts,
    an_operator,
    attempt_of,
    decide,
    silent_case,
    the_bank_says,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CHARGED, NOT_CHARGED = CaseDecision.CHARGED, CaseDecision.NOT_CHARGED


@pytest.fixture
def operator() -> User:
    return an_operator()


@pytest.fixture
def case(acme: ApiClient, bank: BankTransport) -> Case:
    return silent_case(acme)


# --- The decision -----------------------------------------------------------------------------


def test_charged_makes_the_payment_succeed(case: Case, operator: User, acme: ApiClient) -> None:
    decided = decide(operator, case, CHARGED)

    assert (decided.by_bank, decided.case.status) == (False, "resolved")
    assert acme.payment(case.intent_id)["status"] == "succeeded"
    assert acme.pending() == 12500
    assert acme.told(case.intent_id) == ["created", "processing", "succeeded"]
    assert_our_own_books_agree()


def test_not_charged_lets_the_payer_try_another_card(
    case: Case, operator: User, acme: ApiClient
) -> None:
    decide(operator, case, NOT_CHARGED)

    paid = acme.payment(case.intent_id)
    assert (paid["status"], acme.pending()) == ("requires_payment_method", 0)
    assert paid["last_payment_error"]["code"] == "processing_error"
    assert paid["last_payment_error"]["type"] == "api_error"
    assert acme.told(case.intent_id) == ["created", "processing", "payment_failed"]
    assert_our_own_books_agree()


def test_charged_with_manual_capture_holds_the_money(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    case = silent_case(acme, capture_method="manual")
    decide(operator, case, CHARGED)
    assert acme.payment(case.intent_id)["status"] == "requires_capture"

    the_bank_says(YES)
    a_day_passes()

    assert acts(case) == ["opened", "decided", "confirmed"]
    assert attempt_of(case).status == "authorized"
    assert acme.post(f"/v1/payment_intents/{case.intent_id}/capture")["status"] == "succeeded"
    assert_audit_is_clean()


@pytest.mark.parametrize("days", [5, 8])
def test_a_decision_gives_an_authorization_no_more_days(
    acme: ApiClient, bank: BankTransport, operator: User, days: int
) -> None:
    case = silent_case(acme, capture_method="manual")
    clock.advance(timedelta(days=days))
    decide(operator, case, CHARGED)
    the_bank_says(YES)

    sweep_after(max(0, 7 - days) * DAY.total_seconds())

    paid = acme.payment(case.intent_id)
    assert (paid["status"], paid["cancellation_reason"]) == ("canceled", "expired")
    assert_audit_is_clean()


def test_its_event_is_found_in_the_request_logs_as_a_job(
    case: Case, operator: User, acme: ApiClient
) -> None:
    decide(operator, case, CHARGED)

    event = acme.events_of(case.intent_id)[-1]
    row = RequestLog.objects.get(id=event["request_id"])
    assert (row.kind, row.path, row.merchant_id) == (
        "job", "operators.decide_case", acme.merchant.id,
    )  # fmt: skip
    assert row.ip is None
    assert CaseChange.objects.get(case=case, act="decided").request_id == row.id


def test_the_audit_log_keeps_person_decision_and_reason(case: Case, operator: User) -> None:
    decide(operator, case, NOT_CHARGED)

    entry = AuditEntry.objects.get(action="case.decided")
    assert (entry.subject, entry.reason) == (case.id, REASON)
    assert entry.before == {"status": "open"}
    assert entry.after["decision"] == "not_charged"
    assert (entry.after["payment"], entry.after["by"]) == (case.intent_id, operator.pk)


def test_the_bank_is_asked_in_that_moment_and_the_answer_is_kept(
    case: Case, operator: User, bank: BankTransport
) -> None:
    before = bank.inquiries_seen()

    decide(operator, case, CHARGED)

    assert bank.inquiries_seen() == before + 1
    kept = BankExchange.objects.get(attempt=case.attempt_id)
    assert (kept.operation, kept.answer) == ("authorization_inquiry", "unknown")


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(("word", "status"), [(YES, "succeeded"), (NO, "requires_payment_method")])
@pytest.mark.parametrize("decision", [CHARGED, NOT_CHARGED])
def test_the_banks_word_in_that_moment_wins(
    decision: CaseDecision, word: str, status: str, case: Case, operator: User, acme: ApiClient
) -> None:
    the_bank_says(word)

    decided = decide(operator, case, decision)

    assert decided.by_bank
    assert acme.payment(case.intent_id)["status"] == status
    case.refresh_from_db()
    assert (case.status, case.decision) == ("resolved", None)
    assert acts(case) == ["opened", "settled"]
    assert not AuditEntry.objects.filter(action="case.decided").exists()
    began = {event["request_id"] for event in acme.events_of(case.intent_id)}
    assert began == {attempt_of(case).request_id}
    assert_audit_is_clean()


def test_a_closed_merchants_case_is_decided_all_the_same(
    case: Case, operator: User, acme: ApiClient
) -> None:
    merchant = Merchant.objects.get(id=acme.merchant.id)
    accounts.change(merchant, {"status": "closed"}, reason="They have stopped trading.")

    decide(operator, case, CHARGED)

    assert attempt_of(case).status == "succeeded"
    assert_our_own_books_agree()


# --- Refused ----------------------------------------------------------------------------------


def assert_nothing_happened(case: Case) -> None:
    case.refresh_from_db()
    assert (case.status, case.decision, acts(case)) == ("open", None, ["opened"])
    assert attempt_of(case).status == "processing"
    assert attempt_of(case).lease_until is None
    assert not AuditEntry.objects.filter(action="case.decided").exists()


@pytest.mark.parametrize(
    "reason", ["", "too short", " " * 20, "x" * 1001, "He said 4242424242424242 was charged."]
)
def test_without_a_reason_nothing_is_decided(reason: str, case: Case, operator: User) -> None:
    with pytest.raises(ReasonUnfit):
        decide(operator, case, CHARGED, reason=reason)

    assert_nothing_happened(case)


def test_without_the_permission_nothing_is_decided(case: Case) -> None:
    reader = an_operator("reader@pay.example", "view_case")
    with pytest.raises(MayNotResolve):
        decide(reader, case, CHARGED)
    with pytest.raises(MayNotResolve):
        cases.note(reader, case.id, "Mine.")
    with pytest.raises(MayNotResolve):
        cases.assign(reader, case.id, reader)

    assert_nothing_happened(case)


def test_an_acknowledgement_decides_nothing_about_money(case: Case, operator: User) -> None:
    with pytest.raises(NotDecidable):
        decide(operator, case, CaseDecision.ACKNOWLEDGED)
    with pytest.raises(NotDecidable):
        cases.acknowledge(operator, case.id, reason=REASON, seen=case.version)

    assert_nothing_happened(case)


def test_while_another_holds_the_lease_it_is_refused(
    case: Case, operator: User, bank: BankTransport
) -> None:
    asked = bank.inquiries_seen()
    with leases.held(attempt_of(case)), pytest.raises(BankIsBeingAsked, match="being asked"):
        decide(operator, case, CHARGED)

    assert bank.inquiries_seen() == asked
    assert_nothing_happened(case)


def test_a_stale_page_is_told_who_has_decided(case: Case, operator: User) -> None:
    decide(operator, case, CHARGED)
    other = an_operator("other@pay.example")

    with pytest.raises(CaseChanged, match=r"operator@pay\.example has decided meanwhile"):
        decide(other, case, NOT_CHARGED)

    assert attempt_of(case).status == "succeeded"
    assert AuditEntry.objects.filter(action="case.decided").count() == 1


def test_after_the_banks_answer_the_case_is_no_longer_asked(
    case: Case, operator: User, acme: ApiClient
) -> None:
    the_bank_says(NO)
    sweep_after(3600)

    decided = decide(operator, case, CHARGED)  # Before the job has closed it.

    assert decided.by_bank
    assert acme.payment(case.intent_id)["status"] == "requires_payment_method"
    with pytest.raises(CaseChanged, match="bank has settled"):
        decide(operator, case, CHARGED)
    assert_audit_is_clean()


# --- Owner and notes --------------------------------------------------------------------------


def test_owner_and_notes_are_kept_with_audit_rows(case: Case, operator: User) -> None:
    cases.assign(operator, case.id, operator)
    cases.assign(operator, case.id, operator)
    cases.note(operator, case.id, "  They will call back at noon.  ")
    cases.assign(operator, case.id, None)

    entries = AuditEntry.objects.filter(subject=case.id).order_by("sequence")
    assert [one.action for one in entries] == ["case.assigned", "case.noted", "case.assigned"]
    assert case.notes.get().text == "They will call back at noon."
    assert acts(case) == ["opened", "assigned", "assigned"]


def test_a_resolved_case_is_given_to_no_person(case: Case, operator: User) -> None:
    decide(operator, case, CHARGED)

    with pytest.raises(CaseChanged):
        cases.assign(operator, case.id, operator)

    case.refresh_from_db()
    assert case.owner is None


def test_nobody_owns_a_case_who_may_not_decide_it(case: Case, operator: User) -> None:
    with pytest.raises(OwnerUnfit):
        cases.assign(operator, case.id, an_operator("reader@pay.example", "view_case"))


# --- The bank's later word --------------------------------------------------------------------


def test_the_bank_is_asked_once_a_day_for_thirty_days(
    case: Case, operator: User, bank: BankTransport
) -> None:
    decide(operator, case, CHARGED)
    before = bank.inquiries_seen()

    for _ in range(40):
        a_day_passes()
        sweep()

    assert bank.inquiries_seen() - before == 30
    assert attempt_of(case).due_at is None


@pytest.mark.parametrize(("decision", "word"), [(CHARGED, YES), (NOT_CHARGED, NO)])
def test_a_word_that_agrees_is_noted_once(
    decision: CaseDecision, word: str, case: Case, operator: User, bank: BankTransport
) -> None:
    decide(operator, case, decision)
    the_bank_says(word)

    for _ in range(3):
        a_day_passes()

    assert acts(case) == ["opened", "decided", "confirmed"]
    case.refresh_from_db()
    assert (case.status, attempt_of(case).due_at) == ("resolved", None)
    assert_audit_is_clean()


def test_a_later_yes_after_not_charged_is_reversed_and_opens_the_case_again(
    case: Case, operator: User, acme: ApiClient
) -> None:
    decide(operator, case, NOT_CHARGED)
    paid, told = acme.payment(case.intent_id).body, acme.told(case.intent_id)
    the_bank_says(YES)

    a_day_passes()
    sweep_after(10)
    tasks.watch_cases()

    case.refresh_from_db()
    assert (case.kind, case.status, case.decision) == ("unknown_outcome", "open", "not_charged")
    assert acts(case) == ["opened", "decided", "reopened"]
    late = Case.objects.get(kind="late_success_reversed")
    assert late.status == "resolved"  # The money is back.
    assert acme.told(case.intent_id) == told
    assert acme.payment(case.intent_id)["status"] == paid["status"]
    assert_audit_is_clean()

    cases.acknowledge(operator, case.id, reason=REASON, seen=case.version)
    a_day_passes()
    case.refresh_from_db()
    assert (case.status, case.decision) == ("resolved", "acknowledged")


def test_a_later_no_after_charged_opens_it_again_and_leaves_the_books(
    case: Case, operator: User, acme: ApiClient
) -> None:
    decide(operator, case, CHARGED)
    the_bank_says(NO)

    a_day_passes()

    case.refresh_from_db()
    assert (case.kind, case.status) == ("bank_contradicts_book", "open")
    assert acts(case) == ["opened", "decided", "reopened"]
    assert (attempt_of(case).status, acme.pending()) == ("succeeded", 12500)
    assert acme.told(case.intent_id)[-1] == "succeeded"
    assert_our_own_books_agree()
    status, said = audit()
    assert (status, said.count("DIFFERENT")) == (1, 1)


# --- The audit --------------------------------------------------------------------------------


@pytest.mark.parametrize("decision", [CHARGED, NOT_CHARGED])
def test_the_audit_lists_what_a_person_decided_and_the_bank_has_not(
    decision: CaseDecision, case: Case, operator: User
) -> None:
    decide(operator, case, decision)

    status, said = audit()

    assert status == 0, said
    assert "decided by a person: 1" in said
    [line] = [line for line in said.splitlines() if "DECIDED" in line]
    assert case.attempt_id in line
    assert ("DIFFERENT" in said, "UNKNOWN" in said) == (False, False)


def test_the_audits_difference_is_a_case_until_it_is_over(
    acme: ApiClient, bank: BankTransport
) -> None:
    attempt_id = acme.pay()["latest_attempt"]
    amount = Attempt.objects.get().amount
    change_the_banks_book(amount=amount + 1)
    assert audit()[0] == audit()[0] == 1
    case = Case.objects.get()
    assert (case.kind, case.status, case.attempt_id) == (
        "bank_contradicts_book", "open", attempt_id,
    )  # fmt: skip
    assert "the bank has 12501 authorised" in case.finding

    change_the_banks_book(amount=amount)
    assert audit()[0] == 0

    case.refresh_from_db()
    assert case.status == "resolved"


def change_the_banks_book(*, amount: int) -> None:
    Authorization.objects.update(amount=amount)


def test_an_acknowledged_difference_is_no_new_case(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    acme.pay()
    change_the_banks_book(amount=13000)
    audit()
    case = Case.objects.get()
    cases.acknowledge(operator, case.id, reason=REASON, seen=case.version)

    status, _said = audit()

    assert (status, Case.objects.count()) == (1, 1)
    change_the_banks_book(amount=14000)
    audit()
    assert Case.objects.count() == 2


# --- The merchant is told -----------------------------------------------------------------------


def test_those_who_want_such_notices_are_told_that_it_was_looked_into(
    case: Case, operator: User, django_capture_on_commit_callbacks: Any
) -> None:
    accounts.change(case.merchant, {"notice_emails": ["x@acme.example"], "notice_language": "tr"})

    with django_capture_on_commit_callbacks(execute=True):
        decide(operator, case, NOT_CHARGED)

    [sent] = mail.outbox
    assert (sent.to, sent.subject) == (["x@acme.example"], "Bir ödemenizi inceledik")
    assert f"/panel/{case.merchant_id}/payments/{case.intent_id}" in str(sent.body)
    assert "₺125,00" in sent.body
    assert REASON not in sent.body


def test_a_merchant_who_wants_no_such_notice_gets_none(
    case: Case, operator: User, django_capture_on_commit_callbacks: Any
) -> None:
    accounts.change(case.merchant, {"silenced_notices": ["case_closed"]})

    with django_capture_on_commit_callbacks(execute=True):
        decide(operator, case, NOT_CHARGED)

    assert mail.outbox == []
