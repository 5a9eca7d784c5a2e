"""The old bank's messages: XML in the form field `DATA`, answered as XML in ISO-8859-9.

Written from the bank's manual, not from the adapter: the bank checks each element that it is sent,
and refuses the message before its host sees it, as real banks do.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl
from xml.parsers import expat
from xml.sax.saxutils import escape

from tests.stage.oldbank.terminals import ACCOUNTS

HEAD = ("Terminal", "User", "Password", "Type", "OrderId")
PAYMENT = (*HEAD, "Merchant", "Amount", "Currency", "Installment")
CARD = ("Pan", "Expiry", "Cvc")
PROOF = ("Md", "Xid", "Eci", "Cavv")
# The names in their order; a payment comes with a card or with a proof, and never with both.
NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "Sale": ((*PAYMENT, *CARD), (*PAYMENT, *PROOF)),
    "PreAuth": ((*PAYMENT, *CARD), (*PAYMENT, *PROOF)),
    "Capture": ((*HEAD, "Amount", "Currency"),),
    "Void": (HEAD, (*HEAD, "TransId")),
    "Refund": ((*HEAD, "RefundId", "Amount", "Currency"),),
    "RefundStatus": ((*HEAD, "RefundId"),),
    "Status": (HEAD,),
    "History": (HEAD,),
}
CURRENCIES = {"949": "try", "840": "usd", "978": "eur", "826": "gbp"}
FORMS = {
    "OrderId": ("E-1003", re.compile(r"[0-9A-Z]{20}")),
    "Merchant": ("E-1008", re.compile(r"[0-9A-Za-z_]{1,40}")),
    "Amount": ("E-1004", re.compile(r"(0|[1-9][0-9]{0,11})\.[0-9]{2}")),
    "Currency": ("E-1005", re.compile("|".join(CURRENCIES))),
    "Installment": ("E-1009", re.compile(r"|[2-9]|1[0-2]")),
    "Pan": ("E-1006", re.compile(r"[0-9]{13,19}")),
    "Expiry": ("E-1007", re.compile(r"(0[1-9]|1[0-2])[0-9]{2}")),
    "Cvc": ("E-1010", re.compile(r"[0-9]{3,4}")),
    "TransId": ("E-1011", re.compile(r"[0-9A-Z]{10}")),
    "RefundId": ("E-1013", re.compile(r"[0-9A-Z]{20}")),
    **{name: ("E-1012", re.compile(r"[!-~]{1,64}")) for name in PROOF},
}
UNREADABLE, WRONG_ELEMENTS, UNKNOWN_TERMINAL = "E-1001", "E-1002", "E-2001"


class Refused(Exception):
    """The message was refused before the host saw it; `code` is the bank's own."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def read(body: bytes) -> dict[str, str]:
    """Read a request, and check its elements and its credentials.

    :raises Refused: an element, its form, its place or the password is wrong.
    """
    elements = _elements(_document(body))
    names, kind = tuple(name for name, _ in elements), dict(elements).get("Type", "")
    if names not in NAMES.get(kind, ()):
        raise Refused(WRONG_ELEMENTS)
    message = dict(elements)
    account = ACCOUNTS.get(message["Terminal"])
    told = (message["User"], message["Password"])
    if account is None or told != (account.user, account.password):
        raise Refused(UNKNOWN_TERMINAL)
    for name, (code, form) in FORMS.items():
        if name in message and not form.fullmatch(message[name]):
            raise Refused(code)
    return message


def minor(amount: str) -> int:
    """Return the minor units of an amount as this bank writes it: `100.25` is 10025."""
    return int(amount.replace(".", ""))


def written(amount: int) -> str:
    """Return the minor units as this bank writes them."""
    return f"{amount // 100}.{amount % 100:02d}"


def answer(facts: Mapping[str, Any], lines: Iterable[str] = ()) -> bytes:
    """Write an answer; each line becomes an element `Tx`."""
    elements = [*facts.items(), *(("Tx", line) for line in lines)]
    inside = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in elements)
    text = f'<?xml version="1.0" encoding="ISO-8859-9"?><BankResponse>{inside}</BankResponse>'
    return text.encode("iso-8859-9")


def _document(body: bytes) -> bytes:
    try:
        [(name, value)] = parse_qsl(body.decode("ascii"), True, True, max_num_fields=1)
    except ValueError:
        raise Refused(UNREADABLE) from None
    if name != "DATA":
        raise Refused(UNREADABLE)
    return value.encode()


def _elements(document: bytes) -> list[tuple[str, str]]:
    reader = _Reader()
    try:
        reader.parser.Parse(document, True)
    except expat.ExpatError:
        raise Refused(UNREADABLE) from None
    if reader.root != "BankRequest":
        raise Refused(UNREADABLE)
    return reader.elements


class _Reader:
    """Read one level of elements under a root."""

    def __init__(self) -> None:
        self.root, self.elements, self._open = "", [], 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if attributes or self._open > 1:
            raise Refused(WRONG_ELEMENTS)
        if self._open:
            self.elements.append((name, ""))
        else:
            self.root = name
        self._open += 1

    def _end(self, _name: str) -> None:
        self._open -= 1

    def _text(self, text: str) -> None:
        if self._open == 2:
            name, before = self.elements[-1]
            self.elements[-1] = (name, before + text)

    def _refuse(self, *_declared: object) -> None:
        raise Refused(UNREADABLE)
