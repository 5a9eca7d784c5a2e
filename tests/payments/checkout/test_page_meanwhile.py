"""Between form and press, or press and return: the right page, and never a charge more."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as service
from django.db import connection

from core import clock
from payments.checkout import paying
from payments.checkout.models import CheckoutSession
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import SUCCESS_URL, ends, expire_after, opened, session
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.held_transactions import held_open, nobody_waits
from tests.stage.key_change import KeyChange, rotate, take_out
from tests.stage.own_ports import refusing_port
from tests.stage.payer import FormOnPage
from tests.stage.payment_pages import Payer, Shown
from tests.stage.redis_places import redis_at
from tests.stage.sweeper import sweep, sweep_after
from tests.stage.threeds import decide

in_one_transaction = pytest.mark.django_db(databases=["default", "bank"])
committed = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

SECURE = {"payment_method_options": {"card": {"three_d_secure": "required"}}}


@pytest.fixture
def payer() -> Payer:
    return Payer()


def charges(made: Any) -> int:
    return Attempt.objects.filter(intent=made["payment_intent"], status="succeeded").count()


def at_the_bank(acme: ApiClient, payer: Payer, made: Any, button: str = "Approve") -> FormOnPage:
    """Press, and decide at the bank; return the form that brings its answer."""
    assert "/3ds/" in payer.press(payer.open(made["url"])).headers["Location"]
    return decide(acme.payment(made["payment_intent"]), button)


def come_back(payer: Payer, back: FormOnPage) -> Shown:
    arrived = payer.send(back.action.removeprefix(service.BASE_URL), back.fields)
    return payer.follow(arrived)


# --- The payer's return ---------------------------------------------------------------------------


@in_one_transaction
def test_a_payer_who_returns_an_hour_late_is_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme, **SECURE)
    back = at_the_bank(acme, payer, made)
    sweep_after(61 * 60)

    page = come_back(payer, back)

    assert (page.status, charges(made), session(acme, made["id"])["status"]) == (203, 0, "open")
    assert "You did not confirm the payment with your bank. Nothing was charged." in page.text
    sweep()
    assert_audit_is_clean()


@in_one_transaction
def test_until_the_service_has_given_up_a_late_return_still_pays(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme, **SECURE)
    back = at_the_bank(acme, payer, made)
    clock.advance(timedelta(minutes=61))

    page = come_back(payer, back)
    sweep()

    assert "Payment complete" in page.text
    assert (charges(made), session(acme, made["id"])["status"]) == (1, "complete")
    assert_audit_is_clean()


@in_one_transaction
def test_a_payer_who_returns_after_the_end_sees_it_and_is_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme, **SECURE)
    back = at_the_bank(acme, payer, made)
    clock.advance(timedelta(hours=25))
    sweep()
    expire_after(5)
    sweep()

    page = come_back(payer, back)

    assert (page.status, charges(made)) == (410, 0)
    assert "This payment page has expired" in page.text
    assert ends(acme, made["id"]) == ["expired"]
    assert_audit_is_clean()


@in_one_transaction
def test_a_payer_may_return_as_often_as_they_like_in_any_browser(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme, success_url=SUCCESS_URL, **SECURE)
    back = at_the_bank(acme, payer, made)

    pages = [come_back(browser, back) for browser in (payer, payer, Payer("tr"))]

    assert [page.status for page in pages] == [200] * 3
    assert all("Refresh" in page.headers for page in pages)
    assert (charges(made), ends(acme, made["id"])) == (1, ["completed"])
    assert_audit_is_clean()


@in_one_transaction
def test_the_answer_for_another_payment_charges_neither(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made, other = opened(acme, **SECURE), opened(acme, **SECURE)
    own, foreign = at_the_bank(acme, payer, made), at_the_bank(acme, payer, other)

    page = come_back(payer, FormOnPage(own.action, "post", foreign.fields))

    assert page.status < 500
    assert charges(made) == charges(other) == 0
    assert "Payment complete" in come_back(payer, own).text
    assert (charges(made), charges(other)) == (1, 0)


@in_one_transaction
@pytest.mark.parametrize("is_paid", [False, True])
@pytest.mark.parametrize("answer", ["succeeded", "requires_payment_method", None])
def test_what_a_press_returns_leads_on_and_what_is_stored_decides(
    acme: ApiClient, bank: BankTransport, payer: Payer, monkeypatch: pytest.MonkeyPatch,
    is_paid: bool, answer: str | None,
) -> None:  # fmt: skip
    made = opened(acme, success_url=SUCCESS_URL)
    form, pay = payer.open(made["url"]), paying.pay

    def stale(*of: Any) -> PaymentIntent | None:
        if is_paid:
            pay(*of)
        return PaymentIntent(status=answer) if answer else None

    monkeypatch.setattr(paying, "pay", stale)

    page = payer.follow(payer.press(form))

    assert charges(made) == int(is_paid)
    assert page.status == (200 if is_paid else 203)
    assert ("Refresh" in page.headers) == is_paid


# --- Keys, Redis, database ------------------------------------------------------------------------


@in_one_transaction
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_form_outlives_a_new_key_and_is_shown_again_once_the_old_one_is_gone(
    acme: ApiClient, bank: BankTransport, payer: Payer, key_change: KeyChange, is_gone: bool
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    key_change.promote_and_restart()
    if is_gone:
        rotate()
        take_out(key_change.old)
        key_change.restart()

    page = payer.follow(payer.press(form))

    assert page.status == (400 if is_gone else 200)
    if is_gone:
        assert "This page was open too long. Nothing was charged." in page.text
        page = payer.follow(payer.press(page))
    assert "Payment complete" in page.text
    assert Attempt.objects.count() == 1


@in_one_transaction
def test_without_redis_a_card_is_charged_and_none_is_held(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made, wrong = opened(acme), opened(acme)
    with refusing_port() as port, redis_at(f"redis://127.0.0.1:{port}/0"):
        paid = payer.pay(made["url"])
        asked = payer.press(payer.open(wrong["url"]), email="")
        again = payer.press(asked)
        then = payer.follow(payer.press(again))

    assert "Payment complete" in paid.text
    assert (asked.status, again.status) == (400, 400)
    assert again.spelled("number") is not None
    assert GOOD_CARD not in again.source
    assert "Payment complete" in then.text
    assert (charges(made), charges(wrong)) == (1, 1)


@committed
def test_a_database_that_takes_no_writes_shows_a_page_and_charges_nothing(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        looked_at, pressed = payer.open(made["url"]), payer.press(form)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")

    assert (looked_at.status, pressed.status) == (203, 503)
    assert pressed.headers["Content-Type"].startswith("text/html")
    assert (Attempt.objects.count(), bank.seen) == (0, [])
    assert "Payment complete" in payer.follow(payer.press(form)).text


@committed
@pytest.mark.parametrize("model", [PaymentIntent, CheckoutSession])
def test_a_row_that_another_holds_too_long_charges_nothing(
    acme: ApiClient, bank: BankTransport, payer: Payer, model: type
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    with held_open(lambda: list(model.objects.select_for_update(of=("self",)))), nobody_waits():
        pressed = payer.press(form)

    assert pressed.status == 503
    assert pressed.headers["Content-Type"].startswith("text/html")
    assert "Nothing was charged" in pressed.text
    assert (Attempt.objects.count(), bank.seen) == (0, [])
    again = pressed if "form" in pressed.inputs else form
    assert "Payment complete" in payer.follow(payer.press(again)).text


@committed
def test_a_statement_that_takes_too_long_charges_nothing(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])

    def locked() -> None:
        list(CheckoutSession.objects.select_for_update(of=("self",)))

    with held_open(locked), connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '300ms'")
        pressed = payer.press(form)
        cursor.execute("RESET statement_timeout")

    assert pressed.status == 503
    assert pressed.headers["Content-Type"].startswith("text/html")
    assert (Attempt.objects.count(), bank.seen) == (0, [])
    assert "Payment complete" in payer.follow(payer.press(form)).text
