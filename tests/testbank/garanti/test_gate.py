"""The Garanti gate of the simulated bank: its form, its pages, its signed return, its proofs."""

import base64
import re
from datetime import timedelta
from typing import Any

import pytest

from core import clock
from testbank import behaviours
from testbank.garanti import hashes
from testbank.garanti.terminals import GarantiTerminal
from testbank.models import Authentication, Authorization, GarantiVisit
from testbank.states import State
from tests.stage import garanti_shop as shop
from tests.stage import payer
from tests.stage.bank_days import begin_at_noon
from tests.stage.garanti_shop import (
    DONE,
    FIRST,
    IN_DOUBT,
    SECOND,
    declined,
    form,
    is_return_signed,
    proven,
    refused,
    said,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

NO = "Payment not confirmed"


@pytest.fixture(autouse=True)
def _at_noon() -> None:
    begin_at_noon()


# --- The hashes -------------------------------------------------------------------------------

OWN = GarantiTerminal("7000679", "30691298", "123qweASD/", "123qweASD/", "12345678", "Published")
FORM = (
    "372D6CB20B2B699D0A6667DFF46E3AA8CF3F9D8C2BB69A7C411895151FFCFAAB"
    "5277CCFE3B3A06035FEEFBFBFD40C79DBE51DBF867D0A24B37335A28F0CEFDE2"
)
RETURNED = {
    "clientid": "30691298",
    "oid": "2023100354BB",
    "mdstatus": "1",
    "cavv": "xgRlQDz4AAAAAAAAAAAAAAAAAAA=",
    "eci": "02",
    "md": (
        "aW5kZXg6MDJ6LjAI5iAcKf/ilXjYIOnTh4t+deHrtwO8ze7tPTL1YCDcBe8KEpuq6HDLYbqQSluL7p3kGcpFzX9s"
        "9XcegNhHMsDszxqGd33+p+p5sULGrDF3J2GGfiJDwan4ku7+eiTyS8x2xS9pUy7PTgMGc6jw94aLfXLHskhvY7FY"
        "WrymzQ=="
    ),
    "rnd": "kW094tPzNEhqORzzCsLB",
    "hashparams": shop.HASHPARAMS,
    "hash": (
        "416B6253425E73184F118CC02E3BAA393622059BF6B0865D83F501E55A61339B"
        "9EC659CBCF7297EDECC1B17BF6281D90CC0AD8EDF3E1EFE94432ACCEAF79B26E"
    ),
}


def test_the_hashes_of_the_published_vectors() -> None:
    values = (
        "30691298", "order222", "10025", "949", "https://domain.com/success",
        "https://domain.com/fail_url", "sales", "", OWN.store_key, shop.security(OWN),
    )  # fmt: skip

    assert hashes.hashed(*values) == FORM
    assert is_return_signed(RETURNED, OWN)


# --- Pages and the return ---------------------------------------------------------------------


def test_a_payer_confirms_and_brings_a_signed_return_back() -> None:
    page = shop.enter(form(customeremailaddress="ş|\\@example.com"))
    assert "Sandbox Shop" in page.text
    assert "125" in page.text

    answer = payer.press(page, "Approve")

    back = answer.form.fields
    assert answer.form.action == shop.RETURN
    assert is_return_signed(back)
    assert (back["mdstatus"], back["oid"], back["clientid"]) == (
        "1",
        shop.ORDER_ID,
        FIRST.terminal_id,
    )
    assert (back["txnamount"], back["customeremailaddress"]) == ("12500", "ş|\\@example.com")
    assert (back["authcode"], back["procreturncode"], back["response"]) == ("", "", "")
    assert re.fullmatch("[0-9]{2}", back["eci"])
    assert all(base64.b64decode(back[name], validate=True) for name in ("cavv", "md", "xid"))
    assert back["MaskedPan"] == "424242******4242"
    assert not {"cardnumber", "cardcvv2", "secure3dhash"} & set(back)
    assert not Authorization.objects.exists()


def test_the_amount_of_a_return_is_not_signed() -> None:
    back = shop.walk()

    assert is_return_signed({**back, "txnamount": "1", "txncurrencycode": "840", "orderid": "X"})


def test_the_return_is_the_same_at_each_look() -> None:
    page = payer.press(shop.enter(form()), "Approve")

    transaction_id = Authentication.objects.get().transaction_id
    assert payer.get(f"/acs/{transaction_id}/answer").content == page.content


@pytest.mark.parametrize("button", ["Reject", "Cancel"])
def test_a_payer_who_says_no_comes_back_by_the_error_url(button: str) -> None:
    error_url = "https://pay.example/failed"

    page = payer.press(shop.enter(form(errorurl=error_url)), button)

    back = page.form.fields
    assert page.form.action == error_url
    assert is_return_signed(back)
    assert (back["mdstatus"], back["cavv"]) == ("0", "")
    assert said(proven(back, AuthenticationCode="x")) == refused("0122")


@pytest.mark.parametrize(
    ("number", "status"), [("4151111111111112", "6"), ("4000056655665556", "8")]
)
def test_a_card_that_takes_no_part_comes_back_at_once(number: str, status: str) -> None:
    back = shop.enter(form(number)).form.fields

    assert is_return_signed(back)
    assert back["mdstatus"] == status


def test_a_card_that_always_fails_is_not_authenticated() -> None:
    assert shop.walk("4131111111111117")["mdstatus"] == "0"


@pytest.mark.every_case("each field of the gate's form has a rule")
@pytest.mark.parametrize(
    "own",
    [
        {"terminalid": "30100299"},
        {"terminalid": "030100200"},
        {"terminalmerchantid": SECOND.merchant_id},
        {"terminalprovuserid": "PROVRFN"},
        {"terminaluserid": "PROVRFN"},
        {"mode": "PROD"},
        {"apiversion": "v0.01"},
        {"secure3dsecuritylevel": "3D_HALF"},
        {"txntype": "void"},
        {"txnamount": "125.00"},
        {"txnamount": "0"},
        {"orderid": "4242424242424242"},
        {"successurl": "javascript:alert(1)"},
        {"lang": "de"},
        {"txncurrencycode": "392"},
        {"txninstallmentcount": "1"},
        {"txninstallmentcount": "0"},
        {"txninstallmentcount": "3", "txncurrencycode": "840"},
        {"txninstallmentcount": None},
        {"customeripaddress": None},
        {"customeripaddress": "example.com"},
        {"cardnumber": "4242424242424241"},
        {"cardnumber": None},
        {"cardexpiredatemonth": "13"},
        {"cardexpiredatemonth": "1", "cardexpiredateyear": "234"},
        {"cardexpiredateyear": "20"},
        {"cardcvv2": "1"},
        {"cardcvv2": None},
        {"customeremailaddress": "4242424242424242"},
        {"customeremailaddress": "a\nb"},
        {"secure3dhash": "0" * 128},
    ],
    ids=lambda own: repr(own)[:30],
)
def test_a_wrong_field_sends_the_browser_back_unsigned(own: dict[str, Any]) -> None:
    page = shop.enter({**form(**own), **({} if "secure3dhash" not in own else own)})

    back = page.form.fields
    assert NO in page.text
    assert page.form.action == shop.RETURN
    assert (back["mdstatus"], back["md"], back["response"]) == ("7", "", "")
    assert "hash" not in back
    assert not Authentication.objects.exists()


def test_a_form_whose_hash_leaves_the_currency_out_is_refused_in_words() -> None:
    names = ("terminalid", "orderid", "txnamount", "successurl", "errorurl", "txntype")
    fields = form()
    values = [fields[name] for name in names]
    fields["secure3dhash"] = shop.sha512(*values, FIRST.store_key, shop.security(FIRST))

    assert shop.enter(fields).form.fields["mderrormessage"] == "Guvenlik Kodu hatali"


@pytest.mark.parametrize(
    "name",
    [
        "orderid", "txnamount", "txncurrencycode", "successurl", "errorurl", "txntype",
        "txninstallmentcount",
    ],
)  # fmt: skip
def test_each_of_these_fields_of_the_form_is_signed(name: str) -> None:
    fields = form()
    others = {
        "txncurrencycode": "840", "txntype": "preauth", "txninstallmentcount": "2",
        "txnamount": "1",
    }  # fmt: skip

    fields[name] = others.get(name, fields[name] + "A")

    assert shop.enter(fields).form.fields["mdstatus"] == "7"


@pytest.mark.parametrize(
    "sent",
    [b"", b"errorurl=%ff", b"errorurl=x", b"errorurl=https://a.example&ERRORURL=https://b.example"],
)
def test_a_form_without_a_way_back_is_a_page_that_says_so(sent: bytes) -> None:
    page = payer.request("POST", shop.GATE, sent)

    assert (page.status, page.forms) == (400, [])
    assert "what the bank cannot read" in page.text


def test_the_gate_is_no_address_to_look_at() -> None:
    page = payer.get(shop.GATE)

    assert (page.status, page.headers["Allow"]) == (405, "POST")


# --- Proofs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "captured"), [("sales", 12500), ("preauth", 0)])
def test_a_proof_pays_once(kind: str, captured: int) -> None:
    back = shop.walk("4766620000000001", txntype=kind)

    told = proven(back, kind)

    booked = Authorization.objects.get()
    assert said(told) == DONE
    assert shop.text(told, "Transaction/CardNumberMasked") == "476662******0001"
    assert (booked.reference, booked.captured_amount) == (shop.ORDER_ID, captured)
    assert said(proven(back, kind)) == refused("0202")


def test_a_used_proof_is_refused_by_its_order() -> None:
    back = shop.walk("4000008400001629")
    assert said(proven(back)) == declined("05")

    assert said(proven(back)) == refused("0202")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("4000002760003184", DONE),
        ("4000000000009995", declined("51")),
        ("4000001100000041", IN_DOUBT),
    ],
)
def test_how_a_card_ends_with_a_proof(number: str, expected: tuple[str, str, str]) -> None:
    assert said(proven(shop.walk(number))) == expected


def test_a_bank_that_does_not_answer_has_declined() -> None:
    back = shop.walk(button="Don't answer")

    assert shop.send(shop.written(shop.proof(back))) == (504, b"")
    assert shop.told() == [("sales", "01")]


@pytest.mark.parametrize(
    "own",
    [
        {"Md": "3ds_none:00"},
        {"Md": base64.b64encode(b"index:3ds_none:0").decode()},
        {"TxnID": "x"},
        {"SecurityLevel": "06"},
        {"AuthenticationCode": "x"},
        {"Amount": "12501"},
        {"CurrencyCode": "840"},
        {"InstallmentCnt": "2"},
        {"OrderID": "0VBCB44IXSVU4KVUPLW8"},
        {"kind": "preauth"},
        {"terminal": SECOND},
    ],
    ids=lambda own: next(iter(own)),
)
def test_a_proof_is_good_for_its_own_payment_alone(own: dict[str, Any]) -> None:
    back = shop.walk()

    assert said(proven(back, **own)) == refused("0122")
    assert not Authorization.objects.exists()
    assert said(proven(back)) == DONE


def test_a_proof_is_good_for_minutes() -> None:
    back = shop.walk()
    clock.advance(timedelta(minutes=10))

    assert said(proven(back)) == refused("0122")


def test_two_visits_of_one_order_have_two_proofs() -> None:
    first, second = shop.walk(), shop.walk()

    assert first["md"] != second["md"]
    assert said(proven(first)) == DONE
    assert said(proven(second)) == refused("0202")


# --- The level in which the bank charges before it sends the browser back -----------------------


@pytest.mark.parametrize("terminal", [FIRST, SECOND], ids=["first", "second"])
def test_the_bank_charges_once_before_the_return(terminal: GarantiTerminal) -> None:
    page = payer.press(
        shop.enter(form(secure3dsecuritylevel="3D_PAY", terminal=terminal)), "Approve"
    )
    back = page.form.fields

    booked = Authorization.objects.get()
    assert is_return_signed(back, terminal)
    assert (back["response"], back["procreturncode"]) == ("Approved", "00")
    assert back["authcode"] == booked.authorization_code
    assert booked.captured_amount == 12500
    again = payer.get(f"/acs/{Authentication.objects.get().transaction_id}/answer")
    assert again.form.fields == back
    assert shop.status(terminal=terminal)["RetrefNum"] == back["hostrefnum"]


def test_the_return_says_why_the_bank_did_not_charge() -> None:
    level = {"secure3dsecuritylevel": "3D_PAY"}
    declined_back = shop.walk("4000000000009995", **level)
    second = shop.walk(**level)
    rejected = shop.walk(button="Reject", **level)

    assert (declined_back["response"], declined_back["procreturncode"]) == ("Declined", "51")
    assert (second["response"], second["procreturncode"]) == ("Error", "92")
    assert (rejected["response"], rejected["mdstatus"]) == ("", "0")
    assert all(map(is_return_signed, (declined_back, second, rejected)))
    assert not Authorization.objects.filter(captured_amount=12500).exists()


def test_a_charged_payer_may_never_come_back() -> None:
    entered = shop.enter(form("4000001100000017", secure3dsecuritylevel="3D_PAY"))

    page = payer.press(entered, "Approve")

    assert (page.status, page.content) == (504, b"")
    assert Authorization.objects.get().state == State.AUTHORIZED


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("number", [*behaviours.CARDS, "4000056655665556"])
def test_no_card_number_and_no_proof_is_kept_or_logged(
    number: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        page = shop.enter(form(number, cardcvv2="987"))
        pages = [page, payer.press(page, "Approve")] if "Approve" in page.form.buttons else [page]
        md = pages[-1].form.fields["md"]

    rows = str([list(model.objects.values()) for model in (Authentication, GarantiVisit)])
    assert number not in rows + caplog.text + "".join(one.text for one in pages)
    assert md not in rows + caplog.text
    assert '"cardcvv2"' not in rows
