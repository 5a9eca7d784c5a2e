"""Requests that the Garanti API refuses before its host is asked: none of them is in the book."""

from typing import Any

import pytest

from testbank.models import Authorization, GarantiLine
from tests.stage import garanti_shop as shop
from tests.stage.garanti_shop import FIRST, SECOND, payment, refused, request, said

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CARD_LEFT_OUT = {"Number": None, "ExpireDate": None, "CVV2": None}
PROOF = {
    "AuthenticationCode": "cavv", "SecurityLevel": "05", "TxnID": "xid", "Md": "md",
    "CardholderPresentCode": "13",
}  # fmt: skip
NUMBER = "000000000000"
SPAN = {"StartDate": "01/01/2026 00:00", "EndDate": "31/01/2026 00:00", "ListPageNum": "1"}


@pytest.fixture(autouse=True)
def _nothing_is_booked(db: None) -> Any:
    yield
    assert not Authorization.objects.exists()
    assert not GarantiLine.objects.exists()


@pytest.mark.every_case("each element has a rule and a code of its own")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        (payment(ID="30100299"), "0752"),
        (payment(ID="030100200"), "0752"),
        (payment(MerchantID=SECOND.merchant_id), "0752"),
        (payment(ProvUserID="PROVRFN"), "0651"),
        (payment(UserID="PROVRFN"), "0651"),
        (payment(password=FIRST.refund_password), "0651"),
        (payment(HashData=payment()["HashData"].lower()), "0651"),
        (payment(HashData=payment(Amount="1")["HashData"]), "0651"),
        (payment(HashData=payment("5528790000000008")["HashData"]), "0651"),
        (payment(HashData=payment(CurrencyCode="840")["HashData"]), "0651"),
        (payment(HashData=payment(OrderID="X")["HashData"]), "0651"),
        (payment(HashData=None), "0651"),
        (request("void", OriginalRetrefNum=NUMBER, ProvUserID="PROVAUT"), "0651"),
        (request("refund", OriginalRetrefNum=NUMBER, UserID="PROVAUT"), "0651"),
        (request("refund", OriginalRetrefNum=NUMBER, password=FIRST.password), "0651"),
        (payment(Type="sale"), "0006"),
        (payment(Type="partialvoid"), "0006"),
        (payment(Mode=None), "0002"),
        (payment(Mode="PROD"), "0003"),
        (payment(Version=None), "0002"),
        (payment(Version="v0.01"), "0003"),
        (payment(IPAddress=None), "0002"),
        (payment(IPAddress=""), "0002"),
        (payment(IPAddress="example.com"), "0003"),
        (payment(OrderID=None), "0002"),
        (payment(OrderID="with-a-dash"), "0003"),
        (payment(OrderID="A" * 37), "0003"),
        (payment(OrderID="4242424242424242"), "0003"),
        (payment(Amount=None), "0002"),
        (payment(Amount="0"), "0002"),
        (payment(Amount="00"), "0003"),
        (payment(Amount="125.00"), "0003"),
        (payment(Amount="012500"), "0003"),
        (payment(Amount="-1"), "0003"),
        (payment(Amount="9" * 15), "0003"),
        (payment(CurrencyCode=None), "0002"),
        (payment(CurrencyCode="TRY"), "0016"),
        (payment(CurrencyCode="392"), "0016"),
        (payment(InstallmentCnt="0"), "0015"),
        (payment(InstallmentCnt="1"), "0015"),
        (payment(InstallmentCnt="13"), "0015"),
        (payment(InstallmentCnt="3", CurrencyCode="840"), "0015"),
        (payment(CardholderPresentCode=None), "0002"),
        (payment(CardholderPresentCode="13"), "0003"),
        (payment(MotoInd=None), "0002"),
        (payment(MotoInd="Y"), "0003"),
        (payment("4242424242424241"), "0011"),
        (payment("4242 4242 4242 4242"), "0011"),
        (payment(ExpireDate="1334"), "0012"),
        (payment(ExpireDate="12/34"), "0012"),
        (payment(ExpireDate="0120"), "0013"),
        (payment(CVV2="12"), "0014"),
        (payment(CVV2=None), "0002"),
        (payment(**PROOF), "0007"),
        (payment(**CARD_LEFT_OUT), "0002"),
        (payment(**CARD_LEFT_OUT, **PROOF), "0122"),
        (payment(**CARD_LEFT_OUT, **{**PROOF, "TxnID": None}), "0002"),
        (payment(**CARD_LEFT_OUT, **{**PROOF, "CardholderPresentCode": "0"}), "0003"),
        (payment(OriginalRetrefNum=NUMBER), "0005"),
        (payment(Comments="x"), "0005"),
        (request("postauth"), "0002"),
        (request("postauth", OriginalRetrefNum="1"), "0003"),
        (request("postauth", OriginalRetrefNum=NUMBER, CardholderPresentCode="0"), "0005"),
        (request("void", OriginalRetrefNum=NUMBER, Amount="12500"), "0003"),
        (request("void", OriginalRetrefNum=NUMBER, Number="4242424242424242"), "0005"),
        (request("orderinq", Amount="12500"), "0003"),
        (request("orderinq", OriginalRetrefNum=NUMBER), "0005"),
        (request("orderhistoryinq", CardholderPresentCode=None), "0002"),
        (request("orderlistinq"), "0002"),
        (request("orderlistinq", **{**SPAN, "EndDate": "01/02/2026 00:00"}), "0003"),
        (request("orderlistinq", **{**SPAN, "StartDate": "2026-01-01"}), "0003"),
        (request("orderlistinq", **{**SPAN, "StartDate": "31/01/2026 00:01"}), "0003"),
        (request("orderlistinq", **{**SPAN, "ListPageNum": "0"}), "0003"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_element_is_refused_by_its_code(given: dict[str, Any], code: str) -> None:
    told = shop.ask(given)

    assert said(told) == refused(code)
    assert shop.text(told, "Transaction/Response/Message") == "Declined"
    assert shop.text(told, "Transaction/Response/ErrorMsg")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<GVPSRequest>",
        b"<Other/>",
        b"\xff\xfe",
        b'<GVPSRequest a="b"><Mode>TEST</Mode></GVPSRequest>',
        b"<GVPSRequest><Mode><First>x</First></Mode></GVPSRequest>",
        b"<GVPSRequest><Terminal>text</Terminal></GVPSRequest>",
        b"<GVPSRequest>text</GVPSRequest>",
        b'<!DOCTYPE a [<!ENTITY b "c">]><GVPSRequest><Mode>&b;</Mode></GVPSRequest>',
        b'<?xml version="1.0" encoding="no-such"?><GVPSRequest/>',
    ],
)
def test_a_text_that_is_no_request_is_unreadable(body: bytes) -> None:
    assert said(shop.read(shop.send(body))) == refused("0001")


@pytest.mark.parametrize(
    ("found", "instead"),
    [
        (b"<Amount>", b"<Amount>1</Amount><Amount>"),
        (b"<Terminal>", b"<Terminal></Terminal><Terminal><ID>x</ID></Terminal><Terminal>"),
        (b"<Mode>TEST</Mode><Version>512</Version>", b"<Version>512</Version><Mode>TEST</Mode>"),
    ],
    ids=["doubled", "a group twice", "another order"],
)
def test_elements_stand_once_and_in_order(found: bytes, instead: bytes) -> None:
    body = shop.written(payment())
    assert body.count(found) == 1

    assert said(shop.read(shop.send(body.replace(found, instead)))) == refused("0004")


def test_an_element_in_another_group_is_unknown() -> None:
    body = shop.written(payment()).replace(b"<Mode>TEST</Mode>", b"")
    body = body.replace(b"<Customer>", b"<Customer><Mode>TEST</Mode>")

    assert said(shop.read(shop.send(body))) == refused("0005")


def test_the_api_is_no_address_to_look_at() -> None:
    status, _content = shop.call_bank("GET", "/VPServlet", b"")

    assert status == 405
