"""Refunds that their acquirer refuses for good, and those refused until the day ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from unittest.mock import patch

import pytest

from acquirers.outcomes import Answer, Outcome
from acquirers.sandbox.gateway import SandboxGateway
from cases.models import Case
from cases.states import CaseDecision
from core import clock
from payments.charging import tasks
from payments.refunds.models import Refund
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_disputes import DISPUTED
from tests.stage.bank_transport import BankTransport
from tests.stage.client import REFUNDS, ApiClient
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.settlement_days import hear
from tests.stage.sweeper import sweep_after
from tests.stage.undecided import an_operator, decide

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PART = 4000
REFUSED, NOT_YET = Outcome(Answer.NOT_CHARGED), Outcome(Answer.DAY_OPEN)
WAITS = (11, 31, 121, 601, 2000)


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    begin_at_noon()
    return acme.pay()["id"]


@contextmanager
def answered(outcome: Outcome) -> Iterator[None]:
    with patch.object(SandboxGateway, "refund", lambda *_, **__: outcome):
        yield


def refused_for_an_hour(client: ApiClient, payment_id: str) -> str:
    with answered(REFUSED):
        made = client.refund(payment_id, PART)
        for wait in WAITS:
            sweep_after(wait)
            tasks.watch_cases()
            assert not Case.objects.exists()
        clock.advance(timedelta(seconds=900))
        tasks.watch_cases()
    return str(made["id"])


def test_one_that_is_refused_for_an_hour_is_a_case_until_it_is_taken(
    paid: str, acme: ApiClient
) -> None:
    refund_id = refused_for_an_hour(acme, paid)
    case = Case.objects.get()
    assert (case.kind, case.operation_id) == ("unknown_outcome", refund_id)

    sweep_after(4000)
    tasks.watch_cases()

    assert acme.refunded(refund_id)["status"] == "succeeded"
    case.refresh_from_db()
    assert case.status == "resolved"
    assert given_back(paid) == GivenBack(PART, PART)
    assert_audit_is_clean()


def test_a_person_may_decide_it(paid: str, acme: ApiClient) -> None:
    refund_id = refused_for_an_hour(acme, paid)

    with answered(REFUSED):
        decide(an_operator(), Case.objects.get(), CaseDecision.RELEASED)

    assert acme.refunded(refund_id)["status"] == "succeeded"
    assert Refund.objects.get().sent_at is not None


def test_one_that_may_be_on_its_way_cannot_be_canceled_by_a_not_yet(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "lost"
    made = acme.refund(paid, PART)
    bank.fault = None
    with answered(NOT_YET):
        sweep_after(10)

    shown = acme.refunded(made["id"])
    assert (shown["status"], shown["pending_reason"]) == ("pending", "bank_day_open")
    canceled = acme.post(f"{REFUNDS}/{made['id']}/cancel")
    assert canceled.refusal[1] == "refund_unexpected_state"

    end_the_day()
    sweep_after(700)
    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert given_back(paid) == GivenBack(PART, PART)
    assert_audit_is_clean()


def test_a_bank_that_says_not_yet_for_weeks_is_a_case(paid: str, acme: ApiClient) -> None:
    with answered(NOT_YET):
        made = acme.refund(paid, PART)
        for days in (13, 2):
            tasks.watch_cases()
            assert not Case.objects.exists()
            clock.advance(timedelta(days=days))
            sweep_after(700)
        tasks.watch_cases()
    case = Case.objects.get()
    assert (case.kind, case.operation_id) == ("unknown_outcome", made["id"])

    decide(an_operator(), case, CaseDecision.NOT_RELEASED)

    assert acme.refunded(made["id"])["status"] == "failed"
    assert given_back(paid) == GivenBack(0, 0)
    assert_audit_is_clean()


def test_a_part_that_waits_for_the_day_beside_an_open_dispute_is_given_back_once(
    acme: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    disputed = acme.pay(DISPUTED)["id"]
    with answered(NOT_YET):
        made = acme.refund(disputed, PART)
    clock.advance(timedelta(seconds=10))
    hear()
    assert acme.payment(disputed)["amount_refundable"] == 0

    end_the_day()
    sweep_after(700)

    assert acme.refunded(made["id"])["status"] in ("succeeded", "failed")
    given_back(disputed)
    assert_audit_is_clean()
