"""Disputes from the card to their end, at the real test bank: the cards of contract 11."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from acquirers.notices.models import Inbox
from core import clock
from payments.disputes import tasks
from payments.disputes.models import Dispute
from testbank import behaviours, decisions
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_disputes import DISPUTED, INQUIRED, NOT_RECEIVED
from tests.stage.bank_transport import BankTransport
from tests.stage.booked import lines, movements
from tests.stage.client import Answer, ApiClient
from tests.stage.notifier import take_in
from tests.stage.sweeper import sweep

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/disputes"


class Case:
    """A payment with a card whose holder complains, and what came of it."""

    def __init__(self, shop: ApiClient, number: str, **changes: Any) -> None:
        self.shop = shop
        self.payment_id: str = shop.pay(number, **changes)["id"]
        self.wait(behaviours.DISPUTED_AFTER)
        [self.dispute] = shop.get(f"{PATH}?payment_intent={self.payment_id}")["data"]
        self.id: str = self.dispute["id"]

    def wait(self, span: timedelta) -> None:
        """Let time pass, and every job of the service run."""
        clock.advance(span)
        tasks.close_overdue()
        sweep()
        Inbox.objects.update(held_until=None)  # A bank that was away is left alone in real time.
        take_in()

    def submit(self, text: str) -> Answer:
        body = {"evidence": {"uncategorized_text": text}, "submit": True}
        answer = self.shop.post(f"{PATH}/{self.id}", body)
        self.wait(timedelta(0))
        self.wait(behaviours.DECIDED_AFTER)
        return answer

    def close(self) -> Answer:
        answer = self.shop.post(f"{PATH}/{self.id}/close")
        self.wait(timedelta(0))
        return answer

    @property
    def status(self) -> str:
        return self.shop.get(f"{PATH}/{self.id}")["status"]

    @property
    def told(self) -> list[str]:
        return [event["type"].removeprefix("dispute.") for event in self.shop.events_of(self.id)]

    @property
    def banks_name(self) -> str:
        return Dispute.objects.get(id=self.id).bank_reference


Begun = Callable[..., Case]


@pytest.fixture
def begun(acme: ApiClient, bank: BankTransport) -> Begun:
    return lambda number=DISPUTED, **changes: Case(acme, number, **changes)


@pytest.mark.parametrize(
    ("number", "status", "reason"),
    [
        (DISPUTED, "needs_response", "fraudulent"),
        (NOT_RECEIVED, "needs_response", "product_not_received"),
        (INQUIRED, "warning_needs_response", "general"),
    ],
)
def test_a_dispute_opens_within_five_seconds_and_is_due_in_ten_days(
    number: str, status: str, reason: str, begun: Begun
) -> None:
    case = begun(number)

    shown = case.dispute
    assert (shown["status"], shown["reason"], shown["amount"]) == (status, reason, 12500)
    assert timedelta(seconds=shown["evidence_due_by"] - shown["created"]) <= timedelta(days=10)
    assert case.told == ["created"]
    assert_audit_is_clean()


def test_evidence_that_convinces_the_bank_wins(begun: Begun) -> None:
    case = begun()

    answer = case.submit("winning_evidence")

    assert (answer["status"], case.status) == ("under_review", "won")
    assert case.told == ["created", "updated", "closed"]
    assert lines(case.id) == {}
    assert_audit_is_clean()


def test_evidence_that_does_not_convince_the_bank_loses(begun: Begun) -> None:
    case = begun(NOT_RECEIVED)

    case.submit("losing_evidence")

    assert (case.status, movements(case.id)) == ("lost", ["dispute_opened", "dispute_lost"])


def test_other_evidence_waits_for_a_person_at_the_bank(begun: Begun) -> None:
    case = begun()
    case.submit("We sent it.")
    assert case.status == "under_review"

    decisions.win(case.banks_name)
    case.wait(timedelta(0))

    assert case.status == "won"


def test_a_closed_dispute_is_accepted_at_the_bank(begun: Begun) -> None:
    case = begun()

    answer = case.close()
    case.wait(timedelta(0))

    assert (answer["status"], case.status, case.told) == ("lost", "lost", ["created", "closed"])
    assert case.shop.payment(case.payment_id)["amount_refundable"] == 0


def test_a_dispute_that_nobody_answers_is_lost_on_both_sides(begun: Begun) -> None:
    case = begun()

    case.wait(behaviours.TAKES_EVIDENCE_FOR)
    case.wait(timedelta(hours=1))

    shown = case.shop.get(f"{PATH}/{case.id}")
    assert (shown["status"], shown["evidence_details"]["past_due"]) == ("lost", True)
    assert case.told == ["created", "closed"]


def test_a_dispute_that_was_lost_is_given_back_after_all(begun: Begun) -> None:
    case = begun()
    case.submit("losing_evidence")

    decisions.regain(case.banks_name)
    case.wait(timedelta(0))

    assert (case.status, case.told) == ("won", ["created", "updated", "closed", "closed"])
    assert_audit_is_clean()


def test_an_inquiry_that_is_answered_well_ends(begun: Begun) -> None:
    case = begun(INQUIRED)

    answer = case.submit("winning_evidence")

    assert (answer["status"], case.status) == ("warning_under_review", "warning_closed")
    assert movements(case.id) == []


def test_an_inquiry_that_is_answered_badly_becomes_a_chargeback(begun: Begun) -> None:
    case = begun(INQUIRED)

    case.submit("losing_evidence")
    assert case.status == "needs_response"
    case.submit("winning_evidence")

    assert case.status == "won"
    assert case.shop.get(f"{PATH}/{case.id}")["evidence_details"]["submission_count"] == 2
    assert case.told == ["created", "updated", "updated", "updated", "closed"]
    assert_audit_is_clean()


def test_an_inquiry_that_is_closed_takes_no_money(begun: Begun) -> None:
    case = begun(INQUIRED)

    case.close()
    case.wait(timedelta(0))

    assert (case.status, movements(case.id)) == ("warning_closed", [])
    assert_audit_is_clean()


def test_an_inquiry_that_was_closed_may_be_charged_back_and_accepted(begun: Begun) -> None:
    case = begun(INQUIRED)
    case.close()

    decisions.escalate(case.banks_name)
    case.wait(timedelta(0))
    assert case.status == "needs_response"
    case.close()

    assert (case.status, movements(case.id)) == ("lost", ["dispute_opened", "dispute_lost"])


def test_an_acceptance_that_is_on_its_way_does_not_accept_the_chargeback(
    begun: Begun, bank: BankTransport
) -> None:
    case = begun(INQUIRED)
    case.shop.post(f"{PATH}/{case.id}/close")
    decisions.escalate(case.banks_name)
    take_in()

    case.wait(timedelta(minutes=1))

    assert case.status == "needs_response"


def test_a_close_of_an_inquiry_never_accepts_the_chargeback_that_we_have_not_heard_of(
    begun: Begun,
) -> None:
    case = begun(INQUIRED)
    case.shop.post(f"{PATH}/{case.id}/close")
    decisions.escalate(case.banks_name)

    sweep()  # It reaches the bank before the bank's own word is heard.
    take_in()

    assert case.status == "needs_response"
    case.submit("winning_evidence")
    assert case.status == "won"
    assert_audit_is_clean()


def test_the_banks_word_beats_a_close_that_is_on_its_way(begun: Begun) -> None:
    case = begun()
    case.shop.post(f"{PATH}/{case.id}/close")
    decisions.win(case.banks_name)

    case.wait(timedelta(minutes=1))

    assert (case.status, case.told) == ("won", ["created", "closed", "closed"])
    assert_audit_is_clean()


@pytest.mark.parametrize("fault", ["cut_before", "lost", "cut_after", "delay", "garble"])
def test_evidence_reaches_the_bank_however_the_way_is_broken(
    fault: str, begun: Begun, bank: BankTransport
) -> None:
    case = begun()
    bank.fault = fault
    case.submit("winning_evidence")
    case.wait(timedelta(minutes=1))
    bank.fault = None

    case.wait(timedelta(minutes=10))
    case.wait(timedelta(minutes=10))

    assert case.status == "won"
    assert case.told == ["created", "updated", "closed"]


def test_what_the_bank_tells_comes_however_the_way_is_broken(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(DISPUTED)["id"]
    clock.advance(behaviours.DISPUTED_AFTER)
    for fault in ("cut_before", "garble", "delay"):
        bank.fault = fault
        take_in()
        Inbox.objects.update(held_until=None)
    bank.fault = None

    take_in()

    assert [row["payment_intent"] for row in acme.get(PATH)["data"]] == [paid]
