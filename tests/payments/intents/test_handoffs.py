"""A card that goes from the payer's browser to the bank: one browser gets it, for a while."""

import logging
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode, urlsplit

import pytest
from django.test import Client

from acquirers import slots
from acquirers.models import BankExchange
from core.page_policy import integrity_of
from core.redis import client as redis
from payments.intents.models import Attempt
from payments.payer import handoffs, payer_links
from testbank.models import Authorization
from tests.stage.all_taken import all_slots_taken
from tests.stage.bank_orders import authorize
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD, RETURN_URL, confirmation, three_d_secure
from tests.stage.form_gateway import ENCODING, GATE, form_bank, signed
from tests.stage.payer import FORM, Page
from tests.stage.sweeper import sweep_after
from tests.stage.threads import together
from tests.stage.threeds import challenged, return_to, shown
from vault import cvc as vault_cvc
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

GO, GO_TO_GATE = "Continue to your bank", "Go to your bank"


@pytest.fixture(autouse=True)
def _a_bank_with_a_gate(bank: BankTransport) -> Iterator[None]:
    with form_bank():
        yield


@pytest.fixture
def paid(acme: ApiClient) -> Answer:
    return challenged(acme)


class Browser:
    """A payer's browser, which keeps its cookies."""

    def __init__(self, payment: Answer) -> None:
        self.path = urlsplit(payment["next_action"]["redirect_to_url"]["url"]).path
        self.http = Client(enforce_csrf_checks=True)

    def open(self) -> Page:
        return self._page(self.http.get(self.path))

    def press(self) -> Page:
        return self._page(self.http.post(self.path))

    def go(self) -> Page:
        self.open()
        return self.press()

    def _page(self, response: Any) -> Page:
        return Page(response.status_code, dict(response.headers), response.content)


def has_card(page: Page) -> bool:
    return GOOD_CARD.encode() in page.content


def answer_of_gate(payment: Answer, **changes: str) -> dict[str, str]:
    reference = Attempt.objects.get(intent_id=payment["id"]).acquirer_reference
    return signed({"oid": reference, "mdStatus": "1", "md": "of the gate", **changes})


def come_back(payment: Answer, fields: dict[str, str], encoding: str = "utf-8") -> Any:
    sent = urlencode(fields, encoding=encoding)
    return Client().post(return_to(payment), sent, content_type=FORM)


# --- Who gets the card ------------------------------------------------------------------------


def test_the_link_alone_shows_no_card_however_often_it_is_opened(paid: Answer) -> None:
    for browser in [Browser(paid), Browser(paid)]:
        for _ in range(2):
            page = browser.open()

            assert (page.status, has_card(page)) == (200, False)
            assert (page.form.action, page.form.method) == (browser.path, "post")
            assert list(page.form.buttons) == [GO]
            assert page.policy["form-action"] == ["'self'"]
    assert "browser" not in Attempt.objects.get().hand_off


def test_the_browser_that_presses_gets_the_form_for_the_gate(paid: Answer) -> None:
    page = Browser(paid).go()

    attempt = Attempt.objects.get()
    assert page.status == 203
    assert (page.form.action, page.form.method) == (GATE, "post")
    assert page.form.fields == {
        "oid": attempt.acquirer_reference,
        "pan": GOOD_CARD,
        "cv2": "123",
        "okUrl": payer_links.return_address(attempt),
        "amount": "12500",
    }
    assert list(page.form.buttons) == [GO_TO_GATE]


def test_the_page_with_the_card_is_kept_nowhere_and_leads_to_the_gate_alone(paid: Answer) -> None:
    page = Browser(paid).go()

    assert "no-store" in page.headers["Cache-Control"]
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.policy["form-action"] == [
        "'self'", "https://gate.bank.example", "https://acs.bank.example", "https://acme.example",
    ]  # fmt: skip
    assert (page.policy["script-src"], page.inline) == (["'self'"], [])
    # Our style sheets and the script that presses the button, and no link.
    assert [asset.rpartition("/")[2] for asset in page.assets] == [
        "data:,".rpartition("/")[2], "pico.min.css", "payer.css", "payer_gate.js",
    ]  # fmt: skip
    assert f'integrity="{integrity_of("payer_gate.js")}"'.encode() in page.content
    assert "Set-Cookie" not in page.headers


def test_the_cookie_is_for_this_page_and_no_script(paid: Answer, settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = True
    browser = Browser(paid)
    browser.open()

    [cookie] = browser.http.cookies.values()
    assert cookie["path"] == browser.path
    assert (cookie["httponly"], cookie["samesite"], cookie["domain"]) == (True, "Lax", "")
    assert cookie["secure"]
    first = cookie.value
    browser.open()
    assert browser.http.cookies["payer"].value == first


def test_the_same_browser_may_press_again(paid: Answer) -> None:
    browser = Browser(paid)

    assert all(has_card(page) for page in (browser.go(), browser.press(), browser.go()))


def test_no_other_browser_gets_the_card(paid: Answer) -> None:
    other, without_cookies = Browser(paid), Browser(paid)
    other.open()
    Browser(paid).go()

    for browser in (other, without_cookies):
        page = browser.press()

        assert (page.status, has_card(page)) == (403, False)
        assert "Go on where you began" in page.text


def test_a_browser_without_our_cookie_takes_nobodys_place(paid: Answer) -> None:
    assert Browser(paid).press().status == 403

    assert has_card(Browser(paid).go())


@pytest.mark.parametrize("cookie", ["", "x", "x" * 44, "é" * 43])
def test_a_cookie_of_another_form_is_none(cookie: str, paid: Answer) -> None:
    browser = Browser(paid)
    browser.http.cookies["payer"] = cookie

    assert browser.press().status == 403
    assert has_card(browser.go())


def test_previews_use_nothing_up(paid: Answer) -> None:
    path = Browser(paid).path

    assert Client().head(path).content == b""
    assert Client().get(path).status_code == 200
    assert has_card(Browser(paid).go())


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_of_two_browsers_at_once_one_gets_the_card(acme: ApiClient) -> None:
    payment = challenged(acme)
    browsers = [Browser(payment), Browser(payment)]
    for browser in browsers:
        browser.open()

    pages = together([browser.press for browser in browsers])

    assert sorted(page.status for page in pages) == [203, 403]


# --- For how long -----------------------------------------------------------------------------


def test_after_a_quarter_of_an_hour_no_form_is_shown(paid: Answer) -> None:
    browser = Browser(paid)
    browser.go()
    attempt = Attempt.objects.get()
    attempt.hand_off["pressed_at"] -= vault_cvc.LIFE_SECONDS + 1
    attempt.save()

    page = browser.press()

    assert (page.status, has_card(page)) == (410, False)
    assert "start again" in page.text


def test_without_the_security_code_no_form_is_shown(paid: Answer) -> None:
    redis().flushdb()

    page = Browser(paid).go()

    assert (page.status, has_card(page)) == (410, False)


def test_a_card_that_does_not_open_is_no_form(paid: Answer) -> None:
    with patch("tests.stage.form_gateway.FormGateway.handoff", return_value=None):
        assert Browser(paid).go().status == 410


def test_the_code_is_held_for_this_attempt_until_the_return(paid: Answer) -> None:
    attempt = Attempt.objects.get()
    assert vault_cvc.look(attempt.id) == "123"
    assert vault_cvc.look(attempt.sealed_card_id) is None
    browser = Browser(paid)
    browser.go()

    come_back(paid, answer_of_gate(paid))

    assert redis().keys("held:*") == []
    page = browser.press()
    assert (page.status, has_card(page)) == (200, False)


@pytest.mark.parametrize("door", ["cancel", "confirm"])
def test_the_code_is_dropped_with_the_attempt(door: str, paid: Answer, acme: ApiClient) -> None:
    body = confirmation(GOOD_CARD, **three_d_secure("none")) if door == "confirm" else {}

    assert acme.post(f"/v1/payment_intents/{paid['id']}/{door}", body).status == 200

    assert redis().keys("held:*") == []


def test_a_press_that_meets_the_return_shows_how_it_ended(paid: Answer) -> None:
    browser = Browser(paid)
    browser.open()

    def return_first(attempt: Attempt, browser: str) -> bool:
        come_back(paid, answer_of_gate(paid))
        return bind(attempt, browser)

    bind = handoffs._bind
    with patch.object(handoffs, "_bind", return_first):
        page = browser.press()

    assert (page.status, has_card(page)) == (200, False)
    assert RETURN_URL in page.content.decode()


# --- The way back -----------------------------------------------------------------------------


def test_a_payer_who_authenticated_has_paid(paid: Answer, acme: ApiClient) -> None:
    Browser(paid).go()

    arrival = come_back(paid, answer_of_gate(paid))

    assert arrival["Location"] == f"{RETURN_URL}?payment_intent={paid['id']}"
    assert shown(acme, paid)["status"] == "succeeded"
    attempt = Attempt.objects.get()
    assert attempt.authentication["transaction_id"] == "3ds_of_the_gate"
    assert "of the gate" not in str(Attempt.objects.values().get())


def test_an_unsigned_return_ends_the_try_and_charges_nothing(paid: Answer, acme: ApiClient) -> None:
    fields = answer_of_gate(paid)
    del fields["hash"]

    come_back(paid, fields)

    payment = shown(acme, paid)
    assert payment["status"] == "requires_payment_method"
    assert payment["last_payment_error"]["reason"] == "authentication_failed"
    assert Authorization.objects.count() == 0


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("changes", [{"hash": "0" * 64}, {"oid": "A" * 20}, {"mdStatus": "0"}])
def test_a_forged_return_changes_nothing(
    changes: dict[str, str], paid: Answer, acme: ApiClient
) -> None:
    arrival = come_back(paid, {**answer_of_gate(paid), **changes})

    assert arrival.status_code == 400
    assert shown(acme, paid).body == paid.body


def test_the_return_of_one_attempt_is_not_anothers(acme: ApiClient, paid: Answer) -> None:
    other = challenged(acme)

    arrival = Client().post(return_to(other), urlencode(answer_of_gate(paid)), content_type=FORM)

    assert arrival.status_code == 400
    assert shown(acme, other).body == other.body


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    ("in_the_book", "status"),
    [("authorized", "succeeded"), ("declined", "requires_payment_method"), (None, "processing")],
)
def test_where_the_bank_may_have_charged_it_is_asked(
    in_the_book: str | None, status: str, acme: ApiClient, paid: Answer
) -> None:
    attempt = Attempt.objects.get()
    if in_the_book:
        number = GOOD_CARD if in_the_book == "authorized" else "4000000000000002"
        authorize(
            number,
            reference=attempt.acquirer_reference,
            merchant=attempt.merchant_id,
            capture=True,
        )

    come_back(paid, {"oid": attempt.acquirer_reference, "model": "3d_pay"})

    assert shown(acme, paid)["status"] == status
    assert BankExchange.objects.get().attempt == attempt


def test_the_code_goes_when_the_payer_can_no_longer_bring_it(
    acme: ApiClient, bank: BankTransport, paid: Answer
) -> None:
    bank.fault = "delay"

    other_card = confirmation("5555555555554444")
    answer = acme.post(f"/v1/payment_intents/{paid['id']}/confirm", other_card)

    assert answer["status"] == "processing"
    assert redis().keys("held:*") == []


def test_a_payer_who_never_comes_back_has_abandoned(paid: Answer, acme: ApiClient) -> None:
    Browser(paid).go()

    sweep_after(3700)

    assert shown(acme, paid)["last_payment_error"]["reason"] == "authentication_abandoned"


def as_browsers_encode(text: str) -> bytes:
    """Encode as `accept-charset="windows-1252"` asks for.

    Browsers know five bytes more of it than Python: by their own numbers.
    """
    return b"".join(
        bytes([ord(one)]) if "\x80" <= one <= "\x9f" else one.encode("windows-1252") for one in text
    )


def test_a_busy_page_brings_every_byte_again(
    paid: Answer, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "PAYER_WAITS_SECONDS", 0.01)
    fields = answer_of_gate(paid, ErrMsg="İşlem onaylandı: ğüşıöç \x81\x9d")
    with all_slots_taken():
        busy = come_back(paid, fields, ENCODING)
    page = Page(busy.status_code, dict(busy.headers), busy.content)

    carried = {name: as_browsers_encode(value) for name, value in page.form.fields.items()}
    arrival = Client().post(page.form.action, urlencode(carried), content_type=FORM)

    assert (busy.status_code, page.form.action) == (503, return_to(paid))
    assert b'accept-charset="windows-1252"' in busy.content
    assert arrival.status_code == 302
    assert shown(acme, paid)["status"] == "succeeded"


@pytest.mark.parametrize(
    "sent",
    [
        b"a=" + b"x" * 32 * 1024,
        b"&".join(b"f%d=" % number for number in range(65)),
        b"\xff\xfe=%ff",
        b"",
        b"oid",
        b"oid=" + b"%" * 100,
    ],
    ids=["long", "many", "not utf-8", "nothing", "a name", "half escapes"],
)
def test_a_return_of_any_bytes_is_refused(sent: bytes, paid: Answer, acme: ApiClient) -> None:
    arrival = Client().post(return_to(paid), sent, content_type=FORM)

    assert arrival.status_code == 400
    assert shown(acme, paid).body == paid.body


# --- Nothing of the card leaks ----------------------------------------------------------------


def test_the_page_with_the_card_leaves_no_trace_in_logs_or_rows(
    paid: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    browser = Browser(paid)
    with caplog.at_level(logging.DEBUG):
        assert has_card(browser.go())

    cookie = browser.http.cookies["payer"].value
    written = caplog.text + str(list(Attempt.objects.values()))
    assert GOOD_CARD not in written
    assert cookie not in written
    assert GOOD_CARD.encode() not in bytes(SealedCard.objects.get().sealed)


# --- A gate that charges by itself ------------------------------------------------------------


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("end", ["canceled", "requires_payment_method"])
@pytest.mark.parametrize("silent_at_first", [False, True])
def test_what_the_gate_charged_after_the_end_is_given_back(
    silent_at_first: bool, end: str, acme: ApiClient, bank: BankTransport, paid: Answer
) -> None:
    if end == "canceled":
        acme.post(f"/v1/payment_intents/{paid['id']}/cancel")
    else:
        come_back(paid, {"oid": Attempt.objects.get().acquirer_reference})  # Unsigned.
    attempt = Attempt.objects.get()
    authorize(
        GOOD_CARD, reference=attempt.acquirer_reference, merchant=attempt.merchant_id, capture=True
    )

    bank.fault = "delay" if silent_at_first else None
    come_back(paid, {"oid": attempt.acquirer_reference, "model": "3d_pay"})
    sweep_after(10)
    bank.fault = None
    sweep_after(60)
    sweep_after(60)

    assert shown(acme, paid)["status"] == end
    assert Authorization.objects.get().state == "voided"
    assert Attempt.objects.get().due_at is None


def test_what_the_gate_never_charged_is_asked_about_until_it_is_sure(
    acme: ApiClient, bank: BankTransport, paid: Answer
) -> None:
    acme.post(f"/v1/payment_intents/{paid['id']}/cancel")
    attempt = Attempt.objects.get()

    come_back(paid, {"oid": attempt.acquirer_reference, "model": "3d_pay"})
    for _ in range(8):
        sweep_after(86_400)

    assert [row.answer for row in BankExchange.objects.all()] == ["no_record"] * 3
    assert Attempt.objects.get().due_at is None
