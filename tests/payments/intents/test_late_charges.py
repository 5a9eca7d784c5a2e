"""A charge that comes after its payment was canceled is given back, and shown (architecture 2)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import pytest
from django.test import Client
from django.urls import reverse

from acquirers.conversation import settling
from acquirers.gateway import Order
from acquirers.notices.models import Notice
from acquirers.outcomes import Answer as Says
from acquirers.outcomes import Outcome
from acquirers.sandbox.gateway import SandboxGateway
from cases.models import Case
from core import clock
from events.models import Event
from ledger.models import LedgerEntry
from merchants.models import User
from payments.bank import attempts, modifications, repayments
from payments.intents.models import Attempt, Modification
from testbank import behaviours, decisions
from testbank.models import Chargeback, Dispute
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_disputes import DISPUTED, INQUIRED
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.notifier import notifier_behind, take_in
from tests.stage.sweeper import leases_run_out, sweep, sweep_after
from tests.stage.threeds import challenged

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

AT_THE_SANDBOX = pytest.mark.at_the_sandbox("its adapter is changed, or brings a dispute")
BY_A_STATEMENT = pytest.mark.at_the_sandbox("the merchant's books have no refund of a late charge")


@pytest.fixture(autouse=True)
def _books_agree(acme: ApiClient, bank: BankTransport) -> Iterator[None]:
    yield
    assert_audit_is_clean()


@pytest.fixture
def operator(client: Client) -> Client:
    User.objects.create_superuser("operator@example.com", "a long enough password")
    assert client.login(email="operator@example.com", password="a long enough password")
    return client


@pytest.fixture
def canceled(acme: ApiClient, bank: BankTransport) -> str:
    """A payment that was canceled while its payer was at the bank."""
    payment_id = challenged(acme)["id"]
    acme.post(f"/v1/payment_intents/{payment_id}/cancel")
    return payment_id


def the_bank_charges_after_all(number: str = GOOD_CARD) -> None:
    attempt = Attempt.objects.get()
    bank_books.charge(number, reference=attempt.acquirer_reference, merchant=attempt.merchant_id)
    settling.settle(attempts.KIND, attempt, Outcome(Says.APPROVED, authorization_code="A1B2C3"))


def attempt_of(acme: ApiClient, payment_id: str) -> dict[str, object]:
    return acme.get(f"/v1/payment_intents/{payment_id}?expand[]=latest_attempt")["latest_attempt"]


def frozen() -> list[tuple[int, bytes]]:
    return [(row.sequence, bytes(row.body)) for row in Event.objects.order_by("sequence")]


def test_the_merchant_sees_when_it_was_given_back(acme: ApiClient, canceled: str) -> None:
    assert attempt_of(acme, canceled)["reversed_at"] is None

    the_bank_charges_after_all()
    assert attempt_of(acme, canceled)["reversed_at"] is None  # The bank was not asked yet.
    sweep_after(10)

    shown = attempt_of(acme, canceled)
    assert shown["reversed_at"] == int(Modification.objects.get().closed_at.timestamp())
    assert (shown["status"], shown["amount_charged"]) == ("canceled", 0)
    assert bank_books.order().state == "voided"


def test_the_payment_and_its_events_stay_what_they_were(acme: ApiClient, canceled: str) -> None:
    paid, events = acme.payment(canceled).body, frozen()

    the_bank_charges_after_all()
    sweep_after(10)

    assert (acme.payment(canceled).body, frozen()) == (paid, events)


def test_operators_find_what_was_given_back(operator: Client, canceled: str) -> None:
    the_bank_charges_after_all()
    sweep_after(10)
    attempt, reversal = Attempt.objects.get(), Modification.objects.get()
    address = reverse("admin:intents_modification_changelist")

    found = operator.get(f"{address}?kind__exact=reverse&status__exact=succeeded")
    others = operator.get(f"{address}?kind__exact=capture")
    page = operator.get(reverse("admin:intents_attempt_change", args=[attempt.id]))

    assert reversal.id in found.content.decode()
    assert reversal.id not in others.content.decode()
    assert reversal.id in page.content.decode()
    assert f'value="{attempt.id}"' not in page.content.decode()  # Nothing to type into.


# --- After the bank's day ---------------------------------------------------------------------


def charged_of_yesterday() -> Modification:
    """Let the bank charge today, and its day end before the service gives the money back."""
    begin_at_noon()
    the_bank_charges_after_all()
    end_the_day()
    return Modification.objects.get()


def assert_given_back() -> None:
    attempt, reversal = Attempt.objects.get(), Modification.objects.get()
    assert (reversal.status, reversal.kind) == ("succeeded", "reverse")
    assert reversal.refund_reference not in (None, attempt.acquirer_reference)
    assert bank_books.order().given_back == (12500,)
    assert (attempt.captured_minor, attempt.intent.captured_minor) == (0, 0)


@BY_A_STATEMENT
def test_what_can_be_voided_no_more_is_refunded(acme: ApiClient, canceled: str) -> None:
    reversal = charged_of_yesterday()

    for _ in range(2):
        sweep_after(10)

    assert_given_back()
    reversal.refresh_from_db()
    assert attempt_of(acme, canceled)["reversed_at"] == int(reversal.closed_at.timestamp())
    assert not LedgerEntry.objects.exists()  # Neither merchant nor ledger ever knew of the charge.
    assert acme.get("/v1/refunds")["data"] == []


def found_settled() -> None:
    """Let the bank say to the void that its day is over."""
    settling.settle(modifications.KIND, charged_of_yesterday(), Outcome(Says.SETTLED))


@pytest.mark.every_case("the states of money and of banks' answers")
@BY_A_STATEMENT
@pytest.mark.parametrize("fault", ["lost", "cut_after", "garble", "cut_before"])
def test_its_refund_goes_back_once_whatever_is_lost(
    fault: str, canceled: str, bank: BankTransport
) -> None:
    found_settled()
    bank.fault = fault
    sweep_after(10)
    bank.fault = None

    for _ in range(6):
        sweep_after(3700)

    assert_given_back()


@pytest.mark.not_at_garanti("the void asks for the number of the payment first")
def test_a_void_that_was_done_before_midnight_stays_one(canceled: str, bank: BankTransport) -> None:
    begin_at_noon()
    the_bank_charges_after_all()
    bank.fault = "cut_after"
    sweep_after(10)
    bank.fault = None
    end_the_day()

    for _ in range(3):
        sweep_after(3700)

    assert Modification.objects.get().refund_reference is None
    assert bank_books.order().state == "voided"
    assert bank_books.order().given_back == (12500,)


@AT_THE_SANDBOX
def test_a_refused_one_is_tried_again_under_another_reference(
    acme: ApiClient, canceled: str
) -> None:
    found_settled()
    first = Modification.objects.get().refund_reference
    with patch.object(SandboxGateway, "refund", lambda *_asked, **_for: Outcome(Says.DECLINED)):
        sweep_after(10)
    second = Modification.objects.get()
    assert second.refund_reference not in (None, first)
    assert (second.status, second.refund_sent_at) == ("processing", None)

    sweep_after(3700)

    assert_given_back()


@AT_THE_SANDBOX
def test_where_nothing_is_idempotent_it_is_sent_again_when_no_record_is_believed(
    canceled: str, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = replace(SandboxGateway.capabilities, refunds_are_idempotent=False)
    monkeypatch.setattr(SandboxGateway, "capabilities", once)
    found_settled()
    bank.fault = "lost"
    sweep_after(10)
    bank.fault = None
    for _ in range(3):
        sweep_after(10)
    assert bank_books.order().given_back == ()

    for _ in range(6):
        sweep_after(3700)

    assert_given_back()
    assert (len(bank.lost), Counter(bank.seen)["/refunds"]) == (1, 1)


@AT_THE_SANDBOX
def test_an_answer_to_the_void_says_nothing_about_the_refund_that_it_became(
    canceled: str, bank: BankTransport
) -> None:
    asked = charged_of_yesterday()
    settling.settle(modifications.KIND, asked, Outcome(Says.SETTLED))
    reference = Modification.objects.get().refund_reference

    for late in (Says.SETTLED, Says.APPROVED, Says.DECLINED):
        settling.settle(modifications.KIND, asked, Outcome(late))

    now = Modification.objects.get()
    assert (now.status, now.refund_reference) == ("processing", reference)
    sweep_after(10)
    assert_given_back()


def found_by_an_inquiry(bank: BankTransport) -> Modification:
    """Let a late charge go back as a refund whose answer is lost, and let an inquiry find it."""
    found_settled()
    bank.fault = "cut_after"
    sweep_after(10)
    bank.fault = None
    sweep_after(60)
    reversal = Modification.objects.get()
    assert (reversal.status, reversal.due_at is None) == ("succeeded", False)
    return reversal


@AT_THE_SANDBOX
def test_a_refund_that_stands_after_the_banks_day_is_asked_about_once(
    canceled: str, bank: BankTransport
) -> None:
    found_by_an_inquiry(bank)

    for _ in range(3):
        sweep_after(86_400)

    assert Modification.objects.get().due_at is None
    assert not Case.objects.filter(kind="bank_contradicts_book").exists()


@AT_THE_SANDBOX
def test_what_was_heard_of_a_refund_before_it_was_found_counts_no_more(
    canceled: str, bank: BankTransport
) -> None:
    found_settled()
    bank.fault = "cut_after"
    sweep_after(10)
    bank.fault = None
    absent = Outcome(Says.NO_RECORD)
    Modification.objects.update(no_record_count=2)
    sweep_after(60)
    found = Modification.objects.get()
    assert (found.status, found.no_record_count) == ("succeeded", 0)

    with patch.object(repayments, "inquire_refund", lambda *_asked: absent):
        sweep_after(2 * 86_400)
    assert Modification.objects.get().no_record_count == 1

    assert not Case.objects.filter(kind="bank_contradicts_book").exists()
    sweep_after(86_400)


@AT_THE_SANDBOX
@pytest.mark.parametrize("says", [Says.NO_RECORD, Says.DECLINED])
def test_a_refund_that_the_bank_has_taken_back_comes_to_a_person(
    says: Says, canceled: str, bank: BankTransport
) -> None:
    reversal = found_by_an_inquiry(bank)

    with patch.object(repayments, "inquire_refund", lambda *_asked: Outcome(says)):
        for _ in range(4):
            sweep_after(86_400)

    [case] = Case.objects.filter(kind="bank_contradicts_book")
    assert case.operation_id == reversal.id
    assert Modification.objects.get().due_at is None


# --- Disputed before it was given back ----------------------------------------------------------


def charged_and_disputed(number: str = DISPUTED) -> None:
    """Let the bank charge a card whose holder complains before the money has gone back."""
    begin_at_noon()
    the_bank_charges_after_all(number)
    clock.advance(behaviours.DISPUTED_AFTER)


def assert_the_cardholder_has_it(acme: ApiClient) -> None:
    """It went back once, as the chargeback; merchant and ledger never knew of it."""
    reversal = Modification.objects.get()
    assert (reversal.status, reversal.kind) == ("succeeded", "reverse")
    assert [row.amount for row in Chargeback.objects.all()] == [12500]
    assert not Notice.objects.filter(applied_at=None).exists()
    assert acme.get("/v1/disputes")["data"] == acme.get("/v1/refunds")["data"] == []
    assert not LedgerEntry.objects.exists()


@AT_THE_SANDBOX
def test_a_dispute_of_one_that_has_gone_back_already_is_a_case(
    acme: ApiClient, canceled: str
) -> None:
    the_bank_charges_after_all()
    sweep_after(10)
    reversal = Modification.objects.get()
    assert reversal.status == "succeeded"

    with notifier_behind() as bank:
        for kind in ("dispute_opened", "dispute_lost"):
            bank.tell(kind, canceled)
            take_in()

    found = Case.objects.filter(kind="bank_contradicts_book")
    assert [case.operation_id for case in found] == [reversal.id]
    assert not Notice.objects.filter(applied_at=None).exists()
    assert acme.get("/v1/disputes")["data"] == []


@AT_THE_SANDBOX
def test_a_dispute_that_comes_while_the_void_is_at_the_bank_is_a_case(
    acme: ApiClient, canceled: str
) -> None:
    the_bank_charges_after_all()
    real = SandboxGateway.void

    def told_meanwhile(gateway: SandboxGateway, order: Order) -> Outcome:
        voided = real(gateway, order)
        bank.tell("dispute_opened", canceled)
        take_in()
        return voided

    with notifier_behind() as bank, patch.object(SandboxGateway, "void", told_meanwhile):
        sweep_after(10)

    reversal = Modification.objects.get()
    assert (reversal.status, reversal.dispute_reference) == ("succeeded", None)
    [case] = Case.objects.filter(kind="bank_contradicts_book")
    assert case.operation_id == reversal.id


@AT_THE_SANDBOX
@pytest.mark.parametrize("says", [Says.DECLINED, Says.SETTLED, Says.UNKNOWN])
def test_a_dispute_that_comes_while_a_refused_void_is_at_the_bank_is_accepted(
    says: Says, acme: ApiClient, canceled: str
) -> None:
    charged_and_disputed()

    def told_meanwhile(_gateway: SandboxGateway, _order: Order) -> Outcome:
        take_in()
        return Outcome(says)

    with patch.object(SandboxGateway, "void", told_meanwhile):
        sweep_after(10)
    assert Modification.objects.get().dispute_reference is not None
    leases_run_out()
    sweep()

    take_in()
    assert_the_cardholder_has_it(acme)


@AT_THE_SANDBOX
@pytest.mark.parametrize("is_asked_first", [True, False])
def test_one_that_is_disputed_goes_back_by_the_dispute(
    is_asked_first: bool, acme: ApiClient, canceled: str
) -> None:
    charged_and_disputed()
    if is_asked_first:
        sweep_after(10)  # The void is refused: the money is disputed.

    for _ in range(3):
        take_in()
        sweep_after(3700)
    take_in()

    assert_the_cardholder_has_it(acme)
    [dispute] = Dispute.objects.all()
    assert dispute.state == "accepted"
    assert not Case.objects.filter(kind="bank_contradicts_book").exists()


@AT_THE_SANDBOX
def test_one_that_is_disputed_after_its_day_goes_back_by_the_dispute(
    acme: ApiClient, canceled: str
) -> None:
    charged_and_disputed()
    end_the_day()

    for _ in range(4):
        sweep_after(3700)
        take_in()

    assert_the_cardholder_has_it(acme)


@AT_THE_SANDBOX
def test_a_dispute_of_one_that_nobody_could_accept_ends_at_its_due_date(
    acme: ApiClient, canceled: str, bank: BankTransport
) -> None:
    charged_and_disputed()
    take_in()
    bank.fault = "lost"
    sweep_after(10)
    bank.fault = None
    clock.advance(behaviours.TAKES_EVIDENCE_FOR)

    take_in()

    assert_the_cardholder_has_it(acme)


@AT_THE_SANDBOX
@pytest.mark.parametrize("is_over", [False, True])
def test_a_dispute_of_one_that_the_bank_decides_for_us_lets_it_go_back(
    is_over: bool, acme: ApiClient, canceled: str, bank: BankTransport
) -> None:
    charged_and_disputed()
    if is_over:
        end_the_day()
        sweep_after(10)
    take_in()
    decisions.win(Dispute.objects.get().reference)
    take_in()

    for _ in range(3):
        sweep_after(3700 if is_over else 10)

    assert Modification.objects.get().status == "succeeded"
    assert bank_books.order().given_back == (12500,)
    assert not Notice.objects.filter(applied_at=None).exists()


@AT_THE_SANDBOX
def test_an_inquiry_about_one_keeps_nothing_from_going_back(acme: ApiClient, canceled: str) -> None:
    charged_and_disputed(INQUIRED)
    take_in()

    sweep_after(10)
    clock.advance(behaviours.TAKES_EVIDENCE_FOR)
    take_in()

    assert bank_books.order().state == "voided"
    assert not Notice.objects.filter(applied_at=None).exists()


@AT_THE_SANDBOX
def test_a_dispute_of_a_part_of_one_is_left_to_a_person(acme: ApiClient, canceled: str) -> None:
    begin_at_noon()
    the_bank_charges_after_all()
    decisions.dispute(bank_books.order().reference, amount=100)

    take_in()

    kept = Notice.objects.get(applied_at=None)
    assert kept.last_error == "ClaimUnusable"
    assert Modification.objects.get().dispute_reference is None
    decisions.win(kept.dispute)
    Notice.objects.update(applied_at=clock.now(), next_try_at=None)  # By a person.
    sweep_after(10)
