"""Exchanges with a bank that are kept: every inquiry about an authorisation, and its answer."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from acquirers import exchanges
from acquirers.calls import Course
from acquirers.conversation import settling
from acquirers.models import BankExchange
from acquirers.outcomes import Answer, Exchange
from acquirers.sandbox.gateway import SandboxGateway
from payments.intents.models import Attempt, Modification
from testbank.models import Authorization
from tests.stage.audited import audit
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import (
    GOOD_CARD,
    RETURN_URL,
    SILENT_CARD,
    AttemptFactory,
    confirmation,
    payment,
    three_d_secure,
)
from tests.stage.sweeper import Died, dies, leases_run_out, sweep_after
from tests.stage.threeds import challenged
from tests.stage.visitors import NAME, PASSWORD, an_operator

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

Operation = BankExchange.Operation
SOFT_DECLINED = "4000002760003184"
SENT_AT = datetime(2026, 11, 1, 12, 30, tzinfo=timezone.get_default_timezone())


def kept() -> list[tuple[str, str, str | None]]:
    rows = BankExchange.objects.order_by("id")
    return [(row.operation, row.answer, row.bank_code) for row in rows]


def inquired(answer: str, code: str | None = None) -> tuple[str, str, str | None]:
    return ("authorization_inquiry", answer, code)


# --- When one is kept -------------------------------------------------------------------------


@pytest.mark.parametrize("number", [GOOD_CARD, "4000000000000002"])
def test_an_authorisation_that_is_answered_at_once_keeps_none(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.pay(number)

    assert kept() == []
    assert Attempt.objects.get().bank_code == ("00" if number == GOOD_CARD else "06")


def test_the_sweepers_inquiries_are_kept(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(SILENT_CARD)
    bank.fault = "lost"
    sweep_after(15)
    bank.fault = None
    sweep_after(60)

    assert kept() == [inquired("unknown"), inquired("declined", "05")]
    row = BankExchange.objects.latest("id")
    assert row.attempt.intent_id == paid["id"]
    assert row.merchant == acme.merchant
    assert row.request_id.startswith("req_")
    assert row.milliseconds >= 0


def test_the_inquiry_about_a_payer_who_did_not_come_back_is_kept(
    acme: ApiClient, bank: BankTransport
) -> None:
    challenged(acme)

    sweep_after(3700)

    assert kept() == [inquired("no_record")]


def test_the_inquiry_before_another_card_is_kept(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    body = confirmation(GOOD_CARD, **three_d_secure("none"))

    assert acme.post(f"/v1/payment_intents/{paid['id']}/confirm", body)["status"] == "succeeded"

    assert kept() == [inquired("no_record")]
    first = Attempt.objects.order_by("created_at").first()
    assert BankExchange.objects.get().attempt == first


def test_the_inquiry_before_a_retry_sends_again_is_kept(
    acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "lost"
    with dies(settling, "settle"), pytest.raises(Died):
        acme.post("/v1/payment_intents", payment(), idempotency_key="k")
    bank.fault = None
    leases_run_out()

    paid = acme.post("/v1/payment_intents", payment(), idempotency_key="k")

    assert paid["status"] == "succeeded"
    assert kept() == [inquired("no_record")]


def test_the_inquiry_by_which_a_retry_hears_of_a_soft_decline_too_late_is_kept_once(
    acme: ApiClient, bank: BankTransport
) -> None:
    body = payment(SOFT_DECLINED, return_url=RETURN_URL)
    with dies(settling, "settle"), pytest.raises(Died):
        acme.post("/v1/payment_intents", body, idempotency_key="k")
    leases_run_out()
    bank.fault = "delay"
    sweep_after(10)  # From here on the payment is `processing`.
    bank.fault = None

    acme.post("/v1/payment_intents", body, idempotency_key="k")

    assert [answer for _operation, answer, _code in kept()] == [
        "unknown",
        "authentication_required",
    ]


def test_a_modification_keeps_each_exchange_with_its_row(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(GOOD_CARD, capture_method="manual")
    bank.fault = "lost"
    acme.post(f"/v1/payment_intents/{paid['id']}/capture")
    bank.fault = None
    sweep_after(15)

    assert kept() == [("capture", "unknown", None), ("modification_inquiry", "no_record", "00")]
    [capture] = Modification.objects.all()
    assert {row.operation_id for row in BankExchange.objects.all()} == {capture.id}


def test_a_refused_void_keeps_the_inquiry_that_followed_it(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay("4000001100000074", capture_method="manual")

    acme.post(f"/v1/payment_intents/{paid['id']}/cancel")

    assert [operation for operation, _answer, _code in kept()] == ["modification_inquiry", "void"]


def test_a_capture_that_the_bank_answers_keeps_one(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(GOOD_CARD, capture_method="manual")

    acme.post(f"/v1/payment_intents/{paid['id']}/capture")

    assert [row[:2] for row in kept()] == [("capture", "approved")]


def test_a_bank_that_tells_of_sales_alone_is_never_believed_to_have_done_nothing(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    less = replace(SandboxGateway.capabilities, inquires_modifications=False)
    monkeypatch.setattr(SandboxGateway, "capabilities", less)
    paid = acme.pay(GOOD_CARD, capture_method="manual")
    bank.fault = "lost"
    acme.post(f"/v1/payment_intents/{paid['id']}/capture")
    bank.fault = None

    for _ in range(5):
        sweep_after(86_400)

    assert acme.payment(paid["id"])["status"] == "processing"
    assert {answer for _operation, answer, _code in kept()} == {"unknown"}


# --- How it is kept ---------------------------------------------------------------------------


def recorded(exchange: Exchange, **details: Any) -> BankExchange:
    attempt = AttemptFactory()
    exchanges.record(attempt, exchange, Answer.DECLINED, operation=Operation.VOID, **details)
    return BankExchange.objects.get()


def test_an_exchange_is_kept_with_the_banks_own_words_and_numbers() -> None:
    exchange = Exchange(SENT_AT, 1.2345, "CORE-2012", "Hatalı terminal", {"host_ref": "7"})

    row = recorded(exchange, operation_id="mod_1")

    assert (row.operation, row.operation_id, row.answer) == ("void", "mod_1", "declined")
    assert (row.sent_at, row.milliseconds) == (SENT_AT, 1234)
    assert (row.bank_code, row.bank_text) == ("CORE-2012", "Hatalı terminal")
    assert row.numbers == {"host_ref": "7"}


def test_a_request_that_never_left_is_no_exchange() -> None:
    exchanges.record(AttemptFactory(), Exchange(), Answer.NOT_SENT, operation=Operation.CAPTURE)

    assert kept() == []


def test_a_banks_words_are_scrubbed_and_cut() -> None:
    ended = Course().ended(
        code="5" * 60, text="no \x00 4242 4242 4242 4242\ud800 " + "x" * 300, numbers={"a": None}
    )

    row = recorded(ended)

    assert "4242 4242" not in row.bank_text
    assert (len(row.bank_code), len(row.bank_text), row.numbers) == (40, 200, {})


def test_an_exchange_stays_as_it_was() -> None:
    row = recorded(Exchange(SENT_AT))

    with pytest.raises(IntegrityError, match="kept as it was"), transaction.atomic():
        BankExchange.objects.update(answer="approved")
    with pytest.raises(IntegrityError, match="kept as it was"), transaction.atomic():
        row.delete()


def test_an_exchange_is_of_its_attempts_merchant() -> None:
    attempt, other = AttemptFactory(), AttemptFactory()
    attempt.merchant_id = other.merchant_id

    exchanges.record(attempt, Exchange(SENT_AT), Answer.APPROVED, operation=Operation.VOID)

    with pytest.raises(IntegrityError, match="an_exchanges_attempt_is_the_merchants"):
        transaction.get_connection().check_constraints()


# --- Who sees it ------------------------------------------------------------------------------


def test_operators_see_exchanges_with_the_payment_and_with_the_attempt() -> None:
    row = recorded(Exchange(SENT_AT, 1.5, "CORE-2012", "Hatalı terminal"))
    an_operator()
    browser = Client()
    browser.login(username=NAME, password=PASSWORD)
    pages = [
        browser.get(reverse("admin:intents_paymentintent_change", args=[row.attempt.intent_id])),
        browser.get(reverse("admin:intents_attempt_change", args=[row.attempt_id])),
    ]

    for page in pages:
        assert page.status_code == 200
        assert "CORE-2012" in page.content.decode()
    assert "sandbox" in pages[0].content.decode()


def test_the_audit_prints_the_exchanges_of_a_difference(
    acme: ApiClient, bank: BankTransport
) -> None:
    acme.pay(SILENT_CARD)
    sweep_after(15)
    Authorization.objects.update(state="authorized", captured_amount=12500)

    status, said = audit()

    assert status == 1
    assert "authorization_inquiry: declined, code 05" in said
