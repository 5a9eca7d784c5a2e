"""Requests of the NestPay API, checked as the bank's front checks them before its host is asked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import compare_digest

from testbank.nestpay import codes
from testbank.nestpay.terminals import TERMINALS, NestpayTerminal
from testbank.protocols import fields, forms, xml_requests

ROOT, GROUPS = "CC5Request", frozenset({"Extra"})
FORM = "application/x-www-form-urlencoded"
HISTORY, STATUS = "ORDERHISTORY", "ORDERSTATUS"
PAYMENTS = ("Auth", "PreAuth")
# All elements that a shop may send, in the order of the bank's manual.
CARD = ("Expires", "Cvv2Val")
PROOF = ("PayerTxnId", "PayerSecurityLevel", "PayerAuthenticationCode")
ORDER = (
    "Name", "Password", "ClientId", "Type", "OrderId", "TransId", "Total", "Currency", "Taksit",
    "IPAddress", "Number", *CARD, *PROOF, "Mode", "Extra/PREAMT", "Extra/ORDERSTATUS",
    "Extra/ORDERHISTORY",
)  # fmt: skip
PAYMENT = ("OrderId", "Total", "Currency", "IPAddress", "Number", "Mode")
MANDATORY: dict[str, tuple[str, ...]] = {
    "Auth": PAYMENT,
    "PreAuth": PAYMENT,
    "PostAuth": ("OrderId", "Total"),
    "Void": ("OrderId",),
    "Credit": ("OrderId", "Total", "Currency"),
    STATUS: ("OrderId",),
    HISTORY: ("OrderId",),
}
OPTIONAL: dict[str, tuple[str, ...]] = {
    "Auth": ("Taksit", *CARD, *PROOF),
    "PreAuth": ("Taksit", *CARD, *PROOF),
    "PostAuth": ("Currency", "Extra/PREAMT"),
    "Void": ("TransId",),
}
# Alphanumeric; what looks like a card number is kept by no book.
ORDER_ID = re.compile(r"(?!.*[0-9]{13})[0-9A-Za-z]{1,64}")
AMOUNT = re.compile(r"(?!0+\.00)(0|[1-9][0-9]{0,11})\.[0-9]{2}")
EXPIRY = re.compile(r"(0[1-9]|1[0-2])/([0-9]{2})")


class Refused(Exception):
    """The bank refuses a request by a code of its own."""

    def __init__(self, code: str, order_id: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.order_id = order_id


@dataclass(frozen=True, slots=True)
class Message:
    """One request whose elements are in form.

    :param kind: the element `Type`, or the name of an inquiry.
    """

    kind: str
    terminal: NestpayTerminal
    values: Mapping[str, str] = field(repr=False)

    @property
    def order_id(self) -> str:
        return self.values["OrderId"]

    @property
    def amount(self) -> int:
        """Return the element `Total` in minor units."""
        return minor(self.values["Total"])

    @property
    def currency(self) -> str | None:
        return fields.CURRENCIES.get(self.values.get("Currency", ""))

    @property
    def installments(self) -> int:
        return int(self.values.get("Taksit") or 1)

    @property
    def has_proof(self) -> bool:
        return any(self.values.get(name) for name in PROOF)


def read(content_type: str, body: bytes) -> Message:
    """Read a request: XML as it is, or in the form field `DATA`.

    :raises Refused: an element, its form, its place or the credentials are wrong.
    """
    try:
        elements = xml_requests.read(_document(content_type, body), ROOT, GROUPS)
    except xml_requests.Unreadable:
        raise Refused(codes.UNREADABLE) from None
    values = dict(elements)
    terminal = _terminal(values)
    kind = _kind(values)
    order_id = values.get("OrderId", "")
    try:
        _check_names([name for name, _text in elements], kind)
        _check_mandatory(values, kind)
        _check_forms(values, kind)
    except Refused as refused:
        raise Refused(refused.code, order_id if ORDER_ID.fullmatch(order_id) else "") from None
    return Message(kind, terminal, values)


def minor(amount: str) -> int:
    """Return the minor units of an amount: `100.25` is 10025."""
    return int(amount.replace(".", ""))


def _document(content_type: str, body: bytes) -> bytes:
    media_type = content_type.split(";")[0].strip().lower()
    if media_type in ("text/xml", "application/xml"):
        return body
    if media_type != FORM:
        raise xml_requests.Unreadable
    try:
        [(name, value)] = forms.pairs(body, at_most=1)
    except ValueError:
        raise xml_requests.Unreadable from None
    if name != "DATA":
        raise xml_requests.Unreadable
    return value


def _terminal(values: Mapping[str, str]) -> NestpayTerminal:
    terminal = TERMINALS.get(values.get("ClientId", ""))
    if terminal is None:
        raise Refused(codes.UNKNOWN_CLIENT)
    told = (values.get("Name", ""), values.get("Password", ""))
    known = (terminal.user, terminal.password)
    if not all(compare_digest(a.encode(), b.encode()) for a, b in zip(told, known, strict=True)):
        raise Refused(codes.WRONG_PASSWORD)
    return terminal


def _kind(values: Mapping[str, str]) -> str:
    inquiries = [name for name in (STATUS, HISTORY) if values.get(f"Extra/{name}") == "QUERY"]
    if "Type" not in values and len(inquiries) == 1:
        return inquiries[0]
    if inquiries or values.get("Type", "") not in MANDATORY or values["Type"] in (STATUS, HISTORY):
        raise Refused(codes.UNKNOWN_TYPE)
    return values["Type"]


def _check_names(names: list[str], kind: str) -> None:
    own = ("Name", "Password", "ClientId", "Type" if "Type" in names else f"Extra/{kind}")
    known = {*own, *MANDATORY[kind], *OPTIONAL.get(kind, ())}
    if "TransId" in names and "TransId" not in known:
        raise Refused(codes.TRANS_ID_ELSEWHERE)
    if not known.issuperset(names):
        raise Refused(codes.UNKNOWN_ELEMENT)
    # A doubled element stands at two places, and so in no order.
    if names != [name for name in ORDER if name in names]:
        raise Refused(codes.WRONG_ORDER)


def _check_mandatory(values: Mapping[str, str], kind: str) -> None:
    if not all(values.get(name) for name in MANDATORY[kind]):
        raise Refused(codes.MISSING)
    if kind not in PAYMENTS:
        return
    given = [[name for name in names if values.get(name)] for names in (CARD, PROOF)]
    if all(given):
        raise Refused(codes.CARD_AND_PROOF)
    if given not in ([[*CARD], []], [[], [*PROOF]]):
        raise Refused(codes.MISSING)


def _check_forms(values: Mapping[str, str], kind: str) -> None:
    if not ORDER_ID.fullmatch(values["OrderId"]):
        raise Refused(codes.WRONG_FORM)
    if "Total" in values and not AMOUNT.fullmatch(values["Total"]):
        raise Refused(codes.WRONG_AMOUNT)
    if "Currency" in values and values["Currency"] not in fields.CURRENCIES:
        raise Refused(codes.WRONG_CURRENCY)
    if kind in PAYMENTS:
        _check_payment(values)


def _check_payment(values: Mapping[str, str]) -> None:
    if not fields.are_installments(values.get("Taksit", ""), values["Currency"]):
        raise Refused(codes.WRONG_INSTALLMENTS)
    if values["Mode"] != "P" or not fields.is_address(values["IPAddress"]):
        raise Refused(codes.WRONG_FORM)
    if "Expires" in values:
        check_card(values["Number"], values["Expires"], values["Cvv2Val"])


def check_card(number: str, expiry: str, cvc: str) -> None:
    """Check the form of a card's data; the expiry is `MM/YY`.

    :raises Refused: one of them is wrong.
    """
    if not fields.is_valid_number(number):
        raise Refused(codes.WRONG_NUMBER)
    found = EXPIRY.fullmatch(expiry)
    if found is None:
        raise Refused(codes.WRONG_EXPIRY)
    if fields.is_expired(found[1], found[2]):
        raise Refused(codes.EXPIRED)
    if not fields.CVC.fullmatch(cvc):
        raise Refused(codes.WRONG_CVC)
