"""A shop of the tests' own at the bank's Garanti doors, written from the protocol alone.

It shares no line with the service's adapter and none with the bank: so either finds the other's
mistakes. `FIRST` and `SECOND` are the bank's terminals, as a contract with it would name them.
"""

import hashlib
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

from testbank.garanti.terminals import FIRST, SECOND, GarantiTerminal
from tests.stage import payer
from tests.stage.bank_transport import call_bank
from tests.stage.payer import Page

__all__ = ["FIRST", "SECOND"]

ORDER_ID = "0VBCB44IXSVU4KVUPLW7"
APPROVED = "4242424242424242"
XML = "text/xml"
OF_REFUND_USER = ("void", "refund")
FIXED = ("void", "orderinq", "orderhistoryinq", "orderlistinq")
# The elements in the order of the protocol's table, by their groups.
GROUPS: dict[str, tuple[str, ...]] = {
    "Terminal": ("ProvUserID", "UserID", "HashData", "ID", "MerchantID"),
    "Customer": ("IPAddress", "EmailAddress"),
    "Card": ("Number", "ExpireDate", "CVV2"),
    "Order": ("OrderID", "GroupID", "StartDate", "EndDate", "ListPageNum"),
    "Transaction": (
        "Type", "InstallmentCnt", "Amount", "CurrencyCode", "CardholderPresentCode", "MotoInd",
        "OriginalRetrefNum", "Secure3D",
    ),
}  # fmt: skip
PROOF = ("AuthenticationCode", "SecurityLevel", "TxnID", "Md")


def sha512(*values: str) -> str:
    return hashlib.sha512("".join(values).encode("utf-8")).hexdigest().upper()


def security(terminal: GarantiTerminal, kind: str = "sales", password: str | None = None) -> str:
    own = terminal.refund_password if kind in OF_REFUND_USER else terminal.password
    text = (own if password is None else password) + terminal.terminal_id.rjust(9, "0")
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest().upper()


def request(kind: str, terminal: GarantiTerminal = FIRST, **own: Any) -> dict[str, Any]:
    """Return a request's values by their names; a value None leaves one out.

    :param own: `password` is hashed in the place of the terminal's; `HashData` as it is.
    """
    user = terminal.refund_user if kind in OF_REFUND_USER else terminal.user
    password = own.pop("password", None)
    values = {
        "Mode": terminal.mode,
        "Version": "512",
        "ProvUserID": user,
        "UserID": user,
        "ID": terminal.terminal_id,
        "MerchantID": terminal.merchant_id,
        "IPAddress": "203.0.113.7",
        "OrderID": ORDER_ID,
        "Type": kind,
        "InstallmentCnt": "",
        "Amount": "100" if kind in FIXED else "12500",
        "CurrencyCode": "949",
        "CardholderPresentCode": None if kind == "postauth" else "0",
        "MotoInd": "N",
        **own,
    }
    signed = [values.get(name) or "" for name in ("OrderID", "ID", "Number", "Amount")]
    key = security(terminal, kind, password)
    return {"HashData": sha512(*signed, values.get("CurrencyCode") or "", key), **values}


def payment(number: str = APPROVED, kind: str = "sales", **own: Any) -> dict[str, Any]:
    """Return the values of a payment with a card in clear."""
    card = {"Number": number, "ExpireDate": "1234", "CVV2": "123"}
    return request(kind, **{**card, **own})


def written(values: dict[str, Any], encoding: str = "UTF-8") -> bytes:
    """Write the values as XML, in the order of the protocol."""
    parts = [_element(name, values.get(name)) for name in ("Mode", "Version")]
    for group, names in GROUPS.items():
        inside = "".join(
            _secure(values) if name == "Secure3D" else _element(name, values.get(name))
            for name in names
        )
        parts.append(f"<{group}>{inside}</{group}>" if inside else "")
    known = {"Mode", "Version", *PROOF, *(name for names in GROUPS.values() for name in names)}
    parts += [_element(name, text) for name, text in values.items() if name not in known]
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    return f"{head}<GVPSRequest>{''.join(parts)}</GVPSRequest>".encode(encoding)


def _secure(values: dict[str, Any]) -> str:
    inside = "".join(_element(name, values.get(name)) for name in PROOF)
    return f"<Secure3D>{inside}</Secure3D>" if inside else ""


def _element(name: str, text: str | None) -> str:
    if text is None:
        return ""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<{name}>{escaped}</{name}>"


def send(body: bytes, content_type: str = XML) -> tuple[int, bytes]:
    return call_bank("POST", "/VPServlet", body, content_type)


def read(reply: tuple[int, bytes]) -> ElementTree.Element:
    """Return the answer's root."""
    status, content = reply
    assert status == 200
    root = ElementTree.fromstring(content)  # noqa: S314  # The bank under test wrote it.
    assert root.tag == "GVPSResponse"
    return root


def ask(values: dict[str, Any]) -> ElementTree.Element:
    return read(send(written(values)))


def text(root: ElementTree.Element, path: str) -> str:
    return root.findtext(path) or ""


def said(root: ElementTree.Element) -> tuple[str, str, str]:
    """Return what the answer means: source, code, reason."""
    names = ("Source", "Code", "ReasonCode")
    source, code, reason = (text(root, f"Transaction/Response/{name}") for name in names)
    return source, code, reason


def number_of(root: ElementTree.Element) -> str:
    return text(root, "Transaction/RetrefNum")


def is_signed(
    root: ElementTree.Element, terminal: GarantiTerminal = FIRST, kind: str = "sales"
) -> bool:
    """Return whether the hash of an answer is right, as the protocol's page has it."""
    paths = ("Response/Code", "RetrefNum", "AuthCode", "ProvDate")
    values = [text(root, f"Transaction/{path}") for path in paths]
    expected = sha512(*values, text(root, "Order/OrderID"), security(terminal, kind))
    return text(root, "Transaction/HashData") == expected


DONE = ("HOST", "00", "00")
FOUND = ("GVPS", "00", "00")
IN_DOUBT = ("SWITCH", "09", "09")


def refused(reason: str) -> tuple[str, str, str]:
    return "GVPS", "92", reason


def declined(code: str) -> tuple[str, str, str]:
    return "HOST", code, code


def pay(number: str = APPROVED, **own: Any) -> ElementTree.Element:
    return ask(payment(number, **own))


def hold(number: str = APPROVED, **own: Any) -> ElementTree.Element:
    return ask(payment(number, "preauth", **own))


def _of(
    kind: str, of: ElementTree.Element | str, amount: str | None, **own: Any
) -> ElementTree.Element:
    wanted = of if isinstance(of, str) else number_of(of)
    terms = {"OriginalRetrefNum": wanted, **({"Amount": amount} if amount else {}), **own}
    return ask(request(kind, **terms))


def capture(of: ElementTree.Element | str, amount: str = "12500", **own: Any) -> Any:
    return _of("postauth", of, amount, **own)


def void(of: ElementTree.Element | str, **own: Any) -> Any:
    return _of("void", of, None, **own)


def refund(of: ElementTree.Element | str, amount: str = "12500", **own: Any) -> Any:
    return _of("refund", of, amount, **own)


def inquire(kind: str = "orderinq", **own: Any) -> ElementTree.Element:
    return ask(request(kind, **own))


def status(**own: Any) -> dict[str, str]:
    """Return the result of an order's inquiry."""
    [result] = inquire(**own).iterfind("Order/OrderInqResult")
    return {one.tag: one.text or "" for one in result}


def history(**own: Any) -> list[dict[str, str]]:
    """Return the transactions of an order, as the bank tells them."""
    told = inquire("orderhistoryinq", **own)
    rows = told.iterfind("Order/OrderHistInqResult/OrderTxnList/OrderTxn")
    return [{one.tag: one.text or "" for one in row} for row in rows]


def told(**own: Any) -> list[tuple[str, str]]:
    """Return type and status of an order's transactions."""
    return [(row["Type"], row["Status"]) for row in history(**own)]


def listed(first: str, last: str, page: int = 1, **own: Any) -> ElementTree.Element:
    terms = {"OrderID": None, "StartDate": first, "EndDate": last, "ListPageNum": str(page)}
    return inquire("orderlistinq", **{**terms, **own})


# --- The 3-D gate -----------------------------------------------------------------------------

RETURN = "https://pay.example/3ds/att_1.mac/return?a=1&b=2"
GATE = "/servlet/gt3dengine"
HASHPARAMS = "clientid:oid:authcode:procreturncode:response:mdstatus:cavv:eci:md:rnd:"


def form(
    number: str = APPROVED, terminal: GarantiTerminal = FIRST, *, signed: bool = True, **own: Any
) -> dict[str, str]:
    """Return the form that the payer's browser posts to the gate; a value None is left out."""
    fields = {
        "mode": terminal.mode,
        "apiversion": "512",
        "secure3dsecuritylevel": "3D",
        "terminalprovuserid": terminal.user,
        "terminaluserid": terminal.user,
        "terminalmerchantid": terminal.merchant_id,
        "terminalid": terminal.terminal_id,
        "txntype": "sales",
        "txnamount": "12500",
        "txncurrencycode": "949",
        "txninstallmentcount": "",
        "orderid": ORDER_ID,
        "successurl": RETURN,
        "errorurl": RETURN,
        "customeripaddress": "203.0.113.7",
        "lang": "en",
        "cardnumber": number,
        "cardexpiredatemonth": "12",
        "cardexpiredateyear": "34",
        "cardcvv2": "123",
        **own,
    }
    fields = {name: value for name, value in fields.items() if value is not None}
    return {**fields, "secure3dhash": form_hash(fields, terminal)} if signed else fields


def form_hash(fields: dict[str, str], terminal: GarantiTerminal) -> str:
    """Return the form's hash, step by step as the protocol's page has it."""
    names = (
        "terminalid", "orderid", "txnamount", "txncurrencycode", "successurl", "errorurl",
        "txntype", "txninstallmentcount",
    )  # fmt: skip
    values = [fields.get(name, "") for name in names]
    return sha512(*values, terminal.store_key, security(terminal))


def enter(fields: dict[str, str]) -> Page:
    """Post a form to the gate; return the page that the browser ends at."""
    answered = payer.request("POST", GATE, urlencode(fields).encode())
    return payer.get(answered.headers["Location"]) if answered.status == 303 else answered


def walk(number: str = APPROVED, button: str = "Approve", **own: Any) -> dict[str, str]:
    """Go through 3-D Secure as a payer; return the fields that the browser brings back."""
    return payer.press(enter(form(number, **own)), button).form.fields


def proof(back: dict[str, str], kind: str = "sales", **own: Any) -> dict[str, Any]:
    """Return the values of a provision with the proof that came back."""
    shown = {
        "CardholderPresentCode": "13",
        "AuthenticationCode": back["cavv"],
        "SecurityLevel": back["eci"],
        "TxnID": back["xid"],
        "Md": back["md"],
    }
    return request(kind, **{**shown, **own})


def proven(back: dict[str, str], kind: str = "sales", **own: Any) -> ElementTree.Element:
    return ask(proof(back, kind, **own))


def is_return_signed(back: dict[str, str], terminal: GarantiTerminal = FIRST) -> bool:
    """Return whether a return has the list that all have, and the hash over just these values."""
    values = [back.get(name, "") for name in HASHPARAMS.split(":")[:-1]]
    return back["hashparams"] == HASHPARAMS and back["hash"] == sha512(*values, terminal.store_key)
