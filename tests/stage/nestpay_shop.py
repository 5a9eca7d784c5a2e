"""A shop of the tests' own at the bank's NestPay doors, written from the protocol alone.

It shares no line with the service's adapter and none with the bank: so either finds the other's
mistakes. `FIRST` and `SECOND` are the bank's terminals, as a contract with it would name them.
"""

import base64
import hashlib
import re
from typing import Any
from urllib.parse import quote_plus, urlencode
from xml.etree import ElementTree

from testbank.nestpay.terminals import FIRST, SECOND, NestpayTerminal
from tests.stage import payer
from tests.stage.bank_transport import call_bank
from tests.stage.payer import Page

__all__ = ["FIRST", "SECOND"]

ORDER_ID = "0VBCB44IXSVU4KVUPLW7"
APPROVED = "4242424242424242"
XML = "text/xml"
# Payment: whole until the security code, in the order of the protocol's table.
ELEMENTS = (
    "Name", "Password", "ClientId", "Type", "OrderId", "TransId", "Total", "Currency", "Taksit",
    "IPAddress", "Number", "Expires", "Cvv2Val", "PayerTxnId", "PayerSecurityLevel",
    "PayerAuthenticationCode", "Mode", "Extra",
)  # fmt: skip
LINE = (
    "type", "status", "amount", "captured", "authorized_at", "captured_at", "voided_at", "host_ref",
    "auth_code", "code", "trans_id",
)  # fmt: skip


def elements(kind: str | None, terminal: NestpayTerminal = FIRST, **own: Any) -> dict[str, Any]:
    """Return a request's elements in their order; a value None leaves one out."""
    given = {
        "Name": terminal.user,
        "Password": terminal.password,
        "ClientId": terminal.client_id,
        "Type": kind,
        "OrderId": ORDER_ID,
        **own,
    }
    return {name: given[name] for name in ELEMENTS if given.get(name) is not None}


def payment(number: str = APPROVED, kind: str = "Auth", **own: Any) -> dict[str, Any]:
    """Return the elements of a payment with a card in clear."""
    terms = {"Total": "125.00", "Currency": "949", "Taksit": "", "IPAddress": "203.0.113.7"}
    card = {"Number": number, "Expires": "12/34", "Cvv2Val": "123", "Mode": "P"}
    return elements(kind, **{**terms, **card, **own})


def written(given: dict[str, Any], encoding: str = "UTF-8") -> bytes:
    """Write the elements as XML; a dict is a nested one."""
    text = f'<?xml version="1.0" encoding="{encoding}"?><CC5Request>{_inside(given)}</CC5Request>'
    return text.encode(encoding)


def _inside(given: dict[str, Any]) -> str:
    parts = []
    for name, value in given.items():
        text = _inside(value) if isinstance(value, dict) else _escaped(value)
        parts.append(f"<{name}>{text}</{name}>")
    return "".join(parts)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def send(body: bytes, content_type: str = XML) -> tuple[int, bytes]:
    return call_bank("POST", "/fim/api", body, content_type)


def ask(given: dict[str, Any]) -> dict[str, str]:
    """Send elements; return the answer's, those of `Extra` by their own names."""
    return answer(send(written(given)))


def ask_as_form(given: dict[str, Any]) -> dict[str, str]:
    form = "DATA=" + quote_plus(written(given).decode())
    return answer(send(form.encode(), "application/x-www-form-urlencoded"))


def answer(reply: tuple[int, bytes]) -> dict[str, str]:
    """Read an answer by the encoding that it declares."""
    status, content = reply
    assert status == 200
    root = ElementTree.fromstring(content)  # noqa: S314  # The bank under test wrote it.
    assert root.tag == "CC5Response"
    told = {one.tag: one.text or "" for one in root if one.tag != "Extra"}
    return told | {one.tag: one.text or "" for one in root.iterfind("Extra/*")}


def pay(number: str = APPROVED, **own: Any) -> dict[str, str]:
    return ask(payment(number, **own))


def hold(number: str = APPROVED, **own: Any) -> dict[str, str]:
    return ask(payment(number, "PreAuth", **own))


def capture(amount: str = "125.00", **own: Any) -> dict[str, str]:
    return ask(elements("PostAuth", Total=amount, **own))


def void(**own: Any) -> dict[str, str]:
    return ask(elements("Void", **own))


def refund(amount: str = "125.00", **own: Any) -> dict[str, str]:
    return ask(elements("Credit", **{"Total": amount, "Currency": "949", **own}))


def inquire(what: str = "ORDERHISTORY", **own: Any) -> dict[str, str]:
    return ask(elements(None, Extra={what: "QUERY"}, **own))  # type: ignore[arg-type]


def history(**own: Any) -> list[dict[str, str]]:
    """Return the lines of the order's history, the newest first."""
    told = inquire(**own)
    count = int(told["TRXCOUNT"])
    assert sum(bool(re.fullmatch("TRX[0-9]+", name)) for name in told) == count
    rows = [told[f"TRX{number}"].split("\t") for number in range(1, count + 1)]
    return [dict(zip(LINE, row, strict=True)) for row in rows]


def said(told: dict[str, str]) -> tuple[str, str, str]:
    """Return what the answer means: response, code, the bank's own code."""
    return told["Response"], told["ProcReturnCode"], told["ERRORCODE"]


def refused(code: str) -> tuple[str, str, str]:
    return "Error", "99", code


DONE = ("Approved", "00", "")


def hashed(fields: dict[str, str], store_key: str, encoding: str = "utf-8") -> str:
    """Return the hash of version 3, step by step as the protocol's page has it."""
    names = [name for name in fields if name.lower() not in ("hash", "encoding")]
    values = [fields[name] for name in sorted(names, key=str.lower)]
    text = "|".join(
        value.replace("\\", "\\\\").replace("|", "\\|") for value in [*values, store_key]
    )
    return base64.b64encode(hashlib.sha512(text.encode(encoding)).digest()).decode()


# --- The 3-D gate -----------------------------------------------------------------------------

RETURN = "https://pay.example/3ds/att_1.mac/return?a=1&b=2"


def form(
    number: str = APPROVED, terminal: NestpayTerminal = FIRST, *, signed: bool = True, **own: str
) -> dict[str, str]:
    """Return the form that the payer's browser posts to the gate."""
    fields = {
        "clientid": terminal.client_id,
        "storetype": "3d",
        "amount": "125.00",
        "oid": ORDER_ID,
        "okUrl": RETURN,
        "failUrl": RETURN,
        "rnd": "0123456789ABCDEFGHIJ",
        "lang": "en",
        "currency": "949",
        "taksit": "",
        "TranType": "Auth",
        "hashAlgorithm": "ver3",
        "pan": number,
        "Ecom_Payment_Card_ExpDate_Month": "12",
        "Ecom_Payment_Card_ExpDate_Year": "34",
        "cv2": "123",
        **own,
    }
    fields = {name: value for name, value in fields.items() if value is not None}
    return {**fields, "hash": hashed(fields, terminal.store_key)} if signed else fields


def enter(fields: dict[str, str]) -> Page:
    """Post a form to the gate; return the page that the browser ends at."""
    answered = payer.request("POST", "/fim/est3Dgate", urlencode(fields).encode())
    return payer.get(answered.headers["Location"]) if answered.status == 303 else answered


def walk(number: str = APPROVED, button: str = "Approve", **own: Any) -> dict[str, str]:
    """Go through 3-D Secure as a payer; return the fields that the browser brings back."""
    return payer.press(enter(form(number, **own)), button).form.fields


def proof(back: dict[str, str], kind: str = "Auth", **own: Any) -> dict[str, Any]:
    """Return the elements of a payment with the proof that came back."""
    shown = {
        "Number": back["md"],
        "Expires": None,
        "Cvv2Val": None,
        "PayerTxnId": back["xid"],
        "PayerSecurityLevel": back["eci"],
        "PayerAuthenticationCode": back["cavv"],
    }
    return payment(kind=kind, **{**shown, **own})


def proven(back: dict[str, str], kind: str = "Auth", **own: Any) -> dict[str, str]:
    return ask(proof(back, kind, **own))


def is_signed(back: dict[str, str], terminal: NestpayTerminal = FIRST) -> bool:
    return back["HASH"] == hashed(back, terminal.store_key)
