"""The 3-D gate of the simulated bank: its form, its pages, its signed return, its proofs."""

from datetime import timedelta
from typing import Any

import pytest

from core import clock
from testbank import behaviours
from testbank.models import Authentication, Authorization, NestpayVisit
from testbank.nestpay import hashes
from testbank.nestpay.terminals import NestpayTerminal
from testbank.states import State
from tests.stage import nestpay_shop as shop
from tests.stage import payer
from tests.stage.bank_days import begin_at_noon
from tests.stage.nestpay_shop import DONE, FIRST, SECOND, form, is_signed, proven, refused, said

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

NO = "Payment not confirmed"


@pytest.fixture(autouse=True)
def _at_noon() -> None:
    begin_at_noon()


# --- The hash ---------------------------------------------------------------------------------

VECTORS = [
    (
        "clientid=190100000 storetype=3d amount=100.25 oid=order222"
        " okUrl=https://domain.com/success failUrl=https://domain.com/fail_url rnd=rand-21212"
        " lang=tr currency=949 taksit= TranType=Auth hashAlgorithm=ver3",
        "123456",
        "7tt3i3SMhzR3jYjCMwNrolSn7ksY7eKz2kVsqt/nUGK6XNw9/dMMZPVqHK9pQROGEIW3PJWut6v1Xv6ZDtnuSA==",
    ),
    (
        "clientid=190100000 storetype=3d_pay amount=100.25 oid=order222"
        " okUrl=https://domain.com/success failUrl=https://domain.com/fail_url rnd=rand lang=tr"
        " currency=949 taksit= islemtipi=Auth firmaadi=siparis~veren Email=test@test.com"
        " hashAlgorithm=ver3",
        "123456",
        "/uPxhEKWCEGi3NsDOOQ4u8Hu5g71v5GWspOid70WehTWEz97PqxG3IN1Jv5jsbOXOw3Z3Rr/0UtywzEgbqFfdA==",
    ),
    (
        "b=x|y A=p\\q clientid=1",
        "s|k\\",
        "SI90CvvG80J6DHtpvl1Ht/60BhA7pS9VaQWVK6lxSLw9Ho2m7RTpeaEn2MXGo9ZT/VeKJFfgQ5qIfdEeiN8JdA==",
    ),
]


@pytest.mark.parametrize(("text", "store_key", "expected"), VECTORS)
def test_the_hash_of_the_published_vectors(text: str, store_key: str, expected: str) -> None:
    fields = dict(one.replace("~", " ").split("=", 1) for one in text.split(" "))

    as_bytes = {name: value.encode() for name, value in fields.items()}
    assert hashes.hashed(as_bytes, store_key) == expected
    assert hashes.hashed({**as_bytes, "HASH": b"x", "Encoding": b"y"}, store_key) == expected
    assert shop.hashed(fields, store_key) == expected


def test_numbers_in_names_are_hashed_in_the_order_of_numbers() -> None:
    one, other = ({"item2": first, "item10": last} for first, last in [(b"a", b"b"), (b"b", b"a")])

    assert hashes.hashed(one, "k") == hashes.hashed({"a": b"a", "b": b"b"}, "k")
    assert hashes.hashed(other, "k") == hashes.hashed({"a": b"b", "b": b"a"}, "k")


# --- Pages and the return ---------------------------------------------------------------------


def test_a_payer_confirms_and_brings_a_signed_return_back() -> None:
    page = shop.enter(form(Email="ş|\\@example.com"))
    assert "Sandbox Shop" in page.text
    assert "125" in page.text

    answer = payer.press(page, "Approve")

    back = answer.form.fields
    assert answer.form.action == shop.RETURN
    assert is_signed(back)
    assert len(back) >= 40
    assert (back["mdStatus"], back["oid"], back["amount"]) == ("1", shop.ORDER_ID, "125.00")
    assert (back["clientid"], back["currency"]) == (FIRST.client_id, "949")
    assert (back["hashAlgorithm"], back["Email"]) == ("ver3", "ş|\\@example.com")
    assert back["maskedCreditCard"] == "4242 42** **** 4242"
    assert back["rnd"] != form()["rnd"]
    assert not {"pan", "cv2", "hash"} & set(back)
    assert not Authorization.objects.exists()


def test_the_return_is_the_same_at_each_look() -> None:
    page = payer.press(shop.enter(form()), "Approve")

    transaction_id = Authentication.objects.get().transaction_id
    assert payer.get(f"/acs/{transaction_id}/answer").content == page.content


@pytest.mark.parametrize("button", ["Reject", "Cancel"])
def test_a_payer_who_says_no_comes_back_by_the_fail_url(button: str) -> None:
    fail_url = "https://pay.example/failed"

    page = payer.press(shop.enter(form(failUrl=fail_url)), button)

    back = page.form.fields
    assert page.form.action == fail_url
    assert is_signed(back)
    assert (back["mdStatus"], back["cavv"]) == ("0", "")
    assert said(proven(back, PayerAuthenticationCode="x")) == refused("CORE-2121")


@pytest.mark.parametrize(
    ("number", "status"), [("4151111111111112", "6"), ("4000056655665556", "8")]
)
def test_a_card_that_takes_no_part_comes_back_at_once(number: str, status: str) -> None:
    back = shop.enter(form(number)).form.fields

    assert is_signed(back)
    assert back["mdStatus"] == status


def test_a_card_that_always_fails_is_not_authenticated() -> None:
    assert shop.walk("4131111111111117")["mdStatus"] == "0"


@pytest.mark.every_case("each field of the gate's form has a rule")
@pytest.mark.parametrize(
    "own",
    [
        {"clientid": "100200399"},
        {"storetype": "pay_hosting"},
        {"amount": "125"},
        {"amount": "0.00"},
        {"oid": "4242424242424242"},
        {"okUrl": "javascript:alert(1)"},
        {"rnd": ""},
        {"rnd": "x" * 21},
        {"lang": "de"},
        {"currency": "392"},
        {"taksit": "1"},
        {"taksit": "3", "currency": "840"},
        {"TranType": "Void"},
        {"islemtipi": "Auth"},
        {"hashAlgorithm": "ver2"},
        {"pan": "4242424242424241"},
        {"Ecom_Payment_Card_ExpDate_Month": "13"},
        {"Ecom_Payment_Card_ExpDate_Year": "20"},
        {"cv2": "1"},
        {"cv2": None},
        {"Email": "4242424242424242"},
        {"Email": "a\nb"},
    ],
    ids=lambda own: repr(own)[:30],
)
def test_a_wrong_field_sends_the_browser_back_unsigned(own: dict[str, Any]) -> None:
    page = shop.enter(form(**own))

    back = page.form.fields
    assert NO in page.text
    assert page.form.action == shop.RETURN
    assert (back["Response"], back["ErrorCode"], back["clientid"]) == ("Error", "HPP-1001", "*")
    assert not {"mdStatus", "HASH"} & set(back)
    assert not Authentication.objects.exists()


@pytest.mark.parametrize("name", ["amount", "oid", "okUrl", "currency", "taksit", "rnd"])
def test_each_field_of_the_form_is_signed(name: str) -> None:
    fields = form()

    fields[name] = {"amount": "1.00", "taksit": "2", "currency": "978"}.get(
        name, fields[name] + "A"
    )

    assert shop.enter(fields).form.fields["ErrorCode"] == "HPP-1001"


@pytest.mark.parametrize(
    "sent",
    [b"", b"failUrl=%ff", b"failUrl=x", b"failUrl=https://a.example&FAILURL=https://b.example"],
)
def test_a_form_without_a_way_back_is_a_page_that_says_so(sent: bytes) -> None:
    page = payer.request("POST", "/fim/est3Dgate", sent)

    assert (page.status, page.forms) == (400, [])
    assert "what the bank cannot read" in page.text


def test_the_gate_is_no_address_to_look_at() -> None:
    page = payer.get("/fim/est3Dgate")

    assert (page.status, page.headers["Allow"]) == (405, "POST")


# --- Proofs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "captured"), [("Auth", 12500), ("PreAuth", 0)])
def test_a_proof_pays_once(kind: str, captured: int) -> None:
    back = shop.walk("4766620000000001", TranType=kind)

    assert said(proven(back, kind)) == DONE

    booked = Authorization.objects.get()
    assert (booked.reference, booked.captured_amount) == (shop.ORDER_ID, captured)
    assert said(proven(back, kind)) == refused("CORE-2507")


def test_a_used_proof_is_refused_also_after_a_decline() -> None:
    back = shop.walk("4000008400001629")
    assert said(proven(back)) == ("Declined", "05", "ISO8583-05")

    assert said(proven(back)) == refused("CORE-2127")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("4000002760003184", DONE),
        ("4000000000009995", ("Declined", "51", "ISO8583-51")),
        ("4000001100000041", refused("CORE-2304")),
    ],
)
def test_how_a_card_ends_with_a_proof(number: str, expected: tuple[str, str, str]) -> None:
    assert said(proven(shop.walk(number))) == expected


def test_a_bank_that_does_not_answer_has_declined() -> None:
    back = shop.walk(button="Don't answer")

    assert shop.send(shop.written(shop.proof(back))) == (504, b"")
    assert [line["status"] for line in shop.history()] == ["D"]


@pytest.mark.parametrize(
    "own",
    [
        {"Number": "3ds_none:00"},
        {"PayerTxnId": "x"},
        {"PayerSecurityLevel": "06"},
        {"PayerAuthenticationCode": "x"},
        {"Total": "125.01"},
        {"Currency": "840"},
        {"Taksit": "2"},
        {"OrderId": "0VBCB44IXSVU4KVUPLW8"},
        {"kind": "PreAuth"},
        {"terminal": SECOND},
    ],
    ids=lambda own: next(iter(own)),
)
def test_a_proof_is_good_for_its_own_payment_alone(own: dict[str, Any]) -> None:
    back = shop.walk()

    assert said(proven(back, **own)) == refused("CORE-2121")
    assert not Authorization.objects.exists()
    assert said(proven(back)) == DONE


def test_a_proof_is_good_for_minutes() -> None:
    back = shop.walk()
    clock.advance(timedelta(minutes=10))

    assert said(proven(back)) == refused("CORE-2121")


def test_two_visits_of_one_order_have_two_proofs() -> None:
    first, second = shop.walk(), shop.walk()

    assert first["md"] != second["md"]
    assert said(proven(first)) == DONE
    assert said(proven(second)) == refused("CORE-2507")


# --- The model in which the bank charges before it sends the browser back ------------------------


@pytest.mark.parametrize("terminal", [FIRST, SECOND], ids=["first", "second"])
def test_the_bank_charges_once_before_the_return(terminal: NestpayTerminal) -> None:
    page = payer.press(shop.enter(form(storetype="3d_pay", terminal=terminal)), "Approve")
    back = page.form.fields

    booked = Authorization.objects.get()
    assert is_signed(back, terminal)
    assert (back["Response"], back["ProcReturnCode"]) == ("Approved", "00")
    assert back["AuthCode"] == booked.authorization_code
    assert booked.captured_amount == 12500
    again = payer.get(f"/acs/{Authentication.objects.get().transaction_id}/answer")
    assert again.form.fields == back
    assert [line["trans_id"] for line in shop.history(terminal=terminal)] == [back["TransId"]]


def test_the_return_says_why_the_bank_did_not_charge() -> None:
    declined = shop.walk("4000000000009995", storetype="3d_pay")
    shop.pay()
    second = shop.walk(storetype="3d_pay")
    rejected = shop.walk(button="Reject", storetype="3d_pay")

    assert (declined["Response"], declined["ProcReturnCode"]) == ("Declined", "51")
    assert (second["Response"], second["EXTRA_ERRORCODE"]) == ("Error", "CORE-2507")
    assert "Response" not in rejected
    assert Authorization.objects.filter(captured_amount=12500).count() == 1


def test_a_charged_payer_may_never_come_back() -> None:
    page = payer.press(shop.enter(form("4000001100000017", storetype="3d_pay")), "Approve")

    assert (page.status, page.content) == (504, b"")
    assert Authorization.objects.get().state == State.AUTHORIZED


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("number", [*behaviours.CARDS, "4000056655665556"])
def test_no_card_number_and_no_proof_is_kept_or_logged(
    number: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        page = shop.enter(form(number, cv2="987"))
        pages = [page, payer.press(page, "Approve")] if "Approve" in page.form.buttons else [page]
        md = pages[-1].form.fields["md"]

    rows = str([list(model.objects.values()) for model in (Authentication, NestpayVisit)])
    assert number not in rows + caplog.text + "".join(one.text for one in pages)
    assert md not in rows + caplog.text
    assert '"cv2"' not in rows
