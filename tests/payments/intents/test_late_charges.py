"""A charge that comes after its payment was canceled is given back, and shown (architecture 2)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import pytest
from django.test import Client
from django.urls import reverse

from acquirers.outcomes import Answer as Says
from acquirers.outcomes import Outcome
from acquirers.sandbox.gateway import SandboxGateway
from events.models import Event
from ledger.models import Entry
from merchants.models import User
from payments.intents import authorization, modification_answers
from payments.intents.models import Attempt, Modification
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import challenged

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

AT_THE_SANDBOX = pytest.mark.at_the_sandbox("the old bank's day has no end")


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


def the_bank_charges_after_all() -> None:
    attempt = Attempt.objects.get()
    bank_books.charge(GOOD_CARD, reference=attempt.acquirer_reference, merchant=attempt.merchant_id)
    authorization.apply(attempt, Outcome(Says.APPROVED, authorization_code="A1B2C3"))


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


@AT_THE_SANDBOX
def test_what_can_be_voided_no_more_is_refunded(acme: ApiClient, canceled: str) -> None:
    reversal = charged_of_yesterday()

    for _ in range(2):
        sweep_after(10)

    assert_given_back()
    reversal.refresh_from_db()
    assert attempt_of(acme, canceled)["reversed_at"] == int(reversal.closed_at.timestamp())
    assert not Entry.objects.exists()  # Neither merchant nor ledger ever knew of the charge.
    assert acme.get("/v1/refunds")["data"] == []


def found_settled() -> None:
    """Let the bank say to the void that its day is over."""
    modification_answers.apply(charged_of_yesterday(), Outcome(Says.SETTLED))


@AT_THE_SANDBOX
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


@AT_THE_SANDBOX
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
    modification_answers.apply(asked, Outcome(Says.SETTLED))
    reference = Modification.objects.get().refund_reference

    for late in (Says.SETTLED, Says.APPROVED, Says.DECLINED):
        modification_answers.apply(asked, Outcome(late))

    now = Modification.objects.get()
    assert (now.status, now.refund_reference) == ("processing", reference)
    sweep_after(10)
    assert_given_back()
