"""A person decides about a capture or a release that the bank leaves unknown; its word wins."""

import pytest

from acquirers.conversation import leases, settling
from acquirers.models import BankExchange
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.models import Case
from cases.refusals import (
    BankIsBeingAsked,
    CaseChanged,
    MayNotResolve,
    NotDecidable,
    ReasonUnfit,
)
from cases.states import ABOUT_MONEY, CaseDecision, CaseKind
from merchants import accounts
from merchants.models import AuditEntry, Merchant, RequestLog, User
from payments.bank import attempts, modifications
from payments.charging import tasks
from payments.deciding import decisions
from payments.intents.models import Attempt, Modification
from testbank.models import Authorization
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean, assert_our_own_books_agree, audit
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.doors import CAPTURE_FAILS
from tests.stage.factories import GOOD_CARD
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import challenged
from tests.stage.undecided import (
    REASON,
    a_day_passes,
    acts,
    an_operator,
    attempt_of,
    decide,
    does_it_late,
    silent_modification,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CHARGED, NOT_CHARGED = CaseDecision.CHARGED, CaseDecision.NOT_CHARGED
RELEASED, NOT_RELEASED = CaseDecision.RELEASED, CaseDecision.NOT_RELEASED
WEEK = 7 * 86_400


@pytest.fixture
def operator() -> User:
    return an_operator()


@pytest.fixture
def capture(acme: ApiClient, bank: BankTransport) -> Case:
    return silent_modification(acme, bank)


@pytest.fixture
def void(acme: ApiClient, bank: BankTransport) -> Case:
    return silent_modification(acme, bank, "cancel")


def of(case: Case) -> Modification:
    return Modification.objects.get(id=case.operation_id)


def days_pass(count: int = 3) -> None:
    for _ in range(count):
        a_day_passes()


# --- The decision -----------------------------------------------------------------------------


@pytest.mark.both_banks
def test_a_capture_that_is_called_charged_is_booked(
    capture: Case, operator: User, acme: ApiClient
) -> None:
    decided = decide(operator, capture, CHARGED)

    assert (decided.by_bank, decided.case.status) == (False, "resolved")
    assert acme.payment(capture.intent_id)["status"] == "succeeded"
    assert (of(capture).status, acme.pending()) == ("succeeded", 12500)
    assert acme.told(capture.intent_id) == [
        "created", "amount_capturable_updated", "processing", "succeeded",
    ]  # fmt: skip
    assert_our_own_books_agree()


@pytest.mark.both_banks
def test_money_of_a_capture_that_was_called_charged_goes_back_by_the_captures_number(
    capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, capture, CHARGED)
    does_it_late(bank)
    days_pass()

    made = acme.refund(capture.intent_id)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert_audit_is_clean()


@pytest.mark.both_banks
def test_a_capture_that_is_called_not_charged_can_be_asked_for_again(
    capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, capture, NOT_CHARGED)
    assert acme.payment(capture.intent_id)["status"] == "requires_capture"

    bank.fault = None
    again = acme.post(f"/v1/payment_intents/{capture.intent_id}/capture")
    a_day_passes()

    assert (again["status"], acme.pending()) == ("succeeded", 12500)
    assert acts(capture) == ["opened", "decided"]
    assert_audit_is_clean()


@pytest.mark.both_banks
def test_a_void_that_is_called_released_cancels_the_payment(
    void: Case, operator: User, acme: ApiClient
) -> None:
    decide(operator, void, RELEASED)

    assert (acme.payment(void.intent_id)["status"], of(void).status) == ("canceled", "succeeded")
    assert acme.told(void.intent_id)[-2:] == ["processing", "canceled"]
    assert_our_own_books_agree()


@pytest.mark.both_banks
def test_a_void_that_is_called_not_released_leaves_the_money_to_be_captured(
    void: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, void, NOT_RELEASED)
    assert acme.payment(void.intent_id)["status"] == "requires_capture"

    bank.fault = None
    again = acme.post(f"/v1/payment_intents/{void.intent_id}/cancel")
    a_day_passes()

    assert again["status"] == "canceled"
    assert acts(void) == ["opened", "decided"]
    assert_audit_is_clean()


def test_the_events_cause_and_the_audit_row_are_the_decisions(
    capture: Case, operator: User, acme: ApiClient
) -> None:
    decide(operator, capture, CHARGED)

    row = RequestLog.objects.get(id=acme.events_of(capture.intent_id)[-1]["request_id"])
    assert (row.kind, row.path, row.ip) == ("job", "operators.decide_case", None)
    entry = AuditEntry.objects.get(action="case.decided")
    assert (entry.subject, entry.reason) == (capture.id, REASON)
    assert (entry.after["decision"], entry.after["by"]) == ("charged", operator.pk)


def test_only_the_inquiry_is_kept_and_nothing_that_was_not_sent(
    capture: Case, operator: User, bank: BankTransport
) -> None:
    bank.fault = "delay"
    before = bank.inquiries_seen()

    decide(operator, capture, CHARGED)

    assert bank.inquiries_seen() == before + 1
    kept = BankExchange.objects.filter(operation_id=capture.operation_id).order_by("id")
    assert [(one.operation, one.answer) for one in kept] == [
        ("capture", "unknown"), ("modification_inquiry", "unknown"),
    ]  # fmt: skip


@pytest.mark.parametrize("decision", [CHARGED, NOT_CHARGED])
def test_the_banks_word_about_a_capture_in_that_moment_wins(
    decision: CaseDecision, capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    does_it_late(bank)

    decided = decide(operator, capture, decision)

    assert decided.by_bank
    assert acme.payment(capture.intent_id)["status"] == "succeeded"
    assert (decided.case.status, decided.case.decision) == ("resolved", None)
    assert acts(capture) == ["opened", "settled"]
    assert not AuditEntry.objects.filter(action="case.decided").exists()
    assert acme.events_of(capture.intent_id)[-1]["request_id"] == of(capture).request_id
    assert_audit_is_clean()


@pytest.mark.parametrize("decision", [RELEASED, NOT_RELEASED])
def test_the_banks_word_about_a_void_in_that_moment_wins(
    decision: CaseDecision, void: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    does_it_late(bank)

    assert decide(operator, void, decision).by_bank

    assert acme.payment(void.intent_id)["status"] == "canceled"
    assert_audit_is_clean()


def test_no_record_once_is_no_word_of_the_banks(
    capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = None

    assert not decide(operator, capture, NOT_CHARGED).by_bank
    assert acme.payment(capture.intent_id)["status"] == "requires_capture"
    assert_audit_is_clean()


def test_a_closed_merchants_capture_is_decided_all_the_same(
    capture: Case, operator: User, acme: ApiClient
) -> None:
    merchant = Merchant.objects.get(id=acme.merchant.id)
    accounts.change(merchant, {"status": "closed"}, reason="They have stopped trading.")

    decide(operator, capture, CHARGED)

    assert attempt_of(capture).status == "succeeded"


# --- What is offered --------------------------------------------------------------------------


def expired(acme: ApiClient, bank: BankTransport) -> Case:
    acme.pay(capture_method="manual")
    bank.fault = "lost"
    sweep_after(WEEK)
    sweep_after(3600)
    tasks.watch_cases()
    return Case.objects.get()


def refused_capture(acme: ApiClient, bank: BankTransport) -> Case:
    """Return the case of a refused capture's release that the bank does not answer."""
    paid = acme.pay("4000001100000066", capture_method="manual")
    bank.meanwhile = lambda: setattr(bank, "fault", "cut_after") if len(bank.seen) > 2 else None
    acme.post(f"/v1/payment_intents/{paid['id']}/capture")
    bank.fault, bank.meanwhile = "lost", lambda: None
    sweep_after(3600)
    tasks.watch_cases()
    return Case.objects.get()


def charged_late(acme: ApiClient, bank: BankTransport) -> Case:
    paid = challenged(acme)
    acme.post(f"/v1/payment_intents/{paid['id']}/cancel")
    attempt = Attempt.objects.get()
    bank_books.charge(GOOD_CARD, reference=attempt.acquirer_reference, merchant=attempt.merchant_id)
    settling.settle(attempts.KIND, attempt, Outcome(Answer.APPROVED, authorization_code="A1B2C3"))
    bank.fault = "lost"
    sweep_after(3600)
    tasks.watch_cases()
    return Case.objects.get(kind=CaseKind.REVERSAL_STUCK)


OURS = {"expired": expired, "fallback": refused_capture, "reverse": charged_late}
ENDS = {"expired": "canceled", "fallback": "requires_payment_method", "reverse": "canceled"}


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("what", OURS)
def test_a_release_of_our_own_can_only_be_called_done(
    what: str, acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    case = OURS[what](acme, bank)
    assert decisions.offered(case) == (RELEASED,)

    decide(operator, case, RELEASED)

    assert acme.payment(case.intent_id)["status"] == ENDS[what]
    assert (of(case).status, of(case).lease_until) == ("succeeded", None)
    tasks.watch_cases()
    assert not Case.objects.filter(status="open").exists()
    assert_our_own_books_agree()


def test_a_reversal_that_is_stuck_is_not_over_because_somebody_has_seen_it(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    case = charged_late(acme, bank)

    with pytest.raises(NotDecidable):
        cases.acknowledge(operator, case.id, reason=REASON, seen=case.version)

    tasks.watch_cases()
    assert Case.objects.filter(kind=CaseKind.REVERSAL_STUCK).get().is_open


# --- Refused ----------------------------------------------------------------------------------


def assert_nothing_happened(case: Case) -> None:
    case.refresh_from_db()
    assert (case.status, case.decision, acts(case)) == ("open", None, ["opened"])
    assert (of(case).status, of(case).lease_until) == ("processing", None)
    assert not AuditEntry.objects.filter(action="case.decided").exists()


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("decision", [*ABOUT_MONEY, CaseDecision.ACKNOWLEDGED])
@pytest.mark.parametrize("act", ["capture", "cancel"])
def test_a_decision_about_something_else_is_refused(
    act: str, decision: CaseDecision, acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    case = silent_modification(acme, bank, act)
    if decision in decisions.offered(case):
        decide(operator, case, decision)
        return

    with pytest.raises(NotDecidable):
        decide(operator, case, decision)

    assert_nothing_happened(case)


@pytest.mark.both_banks
def test_reason_and_permission_are_asked_for(capture: Case, operator: User) -> None:
    with pytest.raises(ReasonUnfit):
        decide(operator, capture, CHARGED, reason="too short")
    with pytest.raises(MayNotResolve):
        decide(an_operator("reader@pay.example", "view_case"), capture, CHARGED)

    assert_nothing_happened(capture)


@pytest.mark.both_banks
def test_while_another_holds_the_lease_it_is_refused(
    capture: Case, operator: User, bank: BankTransport
) -> None:
    bank.fault = None
    asked = bank.inquiries_seen()
    with leases.held(of(capture)), pytest.raises(BankIsBeingAsked):
        decide(operator, capture, CHARGED)

    assert bank.inquiries_seen() == asked
    assert_nothing_happened(capture)


def test_a_stale_page_is_told_who_has_decided(capture: Case, operator: User) -> None:
    decide(operator, capture, CHARGED)

    with pytest.raises(CaseChanged, match=r"operator@pay\.example has decided meanwhile"):
        decide(an_operator("other@pay.example"), capture, NOT_CHARGED)

    assert of(capture).status == "succeeded"
    assert AuditEntry.objects.filter(action="case.decided").count() == 1


def test_after_the_banks_answer_it_is_no_longer_asked(
    capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    does_it_late(bank)
    sweep_after(3600)

    assert decide(operator, capture, NOT_CHARGED).by_bank  # Before the job has closed it.

    assert acme.payment(capture.intent_id)["status"] == "succeeded"
    with pytest.raises(CaseChanged, match="bank has settled"):
        decide(operator, capture, NOT_CHARGED)
    assert_audit_is_clean()


# --- The bank's later word --------------------------------------------------------------------


@pytest.mark.dear("thirty-two days of a sweeper")
def test_the_bank_is_asked_once_a_day_for_thirty_days(
    void: Case, operator: User, bank: BankTransport
) -> None:
    decide(operator, void, RELEASED)
    bank.fault = "delay"
    before = bank.inquiries_seen()

    days_pass(32)

    assert bank.inquiries_seen() - before == 30
    assert of(void).due_at is None


def test_a_word_about_a_capture_that_agrees_is_noted_once(
    capture: Case, operator: User, bank: BankTransport
) -> None:
    decide(operator, capture, CHARGED)
    does_it_late(bank)

    days_pass()

    assert acts(capture) == ["opened", "decided", "confirmed"]
    assert of(capture).due_at is None
    assert_audit_is_clean()


def test_a_word_about_a_void_that_agrees_is_noted_once(
    void: Case, operator: User, bank: BankTransport
) -> None:
    decide(operator, void, RELEASED)
    does_it_late(bank)

    days_pass()

    assert acts(void) == ["opened", "decided", "confirmed"]
    assert_audit_is_clean()


@pytest.mark.parametrize("act", ["capture", "cancel"])
def test_a_no_that_agrees_is_believed_the_third_time(
    act: str, acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    case = silent_modification(acme, bank, act)
    decide(operator, case, NOT_CHARGED if act == "capture" else NOT_RELEASED)
    bank.fault = None

    days_pass(2)
    assert acts(case) == ["opened", "decided"]
    days_pass(2)

    assert acts(case) == ["opened", "decided", "confirmed"]
    assert_audit_is_clean()


def test_a_later_yes_to_a_capture_called_not_charged_is_booked_and_opens_the_case_again(
    capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, capture, NOT_CHARGED)
    does_it_late(bank)

    a_day_passes()

    capture.refresh_from_db()
    assert (capture.kind, capture.status) == ("unknown_outcome", "open")
    assert acts(capture) == ["opened", "decided", "reopened"]
    assert (acme.payment(capture.intent_id)["status"], acme.pending()) == ("succeeded", 12500)
    assert acme.told(capture.intent_id)[-2:] == ["amount_capturable_updated", "succeeded"]
    assert of(capture).status == "succeeded"
    tasks.watch_cases()
    capture.refresh_from_db()
    assert decisions.offered(capture) == (CaseDecision.ACKNOWLEDGED,)
    assert_audit_is_clean()


def test_a_later_yes_to_a_void_called_not_released_cancels_the_payment(
    void: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, void, NOT_RELEASED)
    does_it_late(bank)

    a_day_passes()

    assert acts(void) == ["opened", "decided", "reopened"]
    assert acme.payment(void.intent_id)["status"] == "canceled"
    assert_audit_is_clean()


def test_a_later_no_after_charged_opens_it_again_and_leaves_the_books(
    capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, capture, CHARGED)
    bank.fault = None

    days_pass()

    capture.refresh_from_db()
    assert (capture.kind, capture.status) == ("bank_contradicts_book", "open")
    assert acts(capture) == ["opened", "decided", "reopened"]
    assert (attempt_of(capture).status, acme.pending()) == ("succeeded", 12500)
    assert_our_own_books_agree()
    status, said = audit()
    assert (status, said.count("DIFFERENT")) == (1, 1)


def test_money_that_is_still_held_after_released_is_released_and_the_case_is_open_again(
    void: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, void, RELEASED)
    told = acme.told(void.intent_id)
    bank.fault = None

    days_pass()
    assert acts(void) == ["opened", "decided", "reopened"]
    sweep_after(10)

    [order] = bank_books.orders()
    assert (order.state, acme.told(void.intent_id)) == ("voided", told)
    assert_audit_is_clean()


def test_a_capture_that_was_refunded_since_is_no_contradiction(
    capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, capture, CHARGED)
    does_it_late(bank)
    assert acme.refund(capture.intent_id)["method"] == "void"

    days_pass()

    assert acts(capture) == ["opened", "decided", "confirmed"]
    assert_audit_is_clean()


def test_money_that_was_refunded_since_is_no_contradiction_of_not_released(
    void: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, void, NOT_RELEASED)
    bank.fault = None
    acme.post(f"/v1/payment_intents/{void.intent_id}/capture")
    assert acme.refund(void.intent_id)["method"] == "void"

    a_day_passes()

    assert acts(void) == ["opened", "decided"]
    assert_audit_is_clean()


def test_a_refund_of_a_part_does_not_explain_that_all_was_released(
    void: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, void, NOT_RELEASED)
    lost, bank.fault = list(bank.lost), None
    acme.post(f"/v1/payment_intents/{void.intent_id}/capture")
    bank.fault = "cut_before"
    assert acme.refund(void.intent_id, amount=5000)["status"] == "pending"
    bank.fault = None
    bank.lost[:] = lost
    does_it_late(bank)

    a_day_passes()

    assert acts(void) == ["opened", "decided", "reopened"]


def test_the_release_of_a_refused_capture_is_no_contradiction_of_not_released(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    void = silent_modification(acme, bank, "cancel", number=CAPTURE_FAILS)
    decide(operator, void, NOT_RELEASED)
    bank.fault = None
    acme.post(f"/v1/payment_intents/{void.intent_id}/capture")
    assert acme.payment(void.intent_id)["status"] == "requires_payment_method"

    a_day_passes()

    assert acts(void) == ["opened", "decided"]
    assert_audit_is_clean()


def test_a_bank_that_has_taken_the_money_of_both_captures_opens_the_case_again(
    capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, capture, NOT_CHARGED)
    bank.fault = None
    path = f"/v1/payment_intents/{capture.intent_id}/capture"
    acme.post(path, {"amount_to_capture": 5000})
    a_day_passes()
    assert acts(capture) == ["opened", "decided"]

    Authorization.objects.update(captured_amount=12500)
    a_day_passes()

    capture.refresh_from_db()
    assert (capture.kind, capture.status) == ("bank_contradicts_book", "open")
    assert acts(capture) == ["opened", "decided", "reopened"]


def test_a_decided_capture_is_not_compared_while_another_is_at_the_bank(
    capture: Case, operator: User, acme: ApiClient, bank: BankTransport
) -> None:
    decide(operator, capture, NOT_CHARGED)
    bank.fault = "cut_after"
    acme.post(f"/v1/payment_intents/{capture.intent_id}/capture")
    bank.fault = None

    settling.settle(modifications.KIND, of(capture), modifications.KIND.ask(of(capture)))
    sweep_after(10)
    a_day_passes()

    assert acts(capture) == ["opened", "decided"]
    assert (acme.payment(capture.intent_id)["status"], acme.pending()) == ("succeeded", 12500)
    assert_audit_is_clean()


# --- A late yes that nobody has decided about -------------------------------------------------


def not_done(acme: ApiClient, bank: BankTransport, act: str) -> Modification:
    """Return a modification that the bank has denied three times."""
    case = silent_modification(acme, bank, act)
    bank.fault = None
    days_pass()
    row = of(case)
    assert (row.status, row.answer) == ("failed", "no_record")
    return row


def test_a_captures_late_yes_is_booked_while_the_money_is_held(
    acme: ApiClient, bank: BankTransport
) -> None:
    row = not_done(acme, bank, "capture")
    does_it_late(bank)

    for _ in range(2):
        settling.settle(modifications.KIND, row, Outcome(Answer.APPROVED, captured=12500))

    row.refresh_from_db()
    assert (row.status, row.answer) == ("succeeded", "approved")
    assert acme.payment(row.attempt.intent_id)["status"] == "succeeded"
    assert acme.pending() == 12500
    assert_audit_is_clean()


def test_a_voids_late_yes_is_booked_while_the_money_is_held(
    acme: ApiClient, bank: BankTransport
) -> None:
    row = not_done(acme, bank, "cancel")
    does_it_late(bank)

    settling.settle(modifications.KIND, row, Outcome(Answer.APPROVED))

    assert acme.payment(row.attempt.intent_id)["status"] == "canceled"
    assert_audit_is_clean()


def test_while_the_bank_is_asked_for_something_else_a_late_yes_waits_for_that(
    acme: ApiClient, bank: BankTransport
) -> None:
    row = not_done(acme, bank, "capture")
    payment_id = row.attempt.intent_id
    bank.fault = "lost"
    acme.post(f"/v1/payment_intents/{payment_id}/capture")
    does_it_late(bank)

    settling.settle(modifications.KIND, row, Outcome(Answer.APPROVED, captured=12500))
    assert acme.payment(payment_id)["status"] == "processing"
    sweep_after(10)

    assert (acme.payment(payment_id)["status"], acme.pending()) == ("succeeded", 12500)
    assert Case.objects.filter(kind=CaseKind.BANK_CONTRADICTS_BOOK).count() == 0
    assert_audit_is_clean()


def test_a_captures_late_yes_after_the_release_is_a_case(
    acme: ApiClient, bank: BankTransport
) -> None:
    row = not_done(acme, bank, "capture")
    acme.post(f"/v1/payment_intents/{row.attempt.intent_id}/cancel")

    for _ in range(2):
        settling.settle(modifications.KIND, row, Outcome(Answer.APPROVED, captured=12500))

    case = Case.objects.get(kind=CaseKind.BANK_CONTRADICTS_BOOK)
    assert (case.status, case.operation_id) == ("open", row.id)
    assert (acme.payment(row.attempt.intent_id)["status"], acme.pending()) == ("canceled", 0)
    assert audit()[0] == 0  # The bank's book agrees after all, and the case is over.
    case.refresh_from_db()
    assert case.status == "resolved"
