"""The payer's address: where it comes from, which bank hears it, and where it never lies."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.test import Client
from rest_framework.serializers import ValidationError

from acquirers import payers
from acquirers.gateway import Payer
from core.rest.fields import NetworkAddress
from merchants.models import RequestLog
from payments.charging import card_destruction
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import opened
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import confirmation, payment
from tests.stage.form_gateway import signed
from tests.stage.leaks import DECLINED, SILENT, Written, every_line, stored
from tests.stage.listening_gateway import ListeningFormGateway, listening
from tests.stage.payer import FORM
from tests.stage.payment_pages import Payer as PayerOnPages
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import bring, challenged, decide, return_to
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
GIVEN, SERVER, PAYER = "2001:db8:77:12::5a3c", "203.0.113.77", "198.51.100.23"
SOFT_DECLINE = "4000002760003184"


@pytest.fixture
def heard(bank: BankTransport) -> Iterator[list[Payer]]:
    with listening() as heard:
        yield heard


@pytest.fixture
def shop(acme: ApiClient) -> ApiClient:
    acme.http.defaults["REMOTE_ADDR"] = SERVER
    return acme


def source(paid: Answer) -> str | None:
    return Attempt.objects.get(intent_id=paid["id"]).payer_ip_source


def come_back(paid: Answer) -> None:
    """Approve at the bank, and come back by a browser with another address."""
    fields = urlencode(decide(paid, "Approve").fields, doseq=True)
    Client(REMOTE_ADDR=PAYER).generic("POST", return_to(paid), fields, content_type=FORM)


def test_the_bank_hears_what_the_merchant_has_said_of_the_payer(
    shop: ApiClient, heard: list[Payer]
) -> None:
    paid = shop.pay(payer_ip=GIVEN)

    [payer] = heard
    assert (payer.ip, payer.name, payer.email) == (GIVEN, "Ayşe Yılmaz", "ayse@example.com")
    assert payer.address["country"]
    assert (paid["status"], source(paid)) == ("succeeded", "given")
    assert Attempt.objects.get().network_fingerprint is None  # No rule of risk counts by it.


def test_without_it_the_caller_s_address_is_marked_as_such(
    shop: ApiClient, heard: list[Payer]
) -> None:
    paid = shop.pay()

    assert ([payer.ip for payer in heard], source(paid)) == ([SERVER], "caller")


@pytest.mark.parametrize(
    ("at_create", "at_confirm", "expected"),
    [
        (GIVEN, None, (GIVEN, "given")),
        (GIVEN, PAYER, (PAYER, "given")),
        (None, PAYER, (PAYER, "given")),
        (None, None, (SERVER, "caller")),
    ],
)
def test_a_stored_card_keeps_the_address_until_another_one_is_given(
    at_create: str | None,
    at_confirm: str | None,
    expected: tuple[str, str],
    shop: ApiClient,
    heard: list[Payer],
) -> None:
    made = shop.post(PATH, payment(confirm=False, payer_ip=at_create))
    paid = shop.post(f"{PATH}/{made['id']}/confirm", {"payer_ip": at_confirm})

    assert paid["status"] == "succeeded", paid.body
    assert ([payer.ip for payer in heard], source(paid)) == ([expected[0]], expected[1])


def test_a_card_at_confirm_brings_its_own(shop: ApiClient, heard: list[Payer]) -> None:
    made = shop.post(PATH, {"amount": 12500, "currency": "try"})
    paid = shop.post(f"{PATH}/{made['id']}/confirm", {**confirmation(), "payer_ip": GIVEN})

    assert ([payer.ip for payer in heard], source(paid)) == ([GIVEN], "given")


@pytest.mark.parametrize(
    ("given", "expected"), [(None, (PAYER, "page")), (GIVEN, (GIVEN, "given"))]
)
def test_after_3_d_secure_it_is_the_browser_s_that_came_back(
    given: str | None, expected: tuple[str, str], shop: ApiClient, heard: list[Payer]
) -> None:
    paid = challenged(shop, payer_ip=given)
    come_back(paid)

    assert shop.payment(paid["id"])["status"] == "succeeded"
    assert ([payer.ip for payer in heard], source(paid)) == ([expected[0]], expected[1])


@pytest.mark.parametrize(
    ("given", "expected"), [(None, (PAYER, "page")), (GIVEN, (GIVEN, "given"))]
)
def test_a_gate_hears_who_pressed_and_the_bank_hears_the_same_later(
    given: str | None, expected: tuple[str, str], shop: ApiClient, bank: BankTransport
) -> None:
    with listening(ListeningFormGateway) as heard:
        paid = challenged(shop, payer_ip=given)
        browser = Client(REMOTE_ADDR=PAYER)
        path = urlsplit(paid["next_action"]["redirect_to_url"]["url"]).path
        browser.get(path)
        browser.post(path)
        reference = Attempt.objects.get().acquirer_reference
        bring(signed({"oid": reference, "mdStatus": "1", "md": "m1"}), to=return_to(paid))

    assert shop.payment(paid["id"])["status"] == "succeeded"
    assert ([payer.ip for payer in heard], source(paid)) == ([expected[0]] * 2, expected[1])


def test_a_payment_page_tells_the_address_of_the_press(shop: ApiClient, heard: list[Payer]) -> None:
    session = opened(shop)
    payer = PayerOnPages()
    payer.browser.defaults["REMOTE_ADDR"] = PAYER
    payer.press(payer.open(session["url"]))

    attempt = Attempt.objects.get(intent_id=session["payment_intent"])
    assert ([one.ip for one in heard], attempt.payer_ip_source) == ([PAYER], "page")


NO_ADDRESSES = (
    "fe80::1%eth0", "payer.example", "203.0.113.7, 203.0.113.8", ["203.0.113.7"], 3405803783,
    "0000:0000:0000:0000:0000:ffff:203.000.113.0077", "203.0.113.7:443", "010.0.0.1", " ::1",
    "١٢٧.0.0.1", True,
)  # fmt: skip


@pytest.mark.parametrize("wrong", NO_ADDRESSES)
def test_what_is_no_address_is_refused_and_not_repeated(wrong: Any, shop: ApiClient) -> None:
    for path, body in ((PATH, payment(payer_ip=wrong)), (f"{PATH}/pi_x/confirm", confirmation())):
        refused = shop.post(path, {**body, "payer_ip": wrong})

        assert refused.refusal == (400, "parameter_invalid", "payer_ip")
        assert str(wrong) not in json.dumps(refused.body)
    assert not SealedCard.objects.exists()


def test_it_is_refused_without_the_card_that_it_is_sealed_with(shop: ApiClient) -> None:
    refused = shop.post(PATH, {"amount": 12500, "currency": "try", "payer_ip": GIVEN})

    assert refused.refusal == (400, "parameter_invalid", "payer_ip")


@pytest.mark.parametrize(
    ("sent", "heard_as"),
    [("::ffff:203.0.113.7", "203.0.113.7"), ("2001:DB8:0::1", "2001:db8::1"), ("::1", "::1"),
     ("10.0.0.7", "10.0.0.7")],
)  # fmt: skip
def test_each_address_has_one_spelling(
    sent: str, heard_as: str, shop: ApiClient, heard: list[Payer]
) -> None:
    shop.pay(payer_ip=sent)

    assert [payer.ip for payer in heard] == [heard_as]


@pytest.mark.parametrize(
    "private", ["::1", "10.0.0.7", "::ffff:192.168.1.1", "fd00::1", "224.0.0.1"]
)
def test_in_live_it_is_a_public_one(private: str, settings: Any) -> None:
    field = NetworkAddress()
    assert field.to_internal_value(private)

    settings.LIVEMODE = True

    assert field.to_internal_value("8.8.8.8") == "8.8.8.8"
    with pytest.raises(ValidationError):
        field.to_internal_value(private)


def test_it_is_destroyed_with_the_card(shop: ApiClient, heard: list[Payer]) -> None:
    shop.pay(payer_ip=GIVEN)
    assert payers.address_of(SealedCard.objects.get()) == GIVEN

    sweep_after(86_400 + 60)
    card_destruction.destroy_due()

    card = SealedCard.objects.get()
    assert (card.sealed, payers.address_of(card)) == (None, None)
    payers.keep(card, GIVEN)
    card.refresh_from_db()
    assert card.sealed is None


# --- It lies nowhere in clear -----------------------------------------------------------------


@pytest.fixture
def written(shop: ApiClient, heard: list[Payer], bank: BankTransport) -> Written:
    """All that is left after payments of every fate, each with the payer's address."""
    with every_line() as log:
        answers = [*_fates(shop, bank)]
        lines = log.getvalue().splitlines()
    shown = [f"{answer.headers}\n{json.dumps(answer.body)}" for answer in answers]
    return Written(lines=lines, answers=shown, **stored())


def _fates(shop: ApiClient, bank: BankTransport) -> Iterator[Answer]:
    for number in ("4242424242424242", DECLINED, SILENT, SOFT_DECLINE):
        yield shop.pay(number, payer_ip=GIVEN)
        yield shop.pay(number, payer_ip=f"{GIVEN}%zone")
    for fault in ("garble", "cut_before", "cut_after"):
        bank.fault = fault
        yield shop.pay(payer_ip=GIVEN)
    bank.fault = None
    made = shop.post(PATH, payment(confirm=False))
    confirm = f"{PATH}/{made['id']}/confirm"
    yield shop.post(confirm, {"payer_ip": GIVEN}, idempotency_key="again")
    yield shop.post(confirm, {"payer_ip": GIVEN}, idempotency_key="again")
    paid = challenged(shop)
    come_back(paid)
    yield shop.payment(paid["id"])
    page = PayerOnPages()
    page.browser.defaults["REMOTE_ADDR"] = PAYER
    page.press(page.open(opened(shop)["url"]))
    yield shop.post(PATH, f'{{"payer_ip": "{GIVEN}", "x": '.encode())
    yield shop.post(f"{PATH}?payer_ip={GIVEN}", payment(payer_ip={"is": GIVEN}))
    yield shop.get("/v1/events?limit=100")


def test_it_is_in_no_row_line_event_or_answer(written: Written, heard: list[Payer]) -> None:
    counts = {place: len(found) for place, found in vars(written).items()}
    print("searched", counts)  # noqa: T201

    assert written.leaks(GIVEN) == []
    # The access log says who opened a page.
    written.lines = [line for line in written.lines if '"logger": "access"' not in line]
    assert written.leaks(PAYER) == []
    assert {payer.ip for payer in heard} == {GIVEN, PAYER}
    assert counts["rows"] > 100
    assert counts["lines"] > 40
    assert counts["answers"] > 15
    bodies = [log.request_body for log in RequestLog.objects.exclude(request_body=None)]
    assert any('"payer_ip":"[redacted]"' in body for body in bodies), bodies[0]
    assert Attempt.objects.filter(bank_text="[redacted]").exists()


def test_a_planted_address_is_found_in_each_place() -> None:
    for place in ("rows", "lines", "answers", "cached"):
        assert Written(**{place: [f"x{GIVEN}y"]}).leaks(GIVEN)
