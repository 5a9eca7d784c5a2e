"""How a session ends: with its payment, by its time or by its merchant, and with one event."""

from typing import Any

import pytest
from django.db import DatabaseError

from payments.checkout import ending, following
from payments.checkout.models import CheckoutSession
from payments.checkout.states import ExpirationReason
from payments.intents.models import PaymentIntent
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import (
    SESSIONS,
    ends,
    expire_after,
    opened,
    over,
    session,
    waiting,
)
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import DECLINED_CARD, GOOD_CARD, RETURN_URL, confirmation, three_d_secure
from tests.stage.sweeper import sweep_after

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DAY = 86_400
PENDING_CARD = "4000001100000033"


def broken(_billing: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError("planted")


def pay(client: ApiClient, payment_id: str, number: str = GOOD_CARD, **changes: Any) -> Answer:
    body = confirmation(number, **changes)
    return client.post(f"/v1/payment_intents/{payment_id}/confirm", body)


# --- Complete ----------------------------------------------------------------------------------


def test_a_paid_payment_completes_its_session(acme: ApiClient, bank: BankTransport) -> None:
    made = opened(acme)

    paid = pay(acme, made["payment_intent"])

    assert paid["status"] == "succeeded"
    now = session(acme, made["id"])
    assert (now["status"], now["payment_status"], now["url"]) == ("complete", "paid", None)
    assert now["customer_details"] == {
        "name": "Ayşe Yılmaz", "email": "ayse@example.com", "phone": None,
        "address": {
            "line1": "İstiklal Cd. 1", "line2": None, "city": "İstanbul", "state": None,
            "postal_code": None, "country": "TR",
        },
    }  # fmt: skip
    [event] = acme.events_of(made["id"])
    assert (event["type"], event["sequence"]) == ("checkout.session.completed", 1)
    assert event["data"]["object"] == now.body
    assert event["data"]["previous_attributes"] == {
        "status": "open", "payment_status": "unpaid", "url": made["url"], "customer_details": None,
    }  # fmt: skip
    assert event["request_id"] == paid.headers["Request-Id"]
    assert_audit_is_clean()


def test_its_event_comes_after_the_payments_own(acme: ApiClient, bank: BankTransport) -> None:
    made = opened(acme)
    pay(acme, made["payment_intent"])

    told = [event["type"] for event in acme.get("/v1/events?sort=created")["data"]]

    assert told == [
        "payment_intent.created", "payment_intent.succeeded", "checkout.session.completed",
    ]  # fmt: skip


def test_an_authorised_payment_completes_it_and_a_capture_pays_it(
    acme: ApiClient, bank: BankTransport
) -> None:
    made = opened(acme, payment_intent_data={"capture_method": "manual"})
    pay(acme, made["payment_intent"])
    now = session(acme, made["id"])
    assert (now["status"], now["payment_status"]) == ("complete", "unpaid")

    acme.post(f"/v1/payment_intents/{made['payment_intent']}/capture")

    assert session(acme, made["id"])["payment_status"] == "paid"
    assert ends(acme, made["id"]) == ["completed"]
    assert_audit_is_clean()


def test_a_bank_that_says_yes_later_completes_it_then(acme: ApiClient, bank: BankTransport) -> None:
    made = opened(acme)
    assert pay(acme, made["payment_intent"], PENDING_CARD)["status"] == "processing"
    assert session(acme, made["id"])["status"] == "open"

    sweep_after(10)

    assert session(acme, made["id"])["status"] == "complete"
    assert ends(acme, made["id"]) == ["completed"]


def test_a_declined_payment_leaves_it_open(acme: ApiClient, bank: BankTransport) -> None:
    made = opened(acme)

    pay(acme, made["payment_intent"], DECLINED_CARD)

    assert session(acme, made["id"])["status"] == "open"
    assert pay(acme, made["payment_intent"])["status"] == "succeeded"
    assert ends(acme, made["id"]) == ["completed"]


def test_only_the_newest_session_of_a_payment_is_completed(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment = waiting(acme)
    first = over(acme, payment)
    acme.post(f"{SESSIONS}/{first['id']}/expire")
    second = over(acme, payment)

    pay(acme, payment)

    assert (ends(acme, first["id"]), ends(acme, second["id"])) == (["expired"], ["completed"])


def test_both_change_or_neither(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    with monkeypatch.context() as planted:
        planted.setattr(following.render, "customer_details", broken)
        assert pay(acme, made["payment_intent"]).status == 500
    payment = PaymentIntent.objects.get(id=made["payment_intent"])
    assert (payment.status, acme.told(payment.id)) == ("requires_payment_method", ["created"])

    sweep_after(120)

    assert acme.payment(payment.id)["status"] == "succeeded"
    assert (acme.told(payment.id), ends(acme, made["id"])) == (
        ["created", "succeeded"], ["completed"],
    )  # fmt: skip
    assert_audit_is_clean()


# --- Expired -----------------------------------------------------------------------------------


def test_its_merchant_ends_it_and_the_payment_that_it_made(
    acme: ApiClient, bank: BankTransport
) -> None:
    made = opened(acme)

    ended = acme.post(f"{SESSIONS}/{made['id']}/expire")

    assert (ended["status"], ended["expiration_reason"], ended["url"]) == ("expired", "api", None)
    payment = acme.payment(made["payment_intent"])
    assert (payment["status"], payment["cancellation_reason"]) == ("canceled", "abandoned")
    told = [event["type"] for event in acme.get("/v1/events?sort=created")["data"]]
    assert told[-2:] == ["payment_intent.canceled", "checkout.session.expired"]
    [event] = acme.events_of(made["id"])
    assert event["data"]["previous_attributes"] == {
        "status": "open", "url": made["url"], "expiration_reason": None,
    }  # fmt: skip
    assert_audit_is_clean()


def test_a_payment_that_was_given_stays_as_it_is(acme: ApiClient) -> None:
    payment = waiting(acme)
    made = over(acme, payment)

    acme.post(f"{SESSIONS}/{made['id']}/expire")

    assert acme.payment(payment)["status"] == "requires_payment_method"
    assert acme.told(payment) == ["created"]


def test_one_that_has_ended_is_not_ended_again(acme: ApiClient, bank: BankTransport) -> None:
    expired, complete = opened(acme), opened(acme)
    acme.post(f"{SESSIONS}/{expired['id']}/expire")
    pay(acme, complete["payment_intent"])

    for made in (expired, complete):
        again = acme.post(f"{SESSIONS}/{made['id']}/expire")
        assert again.refusal == (400, "checkout_session_unexpected_state", None)
        assert again.error["checkout_session"] == session(acme, made["id"]).body
        assert len(ends(acme, made["id"])) == 1


def test_another_doors_cancellation_ends_it(acme: ApiClient) -> None:
    made = opened(acme)

    acme.post(f"/v1/payment_intents/{made['payment_intent']}/cancel")

    now = session(acme, made["id"])
    assert (now["status"], now["expiration_reason"]) == ("expired", "payment_canceled")
    assert acme.told(made["payment_intent"]) == ["created", "canceled"]
    assert ends(acme, made["id"]) == ["expired"]


def test_it_ends_when_its_time_is_over(acme: ApiClient, bank: BankTransport) -> None:
    made = opened(acme)
    expire_after(DAY - 60)
    assert session(acme, made["id"])["status"] == "open"

    expire_after(61)

    now = session(acme, made["id"])
    assert (now["status"], now["expiration_reason"]) == ("expired", "time")
    assert acme.payment(made["payment_intent"])["cancellation_reason"] == "abandoned"
    expire_after(DAY)
    assert ends(acme, made["id"]) == ["expired"]
    assert_audit_is_clean()


@pytest.mark.parametrize("number", [PENDING_CARD, GOOD_CARD])
def test_a_payer_who_is_paying_is_never_cut_off(
    acme: ApiClient, bank: BankTransport, number: str
) -> None:
    made = opened(acme)
    body = three_d_secure("required") | {"return_url": RETURN_URL} if number == GOOD_CARD else {}
    status = pay(acme, made["payment_intent"], number, **body)["status"]
    assert status in ("requires_action", "processing")

    expire_after(DAY + 1)
    refused = acme.post(f"{SESSIONS}/{made['id']}/expire")

    assert refused.refusal == (400, "checkout_session_unexpected_state", None)
    assert session(acme, made["id"])["status"] == "open"
    sweep_after(1)  # The bank says yes; or the payer has not come back within an hour.
    expire_after(0)
    ended = session(acme, made["id"])
    assert ended["status"] == ("complete" if number == PENDING_CARD else "expired")
    assert len(ends(acme, made["id"])) == 1
    assert_audit_is_clean()


def test_without_the_look_at_its_attempts_a_payer_would_be_cut_off(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    body = three_d_secure("required") | {"return_url": RETURN_URL}
    assert pay(acme, made["payment_intent"], **body)["status"] == "requires_action"
    monkeypatch.setattr(ending, "is_busy", lambda _session: False)

    ended = acme.post(f"{SESSIONS}/{made['id']}/expire")

    assert ended["status"] == "expired"
    assert acme.payment(made["payment_intent"])["status"] == "requires_action"


def test_one_that_cannot_be_ended_stops_no_other(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = opened(acme), opened(acme)
    real = ending.end

    def end(row: CheckoutSession, reason: ExpirationReason) -> None:
        real(row, reason)
        if row.id == first["id"]:
            raise DatabaseError("planted")

    with monkeypatch.context() as planted:
        planted.setattr(ending, "end", end)
        expire_after(DAY + 1)

    assert session(acme, first["id"])["status"] == "open"
    assert session(acme, second["id"])["status"] == "expired"
    assert acme.payment(first["payment_intent"])["status"] == "requires_payment_method"
    expire_after(5)
    assert session(acme, first["id"])["status"] == "expired"
