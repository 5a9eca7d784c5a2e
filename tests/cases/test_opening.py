"""Cases open by themselves of what stays unknown, and close by themselves by the bank's word."""

from datetime import timedelta

import pytest
from django.db import DatabaseError

from acquirers.conversation import settling
from acquirers.outcomes import Answer, Outcome
from cases import cases
from cases.models import Case, CaseChange
from cases.states import CASES, CaseKind
from core import clock
from payments.bank import attempts
from payments.charging import tasks
from payments.intents.models import Attempt, Modification
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import as_owner
from tests.stage.factories import GOOD_CARD
from tests.stage.sweeper import sweep_after
from tests.stage.threads import together
from tests.stage.threeds import challenged
from tests.stage.undecided import (
    NEVER_KNOWN,
    YES,
    acts,
    an_operator,
    attempt_of,
    silent_case,
    the_bank_says,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def opened() -> list[tuple[str, str]]:
    return sorted(Case.objects.values_list("kind", "status"))


def test_an_outcome_that_is_unknown_for_an_hour_becomes_a_case(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(NEVER_KNOWN)
    clock.advance(timedelta(seconds=3590))
    tasks.watch_cases()
    assert opened() == []

    clock.advance(timedelta(seconds=10))
    tasks.watch_cases()
    tasks.watch_cases()

    case = Case.objects.get()
    assert (case.kind, case.status, case.attempt_id) == (
        "unknown_outcome", "open", paid["latest_attempt"],
    )  # fmt: skip
    assert (case.amount, case.currency, case.merchant_id) == (12500, "try", acme.merchant.id)
    assert acts(case) == ["opened"]
    assert acme.payment(paid["id"])["status"] == "processing"


def test_the_banks_word_closes_it(acme: ApiClient, bank: BankTransport) -> None:
    case = silent_case(acme)
    the_bank_says(YES)
    sweep_after(3600)

    tasks.watch_cases()

    case.refresh_from_db()
    assert (case.status, case.decision, acts(case)) == ("resolved", None, ["opened", "settled"])
    assert acme.payment(case.intent_id)["status"] == "succeeded"


def test_a_capture_that_the_bank_does_not_answer_is_a_case_too(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(capture_method="manual")
    bank.fault = "lost"
    acme.post(f"/v1/payment_intents/{paid['id']}/capture")
    clock.advance(timedelta(hours=1))
    tasks.watch_cases()

    case = Case.objects.get()
    assert (case.kind, case.operation_id) == ("unknown_outcome", Modification.objects.get().id)
    assert case.awaits_decision

    bank.fault = None
    for _ in range(3):  # "No record" is believed then.
        sweep_after(86_400)
    tasks.watch_cases()
    assert opened() == [("unknown_outcome", "resolved")]


def charged_late(acme: ApiClient) -> Attempt:
    paid = challenged(acme)
    acme.post(f"/v1/payment_intents/{paid['id']}/cancel")
    attempt = Attempt.objects.get()
    bank_books.charge(GOOD_CARD, reference=attempt.acquirer_reference, merchant=attempt.merchant_id)
    settling.settle(attempts.KIND, attempt, Outcome(Answer.APPROVED, authorization_code="A1B2C3"))
    return attempt


def test_a_late_charge_is_a_case_until_it_has_gone_back(
    acme: ApiClient, bank: BankTransport
) -> None:
    charged_late(acme)
    tasks.watch_cases()
    assert opened() == [("late_success_reversed", "open")]

    sweep_after(10)
    tasks.watch_cases()

    assert opened() == [("late_success_reversed", "resolved")]


def test_a_late_charge_that_does_not_go_back_is_stuck_after_an_hour(
    acme: ApiClient, bank: BankTransport
) -> None:
    charged_late(acme)
    bank.fault = "cut_before"
    sweep_after(3600)
    tasks.watch_cases()
    assert opened() == [("late_success_reversed", "open"), ("reversal_stuck", "open")]

    bank.fault = None
    sweep_after(86_400)
    tasks.watch_cases()

    assert opened() == [("late_success_reversed", "resolved"), ("reversal_stuck", "resolved")]


def test_the_history_is_only_added_to(acme: ApiClient, bank: BankTransport) -> None:
    case = silent_case(acme)
    cases.note(an_operator(), case.id, "They will call back.")

    for statement in (
        "UPDATE cases_casechange SET told = 'else'", "DELETE FROM cases_casechange",
        "TRUNCATE cases_casechange", "UPDATE cases_casenote SET text = 'else'",
        "DELETE FROM cases_casenote", "TRUNCATE cases_casenote", "DELETE FROM cases_case",
        "UPDATE cases_case SET amount = 1",
    ):  # fmt: skip
        with pytest.raises(DatabaseError), as_owner() as cursor:
            cursor.execute(statement)


def test_the_trigger_knows_the_same_changes_of_status() -> None:
    assert CASES.pairs == {("open", "resolved"), ("resolved", "open")}


def test_one_is_open_per_attempt_and_kind(acme: ApiClient, bank: BankTransport) -> None:
    attempt = attempt_of(silent_case(acme))

    assert cases.open_case(CaseKind.UNKNOWN_OUTCOME, attempt) is None
    assert cases.open_case(CaseKind.BANK_CONTRADICTS_BOOK, attempt) is not None
    assert Case.objects.count() == 2


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_jobs_at_once_open_each_case_once(acme: ApiClient, bank: BankTransport) -> None:
    for _ in range(5):
        acme.pay(NEVER_KNOWN)
    clock.advance(timedelta(hours=1))

    together([tasks.watch_cases] * 4)
    tasks.watch_cases()

    assert opened() == [("unknown_outcome", "open")] * 5
    assert CaseChange.objects.count() == 5
