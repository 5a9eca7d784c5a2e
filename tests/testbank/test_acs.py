"""The bank's pages: what a cardholder sees and decides, and the signed answer."""

import hashlib
import hmac
import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from core import clock
from testbank.models import Authentication
from tests.stage import payer
from tests.stage.bank_orders import CALLBACK, authenticate
from tests.stage.payer import Page

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

VISA, MASTERCARD, TROY = "4242424242424242", "5555555555554444", "9792030000000000"
ALWAYS_FAILS = "4131111111111117"
FIELDS = [
    "transaction_id", "reference", "amount", "currency", "md_status",
    "eci", "cavv", "issued_at", "signature",
]  # fmt: skip


def challenge(number: str = VISA, **changes: Any) -> Page:
    return payer.open_challenge(authenticate(number, **changes)["acs_url"])


def answer(number: str = VISA, button: str = "Approve", **changes: Any) -> Page:
    return payer.press(challenge(number, **changes), button)


# --- The page that asks -----------------------------------------------------------------------


def test_the_page_shows_who_asks_for_how_much_of_which_card() -> None:
    page = challenge(merchant_name='Ümit & <b>Söhne</b> "1"')

    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    for shown in ('Ümit & <b>Söhne</b> "1"', "₺125.00", "ending in 4242"):
        assert shown in page.text
    assert list(page.form.buttons) == ["Approve", "Reject", "Don't answer", "Cancel"]


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        (1, "try", "₺0.01"),
        (123456789, "eur", "€1,234,567.89"),
        (1500, "jpy", "1,500 JPY"),
        (1500, "kwd", "1.500 KWD"),
        (999_999_999_999, "usd", "$9,999,999,999.99"),
    ],
)
def test_an_amount_is_written_as_people_read_it(amount: int, currency: str, shown: str) -> None:
    page = challenge(amount=amount, currency=currency)

    assert shown in [line.strip() for line in page.text.splitlines()]


def test_the_service_may_send_the_browser_there_by_get_or_post() -> None:
    path = f"/acs/{authenticate()['transaction_id']}"

    asked = payer.request("POST", path, b"creq=anything")

    # A page that came by POST could not be reached again by the browser's back button.
    assert (asked.status, asked.headers["Location"]) == (303, path)
    assert len(payer.get(path).form.buttons) == 4
    assert payer.request("HEAD", path).status == 200


# --- The decision -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "button", "md_status", "eci"),
    [
        (VISA, "Approve", "1", "05"),
        (VISA, "Don't answer", "1", "05"),
        (VISA, "Reject", "0", "07"),
        (VISA, "Cancel", "0", "07"),
        (TROY, "Approve", "1", "05"),
        (TROY, "Reject", "0", "07"),
        (MASTERCARD, "Approve", "1", "02"),
        (MASTERCARD, "Reject", "0", "00"),
        (ALWAYS_FAILS, "Approve", "0", "07"),
        (ALWAYS_FAILS, "Don't answer", "0", "07"),
    ],
)
def test_what_each_button_means(number: str, button: str, md_status: str, eci: str) -> None:
    told = answer(number, button).form.fields

    assert (told["md_status"], told["eci"]) == (md_status, eci)
    is_cavv = re.fullmatch(r"[A-Za-z0-9+/=]{28}", told["cavv"])
    assert bool(is_cavv) == (md_status == "1")
    assert is_cavv or told["cavv"] == ""


def test_the_answer_goes_to_the_service_by_a_button_or_by_the_banks_own_script() -> None:
    page = answer(merchant_name="Ümit & <b>Söhne</b>")

    assert "Ümit & <b>Söhne</b>" in page.text
    assert (page.form.method, page.form.action) == ("post", CALLBACK)
    assert list(page.form.fields) == FIELDS
    assert list(page.form.buttons) == ["Continue"]
    assert [asset for asset in page.assets if asset.endswith(".js")] == [
        "/static/testbank/answer.js"
    ]


def test_the_answer_tells_what_was_asked_and_when(settings: Any) -> None:
    clock.advance(timedelta(days=1))
    before = clock.unix(clock.now())

    told = answer(amount=990, currency="eur").form.fields

    [booked] = Authentication.objects.all()
    assert told["transaction_id"] == booked.transaction_id
    assert [told[name] for name in ("reference", "amount", "currency")] == ["ref_1", "990", "eur"]
    assert before <= int(told["issued_at"]) <= before + 5


@pytest.mark.parametrize("button", ["Approve", "Reject"])
def test_the_answer_is_signed_with_the_shared_key(
    button: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TESTBANK_SIGNING_KEY = "clé"
    # Every character of base64 that an address would write otherwise.
    monkeypatch.setattr("testbank.authentications.secrets.token_bytes", lambda _: b"\xff\xfb" * 10)

    told = answer(button=button).form.fields

    # Computed from the protocol's words, not from the bank's code.
    text = ""
    for name in sorted(set(FIELDS) - {"signature"}):
        text += name + "=" + quote(told[name], safe="") + "\n"
    expected = hmac.new("clé".encode(), text.encode("ascii"), hashlib.sha256).hexdigest()
    assert told["signature"] == expected
    assert text.count("\n") == 8


def test_a_signature_does_not_fit_anything_else(settings: Any) -> None:
    told = answer().form.fields
    signature = told.pop("signature")
    altered = [{**told, name: value + "1"} for name, value in told.items()]

    texts = [
        "".join(f"{name}={quote(one[name], safe='')}\n" for name in sorted(one)) for one in altered
    ]

    key = settings.TESTBANK_SIGNING_KEY.encode()
    signed = {hmac.new(key, text.encode(), hashlib.sha256).hexdigest() for text in texts}
    assert len(signed) == 8
    assert signature not in signed


# --- Again, and again -------------------------------------------------------------------------


def test_the_answer_is_the_same_whenever_and_wherever_it_is_shown(settings: Any) -> None:
    page = answer()
    path = f"/acs/{page.form.fields['transaction_id']}"
    settings.TESTBANK_SIGNING_KEY = "another key, since"
    clock.advance(timedelta(hours=1))

    again = [payer.get(path), payer.get(f"{path}/answer")]

    assert [one.content for one in again] == [page.content] * 2


def test_the_first_decision_counts_in_every_tab() -> None:
    one_tab = challenge()
    other_tab = payer.open_challenge(authenticate()["acs_url"])
    first = payer.press(one_tab, "Reject")

    later = [payer.press(other_tab, button) for button in ("Approve", "Reject", "Don't answer")]

    assert [page.content for page in later] == [first.content] * 3
    assert Authentication.objects.get().decision == "reject"


@pytest.mark.parametrize(
    "sent",
    [b"", b"decision=", b"decision=APPROVE", b"decision=approve&decision=reject", b"\xff=%00"],
)
def test_no_decision_or_two_is_asked_again(sent: bytes) -> None:
    path = f"/acs/{authenticate()['transaction_id']}"

    page = payer.request("POST", f"{path}/decision", sent)

    assert (page.status, len(page.form.buttons)) == (400, 4)
    assert "did not understand" in page.text
    assert Authentication.objects.get().decision == ""


def test_there_is_no_answer_before_the_decision() -> None:
    path = f"/acs/{authenticate()['transaction_id']}"

    page = payer.get(f"{path}/answer")

    assert (page.status, page.headers["Location"]) == (303, path)


# --- What no browser of a payer sends ---------------------------------------------------------


@pytest.mark.parametrize("door", ["", "/decision", "/answer"])
@pytest.mark.parametrize(
    "transaction_id", ["3ds_unknown", "%00", "%ff", "x" * 2000, "..%2f", "4242424242424242", "'--"]
)
def test_an_unknown_id_is_a_page_that_says_so(transaction_id: str, door: str) -> None:
    method = "POST" if door == "/decision" else "GET"

    page = payer.request(method, f"/acs/{transaction_id}{door}", b"decision=approve")

    assert page.status == 404
    assert "knows no payment at this address" in page.text
    assert page.forms == []
    assert transaction_id.encode() not in page.content


@pytest.mark.parametrize(
    ("door", "method"), [("", "PUT"), ("/decision", "GET"), ("/answer", "POST"), ("", "DELETE")]
)
def test_a_wrong_method_is_answered_with_a_page_and_changes_nothing(door: str, method: str) -> None:
    path = f"/acs/{authenticate()['transaction_id']}{door}"

    page = payer.request(method, path, b"decision=approve")

    assert (page.status, page.forms) == (405, [])
    assert page.headers["Allow"]
    assert Authentication.objects.get().decision == ""


@pytest.mark.parametrize("door", ["", "/decision"])
def test_a_body_that_is_too_long_is_refused_and_decides_nothing(door: str, settings: Any) -> None:
    path = f"/acs/{authenticate()['transaction_id']}{door}"

    page = payer.request("POST", path, b"decision=approve&x=" + b"x" * settings.BODY_MAX_BYTES)

    assert page.status == 413
    assert Authentication.objects.get().decision == ""


def test_thousands_of_fields_decide_nothing() -> None:
    path = f"/acs/{authenticate()['transaction_id']}/decision"

    page = payer.request("POST", path, urlencode([("decision", "approve")] * 2000).encode())

    assert page.status == 400
    assert Authentication.objects.get().decision == ""
