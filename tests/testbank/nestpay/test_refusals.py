"""Requests that the NestPay API refuses before its host is asked: none of them is in the book."""

from typing import Any
from urllib.parse import quote_plus

import pytest

from testbank.models import Authorization, NestpayLine
from tests.stage import nestpay_shop as shop
from tests.stage.nestpay_shop import elements, payment, refused, said

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FORM = "application/x-www-form-urlencoded"
PROVEN = {
    "Expires": None, "Cvv2Val": None, "PayerTxnId": "xid", "PayerSecurityLevel": "05",
    "PayerAuthenticationCode": "cavv",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_is_booked(db: None) -> Any:
    yield
    assert not Authorization.objects.exists()
    assert not NestpayLine.objects.exists()


@pytest.mark.every_case("each element has a rule and a code of its own")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        (payment(ClientId="100200399"), "CORE-2201"),
        (payment(Name="sandboxapi"), "CORE-2202"),
        (payment(Password="x"), "CORE-2202"),
        (payment(Type="Sale"), "CORE-1024"),
        (payment(Type="ORDERHISTORY"), "CORE-1024"),
        (payment(Extra={"ORDERHISTORY": "QUERY"}), "CORE-1024"),
        (elements(None), "CORE-1024"),
        (elements(None, Extra={"ORDERHISTORY": "YES"}), "CORE-1024"),
        (payment(OrderId=None), "CORE-1020"),
        (payment(OrderId="with-a-dash"), "CORE-1021"),
        (payment(OrderId="A" * 65), "CORE-1021"),
        (payment(OrderId="4242424242424242"), "CORE-1021"),
        (payment(Total=None), "CORE-1020"),
        (payment(Total="125"), "CORE-2016"),
        (payment(Total="125.0"), "CORE-2016"),
        (payment(Total="125,00"), "CORE-2016"),
        (payment(Total="0125.00"), "CORE-2016"),
        (payment(Total="0.00"), "CORE-2016"),
        (payment(Total="-1.00"), "CORE-2016"),
        (payment(Currency="TRY"), "CORE-2017"),
        (payment(Currency="392"), "CORE-2017"),
        (payment(Currency=None), "CORE-1020"),
        (payment(Taksit="1"), "CORE-2204"),
        (payment(Taksit="13"), "CORE-2204"),
        (payment(Taksit="3", Currency="840"), "CORE-2204"),
        (payment(IPAddress=None), "CORE-1020"),
        (payment(IPAddress=""), "CORE-1020"),
        (payment(IPAddress="example.com"), "CORE-1021"),
        (payment(Mode=None), "CORE-1020"),
        (payment(Mode="T"), "CORE-1021"),
        (payment("4242424242424241"), "CORE-2012"),
        (payment("4242 4242 4242 4242"), "CORE-2012"),
        (payment(Expires="13/34"), "CORE-2010"),
        (payment(Expires="12/2034"), "CORE-2010"),
        (payment(Expires="01/20"), "CORE-2011"),
        (payment(Cvv2Val="12"), "CORE-2208"),
        (payment(Cvv2Val=None), "CORE-1020"),
        (payment(**{**PROVEN, "Expires": "12/34", "Cvv2Val": "123"}), "CORE-1025"),
        (payment(**{**PROVEN, "PayerTxnId": None}), "CORE-1020"),
        (payment(TransId="24001AAAAA00000z"), "CORE-1028"),
        (elements("Credit", Total="1.00", Currency="949", TransId="x"), "CORE-1028"),
        (elements("Credit", Total="1.00"), "CORE-1020"),
        (elements("PostAuth"), "CORE-1020"),
        (elements("Void", Total="1.00"), "CORE-1023"),
        (dict(reversed(payment().items())), "CORE-1022"),
        ({**payment(), "Comments": "x"}, "CORE-1023"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_element_is_refused_by_its_code(given: dict[str, Any], code: str) -> None:
    told = shop.ask(given)

    assert said(told) == refused(code)
    assert told["NUMCODE"] == "99" + code.removeprefix("CORE-")
    assert told["ErrMsg"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<CC5Request>",
        b"<Other/>",
        b"\xff\xfe",
        b'<CC5Request a="b"><Name>x</Name></CC5Request>',
        b"<CC5Request><Name><First>x</First></Name></CC5Request>",
        b"<CC5Request>text</CC5Request>",
        b'<!DOCTYPE a [<!ENTITY b "c">]><CC5Request><Name>&b;</Name></CC5Request>',
        b'<?xml version="1.0" encoding="no-such"?><CC5Request/>',
    ],
)
def test_what_is_no_request_is_unreadable(body: bytes) -> None:
    assert said(shop.answer(shop.send(body))) == refused("CORE-1006")


def test_a_doubled_element_is_refused() -> None:
    body = shop.written(payment()).replace(b"<Total>", b"<Total>1.00</Total><Total>")

    assert said(shop.answer(shop.send(body))) == refused("CORE-1022")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<CC5Request/>", "application/json"),
        (b"XML=x", FORM),
        (b"DATA=x&DATA=y", FORM),
        (b"DATA=<CC5Request><Name>a&b</Name></CC5Request>", FORM),
    ],
)
def test_another_envelope_is_unreadable(body: bytes, content_type: str) -> None:
    assert said(shop.answer(shop.send(body, content_type))) == refused("CORE-1006")


@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-9"])
def test_a_form_field_may_hold_turkish_letters(encoding: str) -> None:
    body = b"DATA=" + quote_plus(shop.written(payment(Password="ş"), encoding)).encode()

    assert said(shop.answer(shop.send(body, FORM))) == refused("CORE-2202")


def test_a_request_in_the_banks_own_encoding_is_read() -> None:
    given = payment(Password="ş")

    told = shop.answer(shop.send(shop.written(given, "ISO-8859-9")))

    assert said(told) == refused("CORE-2202")
