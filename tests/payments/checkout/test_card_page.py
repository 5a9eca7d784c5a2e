"""The page takes a card: one attempt for each form, of what the page has shown, or none."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import translation
from django.utils.formats import date_format

from acquirers import slots
from acquirers.models import Route
from core import clock, local_days
from payments.checkout import paying, tickets
from payments.checkout.models import CheckoutSession
from payments.intents.models import Attempt
from tests.stage.bank_days import end_the_day
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import ends, expire_after, opened, session
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, SILENT_CARD, confirmation, line, three_d_secure
from tests.stage.payment_pages import Payer
from tests.stage.threeds import decide

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SUCCESS_URL = "https://acme.example/thanks?session={CHECKOUT_SESSION_ID}"
CANCEL_URL = "https://acme.example/cart"
FAILS_AUTHENTICATION = "4131111111111117"
AMEX = "371449635398431"


@pytest.fixture
def payer() -> Payer:
    return Payer()


def attempts(made: Any) -> list[Attempt]:
    return list(Attempt.objects.filter(intent=made["payment_intent"]).order_by("created_at"))


def tries(made: Any) -> int:
    return CheckoutSession.objects.get(id=made["id"]).tries


# --- A payment --------------------------------------------------------------------------------


def test_a_payer_pays_and_is_led_to_the_shop(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme, success_url=SUCCESS_URL)

    form = payer.open(made["url"])
    pressed = payer.press(form)
    end = payer.follow(pressed)

    shop = f"https://acme.example/thanks?session={made['id']}"
    assert (form.status, pressed.status, end.status) == (203, 303, 200)
    assert pressed.headers["Location"].endswith("/back")
    assert end.headers["Refresh"] == f"0; url={shop}&payment_intent={made['payment_intent']}"
    assert "Payment complete" in end.text
    now = session(acme, made["id"])
    assert (now["status"], now["payment_status"], now["tries"]) == ("complete", "paid", 1)
    assert now["customer_details"]["email"] == "ayse@example.com"
    assert now["customer_details"]["address"]["country"] == "TR"
    assert ends(acme, made["id"]) == ["completed"]
    assert len(attempts(made)) == 1


def test_the_page_shows_the_order(acme: ApiClient, payer: Payer) -> None:
    lines = [line(1000, name=f"Glass {one}") for one in range(8)]
    made = opened(
        acme, amount=None, line_items=lines, success_url=SUCCESS_URL, cancel_url=CANCEL_URL,
        payment_intent_data={"description": "Order 7"},
    )  # fmt: skip

    page = payer.open(made["url"])

    for shown in (acme.merchant.name, "acme.example", "Order 7", "₺80.00", "Glass 0", "Glass 7"):
        assert shown in page.text
    assert "3 more lines" in page.text
    assert CANCEL_URL in page.links
    assert "<script" not in page.source


@pytest.mark.parametrize("language", ["en", "tr"])
def test_a_paid_page_shows_the_day_of_its_merchant(
    acme: ApiClient, bank: BankTransport, payer: Payer, language: str
) -> None:
    end_the_day()  # In UTC the day goes on for some hours.
    made = opened(acme)
    payer.pay(made["url"])
    utc, own = (local_days.of(clock.now(), zone) for zone in ("UTC", "Europe/Istanbul"))

    page = Payer(language).open(made["url"])

    with translation.override(language):
        assert date_format(own, "DATE_FORMAT") in page.text
        assert date_format(utc, "DATE_FORMAT") not in page.text


def test_a_paid_page_leads_on_by_hand_for_a_day(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme, success_url=SUCCESS_URL)
    payer.pay(made["url"])

    page = payer.open(made["url"])
    clock.advance(timedelta(hours=25))
    later = payer.open(made["url"])

    assert any(link.startswith("https://acme.example/thanks") for link in page.links)
    assert "Refresh" not in page.headers
    assert not any("acme.example" in link for link in later.links)
    for private in ("ayse@example.com", "4242", "Ayşe"):
        assert private not in page.source


def test_what_the_merchant_knows_is_used_and_neither_asked_nor_shown(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    address = {"line1": "Gizli Sk. 1", "city": "Ankara", "country": "TR"}
    made = opened(acme, customer_email="known@example.com", billing_details={"address": address})

    page = payer.open(made["url"])
    payer.press(page)

    assert {page.spelled(name) for name in ("email", "line1", "city", "country")} == {None}
    assert "known@example.com" not in page.source
    assert "Gizli" not in page.source
    details = session(acme, made["id"])["customer_details"]
    assert (details["email"], details["address"]["city"]) == ("known@example.com", "Ankara")
    assert details["name"] == "Ayşe Yılmaz"


def test_a_customers_details_are_known_too(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    known = {"email": "kunde@example.com", "address": {"line1": "Yol 1"}}
    customer = acme.post("/v1/customers", known)["id"]
    made = opened(acme, customer=customer)

    page = payer.open(made["url"])
    payer.press(page)

    assert (page.spelled("email"), page.spelled("line1")) == (None, None)
    assert page.spelled("city") == "city"
    assert session(acme, made["id"])["customer_details"]["email"] == "kunde@example.com"


def test_manual_capture_completes_too(acme: ApiClient, bank: BankTransport, payer: Payer) -> None:
    made = opened(acme, payment_intent_data={"capture_method": "manual"})

    payer.pay(made["url"])

    now = session(acme, made["id"])
    assert (now["status"], now["payment_status"]) == ("complete", "unpaid")


# --- A try that fails -------------------------------------------------------------------------


def test_a_declined_card_lets_the_payer_try_another(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)

    again = payer.pay(made["url"], number=DECLINED_CARD)
    paid = payer.follow(payer.press(again))

    assert again.status == 203
    assert "Your bank did not accept this payment." in again.text
    assert "Payment complete" in paid.text
    assert [one.status for one in attempts(made)] == ["failed", "succeeded"]


@pytest.mark.parametrize(("number", "sentence"), [
    ("4000000000000127", "Check number, date and code"),
    ("4000000000000069", "Check number, date and code"),
    ("4000000000009995", "Your bank did not accept this payment."),
    ("4000000000009987", "Your bank did not accept this payment."),
    ("4100000000000019", "Your bank did not accept this payment."),
    ("4000000000000119", "Your bank cannot be reached."),
])  # fmt: skip
def test_four_sentences_say_why_it_failed(
    acme: ApiClient, bank: BankTransport, payer: Payer, number: str, sentence: str
) -> None:
    page = payer.pay(opened(acme)["url"], number=number)

    assert sentence in page.text
    assert "Nothing was charged." in page.text


def test_the_sixth_failure_ends_the_session_and_no_seventh_is_sent(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme, cancel_url=CANCEL_URL)
    unsent = payer.open(made["url"])

    pages = [payer.pay(made["url"], number=DECLINED_CARD) for _ in range(6)]
    seventh = payer.follow(payer.press(unsent))

    assert [page.status for page in pages] == [203] * 5 + [410]
    assert "No more tries are possible here" in pages[-1].text
    assert CANCEL_URL in pages[-1].links
    assert (seventh.status, len(attempts(made))) == (410, 6)
    now = session(acme, made["id"])
    assert (now["status"], now["expiration_reason"]) == ("expired", "too_many_tries")
    assert acme.payment(made["payment_intent"])["status"] == "canceled"
    assert ends(acme, made["id"]) == ["expired"]


def test_a_given_payment_outlives_the_tries_of_its_page(
    acme: ApiClient, bank: BankTransport, payer: Payer, settings: Any
) -> None:
    settings.CHECKOUT_TRIES_MAX = 1
    payment = acme.post("/v1/payment_intents", {"amount": 500, "currency": "try"})["id"]
    made = acme.post("/v1/checkout/sessions", {"payment_intent": payment})

    payer.pay(made["url"], number=DECLINED_CARD)

    assert session(acme, made["id"])["expiration_reason"] == "too_many_tries"
    assert acme.payment(payment)["status"] == "requires_payment_method"


def test_a_page_without_tries_ends_with_a_card_that_the_shop_has_confirmed_meanwhile(
    acme: ApiClient, bank: BankTransport, payer: Payer, settings: Any
) -> None:
    settings.CHECKOUT_TRIES_MAX = 1
    made = opened(acme, **three_d_secure("required"))
    payer.press(payer.open(made["url"]))
    payment = made["payment_intent"]
    assert acme.payment(payment)["status"] == "requires_action"

    card = confirmation(DECLINED_CARD, **three_d_secure("automatic"))
    path = f"/v1/payment_intents/{payment}/confirm"
    first, again = (acme.post(path, card, idempotency_key="k") for _ in range(2))

    assert session(acme, made["id"])["expiration_reason"] == "too_many_tries"
    assert acme.payment(payment)["status"] == "canceled"
    assert first.body == again.body == acme.payment(payment).body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "No more tries are possible here" in payer.open(made["url"]).text


def test_a_bank_that_cannot_be_reached_costs_no_try(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)

    payer.pay(made["url"], number="4000000000000119")
    assert tries(made) == 0
    payer.pay(made["url"], number=DECLINED_CARD)

    assert tries(made) == 1


def test_a_merchants_own_confirm_counts_no_try(acme: ApiClient, bank: BankTransport) -> None:
    made = opened(acme)
    path = f"/v1/payment_intents/{made['payment_intent']}/confirm"

    for _ in range(7):
        acme.post(path, confirmation(DECLINED_CARD))

    assert (session(acme, made["id"])["status"], tries(made)) == ("open", 0)


def test_a_merchants_own_confirm_does_not_lead_back_to_the_page(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    payer.pay(made["url"], number=DECLINED_CARD)
    path = f"/v1/payment_intents/{made['payment_intent']}/confirm"

    asked = acme.post(path, confirmation(**three_d_secure("required")))
    acme.post(path, confirmation("4000000000000119", **three_d_secure("none")))

    assert (asked.error["code"], asked.error["param"]) == ("parameter_missing", "return_url")
    assert acme.payment(made["payment_intent"])["return_url"] is None
    assert tries(made) == 1  # The bank was not reached, and the page has no try to give back.


def test_a_silent_bank_leaves_the_payer_waiting(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    unsent = payer.open(made["url"])

    page = payer.pay(made["url"], number=SILENT_CARD)
    second = payer.follow(payer.press(unsent))

    assert page.status == second.status == 200
    assert "Please do not pay again." in page.text
    assert "Look again" in page.text
    assert len(attempts(made)) == 1


# --- 3-D Secure -------------------------------------------------------------------------------


def test_a_payer_authenticates_and_comes_back_to_the_page(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    card = {"card": {"three_d_secure": "required"}}
    made = opened(acme, success_url=SUCCESS_URL, payment_method_options=card)

    pressed = payer.press(payer.open(made["url"]))
    waiting = payer.open(made["url"])
    payment = acme.payment(made["payment_intent"])
    form = decide(payment, "Approve")
    end = payer.follow(payer.send(form.action.removeprefix(settings.BASE_URL), form.fields))

    assert pressed.headers["Location"].startswith("/3ds/att_")
    assert "Your bank waits for you" in waiting.text
    assert pressed.headers["Location"] in waiting.links
    assert "Payment complete" in end.text
    assert "Refresh" in end.headers
    assert session(acme, made["id"])["status"] == "complete"


def test_a_payer_at_the_bank_may_use_another_card(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    card = {"card": {"three_d_secure": "automatic"}}
    made = opened(acme, payment_method_options=card)
    payer.press(payer.open(made["url"]), number="4000002760003184")
    waiting = payer.open(made["url"])

    [other] = [link for link in waiting.links if link.endswith("/card")]
    end = payer.follow(payer.press(payer.open(other)))

    assert "Payment complete" in end.text
    assert [one.status for one in attempts(made)][-2:] == ["canceled", "succeeded"]


def test_a_given_payments_wish_for_authentication_is_not_weakened(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    terms = {"payment_method_options": {"card": {"three_d_secure": "required"}}}
    payment = acme.post("/v1/payment_intents", {"amount": 500, "currency": "try", **terms})["id"]
    made = acme.post("/v1/checkout/sessions", {"payment_intent": payment})

    payer.press(payer.open(made["url"]))

    assert acme.payment(payment)["status"] == "requires_action"


def test_failed_authentications_and_declines_count_the_same(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made, pages = opened(acme), []
    for _ in range(3):
        payer.press(payer.open(made["url"]), number=FAILS_AUTHENTICATION)
        form = decide(acme.payment(made["payment_intent"]), "Approve")
        came_back = payer.send(form.action.removeprefix(settings.BASE_URL), form.fields)
        pages.append(payer.follow(came_back).text)
        payer.pay(made["url"], number=DECLINED_CARD)

    assert all("You did not confirm the payment with your bank." in text for text in pages)
    now = session(acme, made["id"])
    assert (now["expiration_reason"], now["tries"]) == ("too_many_tries", 6)
    # A soft decline and its 3-D Secure are one try.
    assert len(attempts(made)) in (6, 9)


# --- One form, one attempt --------------------------------------------------------------------


def test_a_form_that_is_sent_again_charges_once_and_shows_the_end(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])

    ends_of = [payer.follow(payer.press(form)) for _ in range(3)]

    assert {page.status for page in ends_of} == {200}
    assert len(attempts(made)) == 1


def test_a_failed_form_that_is_sent_again_asks_no_bank(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])

    first = payer.follow(payer.press(form, number=DECLINED_CARD))
    again = payer.follow(payer.press(form, number=DECLINED_CARD))
    other = payer.press(form)

    assert first.text == again.text
    assert "This form was already sent. Here is its result." in other.text
    assert (len(attempts(made)), tries(made)) == (1, 1)


def test_without_the_nonce_a_form_would_be_sent_twice(
    acme: ApiClient, bank: BankTransport, payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paying, "_claim", lambda *_: None)
    made = opened(acme)
    form = payer.open(made["url"])

    for _ in range(2):
        payer.press(form, number=DECLINED_CARD)

    assert len(attempts(made)) == 2


# --- Never another amount ---------------------------------------------------------------------


def test_an_amount_that_changed_is_shown_and_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    acme.post(f"/v1/payment_intents/{made['payment_intent']}", {"amount": 99900})

    page = payer.press(form)
    paid = payer.follow(payer.press(page))

    assert page.status == 409
    assert "The shop has changed the amount to ₺999.00. Nothing was charged." in page.text
    assert "Payment complete" in paid.text
    assert [one.amount for one in attempts(made)] == [99900]


def test_an_amount_that_changes_during_the_press_is_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    form, confirm = payer.open(made["url"]), paying._confirm

    def changed_meanwhile(*of: Any) -> Any:
        acme.twin().post(f"/v1/payment_intents/{made['payment_intent']}", {"amount": 99900})
        return confirm(*of)

    monkeypatch.setattr(paying, "_confirm", changed_meanwhile)
    page = payer.press(form)

    assert "The shop has changed the amount to ₺999.00." in page.text
    assert attempts(made) == []


@pytest.mark.parametrize("change", [
    {"currency": "usd"}, {"line_items": [line(700)]}, {"amount": 12501},
])  # fmt: skip
def test_terms_that_changed_meanwhile_are_shown_and_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer, change: dict[str, Any]
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    changed = acme.post(f"/v1/payment_intents/{made['payment_intent']}", change)

    page = payer.press(form)

    assert (changed.status, page.status) == (200, 409)
    assert "The shop has changed the amount to" in page.text
    assert attempts(made) == []


def test_a_payment_that_the_shop_confirms_under_the_form_is_charged_once(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    acme.post(f"/v1/payment_intents/{made['payment_intent']}/confirm", confirmation())

    page = payer.follow(payer.press(form))

    assert "Payment complete" in page.text
    assert len(attempts(made)) == 1


# --- Never on an ended session ----------------------------------------------------------------


def test_a_session_that_has_ended_takes_no_press(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made, canceled = opened(acme), opened(acme)
    forms = [payer.open(one["url"]) for one in (made, canceled)]
    acme.post(f"/v1/checkout/sessions/{made['id']}/expire")
    acme.post(f"/v1/payment_intents/{canceled['payment_intent']}/cancel")

    pages = [payer.follow(payer.press(form)) for form in forms]

    assert [page.status for page in pages] == [410, 410]
    assert "This payment page has expired" in pages[0].text
    assert Attempt.objects.count() == 0


def test_a_session_whose_time_is_over_takes_no_press_before_the_job_comes(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    clock.advance(timedelta(hours=24, seconds=1))

    page = payer.follow(payer.press(form))

    assert page.status == 410
    assert attempts(made) == []


def test_a_payer_at_the_bank_is_not_cut_off_by_the_time(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    payer.pay(made["url"], number="4000001100000017")

    expire_after(25 * 3600)

    assert session(acme, made["id"])["status"] == "open"


def test_a_merchant_that_cannot_charge_shows_so(acme: ApiClient, payer: Payer) -> None:
    made = opened(acme, cancel_url=CANCEL_URL)
    form = payer.open(made["url"])
    type(acme.merchant).objects.filter(id=acme.merchant.id).update(charges_enabled=False)

    pages = [payer.open(made["url"]), payer.press(form)]

    assert [page.status for page in pages] == [503, 503]
    assert CANCEL_URL in pages[0].links
    assert attempts(made) == []


def test_a_shop_without_an_acquirer_shows_so(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    Route.objects.all().delete()

    pages = [payer.open(made["url"]), payer.press(form)]

    assert [page.status for page in pages] == [503, 503]
    assert attempts(made) == []


# --- Tickets ----------------------------------------------------------------------------------


def test_only_a_ticket_of_this_session_and_step_charges(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made, other = opened(acme), opened(acme)
    form, foreign = payer.open(made["url"]), payer.open(other["url"])
    right = form.filled()
    wrong = [
        {**right, "form": ""}, {**right, "form": "x" * 300}, {**right, "form": right["form"][:-4]},
        {**right, "form": right["form"][:40] + "AAAA" + right["form"][44:]},
        foreign.filled(),
    ]  # fmt: skip

    pages = [payer.send(form.action, fields) for fields in wrong]
    second = payer.send(f"{form.action}/confirm", {**right, "installments": "1"})

    assert {page.status for page in (*pages, second)} == {400}
    assert all("This page was open too long." in page.text for page in pages)
    assert "İstiklal Cd. 1" in pages[0].source  # Typed once is enough, but for the card.
    assert Attempt.objects.count() == 0


def test_a_ticket_grows_old(
    acme: ApiClient, bank: BankTransport, payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    form, now = payer.open(made["url"]), time.time()
    monkeypatch.setattr(tickets.time, "time", lambda: now + 3700)

    page = payer.press(form)

    assert "This page was open too long." in page.text
    assert "Payment complete" in payer.follow(payer.press(page)).text
    assert len(attempts(made)) == 1


def test_an_old_form_says_nothing_of_a_charge_while_the_bank_may_make_one(
    acme: ApiClient, bank: BankTransport, payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    form, now = payer.open(made["url"]), time.time()
    payer.press(form, number=SILENT_CARD)
    monkeypatch.setattr(tickets.time, "time", lambda: now + 3700)

    steps = [payer.send(f"{form.action}{step}", form.filled()) for step in ("", "/confirm")]
    page = payer.follow(steps[0])

    assert [step.status for step in steps] == [303, 303]
    assert "Please do not pay again." in page.text
    assert "Nothing was charged" not in page.text


# --- No slot ----------------------------------------------------------------------------------


def test_a_busy_bank_keeps_the_card_for_the_next_press(
    acme: ApiClient, bank: BankTransport, payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    with monkeypatch.context() as patched:
        patched.setattr(slots, "_taken", lambda *_, **__: False)
        busy = payer.press(form)

    paid = payer.follow(payer.press(busy))

    assert (busy.status, busy.headers["Retry-After"]) == (503, "1")
    assert "•••• 4242" in busy.text
    assert "Payment complete" in paid.text
    assert (len(attempts(made)), tries(made)) == (1, 1)
