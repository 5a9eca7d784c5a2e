"""Requests of the Garanti API, checked as the bank's gateway checks them before its host."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from secrets import compare_digest

from testbank.garanti import codes, hashes
from testbank.garanti.terminals import TERMINALS, GarantiTerminal
from testbank.protocols import fields, xml_requests
from testbank.states import TransactionKind

ROOT = "GVPSRequest"
GROUPS = frozenset({"Terminal", "Customer", "Card", "Order", "Transaction", "Transaction/Secure3D"})
CARD = ("Number", "ExpireDate", "CVV2")
PROOF = ("AuthenticationCode", "SecurityLevel", "TxnID", "Md")
# All elements that a shop may send, in the order of the bank's manual.
ORDER = (
    "Mode", "Version",
    *(f"Terminal/{name}" for name in ("ProvUserID", "UserID", "HashData", "ID", "MerchantID")),
    "Customer/IPAddress", "Customer/EmailAddress",
    *(f"Card/{name}" for name in CARD),
    *(f"Order/{name}" for name in ("OrderID", "GroupID", "StartDate", "EndDate", "ListPageNum")),
    *(f"Transaction/{name}" for name in (
        "Type", "InstallmentCnt", "Amount", "CurrencyCode", "CardholderPresentCode", "MotoInd",
        "OriginalRetrefNum",
    )),
    *(f"Transaction/Secure3D/{name}" for name in PROOF),
)  # fmt: skip
STATUS, HISTORY, LIST = "orderinq", "orderhistoryinq", "orderlistinq"
PAYMENTS = (TransactionKind.SALES, TransactionKind.PREAUTH)
OF_ANOTHER = (TransactionKind.POSTAUTH, TransactionKind.VOID, TransactionKind.REFUND)
OF_REFUND_USER = (TransactionKind.VOID, TransactionKind.REFUND)
FIXED_AMOUNT = (TransactionKind.VOID, STATUS, HISTORY, LIST)
SPAN = ("StartDate", "EndDate", "ListPageNum")
ALWAYS = (
    "Mode", "Version", "ProvUserID", "UserID", "HashData", "ID", "MerchantID", "IPAddress", "Type",
    "Amount", "CurrencyCode", "MotoInd",
)  # fmt: skip
# Further elements of a request, by its type.
BESIDES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(PAYMENTS, ("OrderID", "CardholderPresentCode")),
    **dict.fromkeys(OF_REFUND_USER, ("OrderID", "CardholderPresentCode", "OriginalRetrefNum")),
    TransactionKind.POSTAUTH: ("OrderID", "OriginalRetrefNum"),
    STATUS: ("OrderID", "CardholderPresentCode"),
    HISTORY: ("OrderID", "CardholderPresentCode"),
    LIST: ("CardholderPresentCode", *SPAN),
}
OPTIONAL = ("EmailAddress", "OrderID", "GroupID", "InstallmentCnt")
WITHOUT_PROOF, WITH_PROOF = "0", "13"
# Letters and digits; no book keeps a text that looks like a card number.
ORDER_ID = re.compile(r"(?!.*[0-9]{13})[0-9A-Za-z]{1,36}")
AMOUNT = re.compile(r"[1-9][0-9]{0,13}")
EXPIRY = re.compile(r"(0[1-9]|1[0-2])([0-9]{2})")
PAGE = re.compile(r"[1-9][0-9]{0,4}")
MOMENT = "%d/%m/%Y %H:%M"
LONGEST_SPAN = timedelta(days=30)


class Refused(Exception):
    """The gateway refuses a request by a code of its own.

    :ivar security: signs the answer; empty where the bank knows no terminal.
    """

    def __init__(self, code: str, order_id: str = "", security: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.order_id = order_id
        self.security = security


@dataclass(frozen=True, slots=True)
class Message:
    """One request whose elements are in form, by their own names.

    :param kind: the element `Type`.
    :param security: the hash of the password that the request was made with.
    """

    kind: str
    terminal: GarantiTerminal
    values: Mapping[str, str] = field(repr=False)
    security: str = field(repr=False)

    @property
    def order_id(self) -> str:
        return self.values.get("OrderID", "")

    @property
    def amount(self) -> int:
        """Return the element `Amount`, which is in minor units."""
        return int(self.values["Amount"])

    @property
    def currency(self) -> str:
        return fields.CURRENCIES[self.values["CurrencyCode"]]

    @property
    def installments(self) -> int:
        return int(self.values.get("InstallmentCnt") or 1)

    @property
    def has_proof(self) -> bool:
        return bool(self.values.get("Md"))


def read(body: bytes) -> Message:
    """Read a request.

    :raises Refused: an element, its form, its place or the credentials are wrong.
    """
    try:
        elements = xml_requests.read(body, ROOT, GROUPS)
    except xml_requests.Unreadable:
        raise Refused(codes.UNREADABLE) from None
    values = {name.rpartition("/")[2]: text for name, text in elements}
    order_id = values.get("OrderID", "")
    shown = order_id if ORDER_ID.fullmatch(order_id) else ""
    terminal = TERMINALS.get(values.get("ID", ""))
    if terminal is None or terminal.merchant_id != values.get("MerchantID"):
        raise Refused(codes.UNKNOWN_TERMINAL, shown)
    kind = values.get("Type", "")
    security = _security(terminal, kind)
    try:
        _check_credentials(values, terminal, security)
        _check_names([name for name, _text in elements], kind)
        _check_mandatory(values, kind)
        _check_forms(values, kind, terminal)
    except Refused as refused:
        raise Refused(refused.code, shown, security) from None
    return Message(kind, terminal, values, security)


def span(values: Mapping[str, str]) -> tuple[datetime, datetime]:
    """Return the two moments of a list, on Istanbul's clock and without a zone.

    :raises Refused: they are no moments, or too far apart.
    """
    try:
        first, last = (datetime.strptime(values[name], MOMENT) for name in SPAN[:2])  # noqa: DTZ007
    except ValueError:
        raise Refused(codes.WRONG_FORM) from None
    if not first <= last <= first + LONGEST_SPAN:
        raise Refused(codes.WRONG_FORM)
    return first, last


def _security(terminal: GarantiTerminal, kind: str) -> str:
    is_refund = kind in OF_REFUND_USER
    password = terminal.refund_password if is_refund else terminal.password
    return hashes.security(password, terminal.terminal_id)


def _check_credentials(values: Mapping[str, str], terminal: GarantiTerminal, security: str) -> None:
    signed = [values.get(name, "") for name in ("OrderID", "ID", "Number", "Amount")]
    expected = hashes.hashed(*signed, values.get("CurrencyCode", ""), security)
    is_refund = values.get("Type") in OF_REFUND_USER
    user = terminal.refund_user if is_refund else terminal.user
    told = (values.get("ProvUserID", ""), values.get("UserID", ""), values.get("HashData", ""))
    known = (user, user, expected)
    if not all(compare_digest(a.encode(), b.encode()) for a, b in zip(told, known, strict=True)):
        raise Refused(codes.WRONG_PASSWORD)


def _check_names(names: list[str], kind: str) -> None:
    if kind not in BESIDES:
        raise Refused(codes.UNKNOWN_TYPE)
    known = {*ALWAYS, *BESIDES[kind], *OPTIONAL, *(CARD + PROOF if kind in PAYMENTS else ())}
    if not known.issuperset(name.rpartition("/")[2] for name in names) or set(names) - set(ORDER):
        raise Refused(codes.UNKNOWN_ELEMENT)
    # A doubled element stands at two places, and so in no order.
    if names != [name for name in ORDER if name in names]:
        raise Refused(codes.WRONG_ORDER)


def _check_mandatory(values: Mapping[str, str], kind: str) -> None:
    # An amount of zero counts as none at this bank.
    if values.get("Amount") == "0":
        raise Refused(codes.MISSING)
    if not all(values.get(name) for name in (*ALWAYS, *BESIDES[kind])):
        raise Refused(codes.MISSING)
    if kind not in PAYMENTS:
        return
    given = [[name for name in names if values.get(name)] for names in (CARD, PROOF)]
    if all(given):
        raise Refused(codes.CARD_AND_PROOF)
    if given not in ([[*CARD], []], [[], [*PROOF]]):
        raise Refused(codes.MISSING)


def _check_forms(values: Mapping[str, str], kind: str, terminal: GarantiTerminal) -> None:
    present = WITH_PROOF if values.get("Md") else WITHOUT_PROOF
    fixed = {"Mode": terminal.mode, "Version": "512", "MotoInd": "N"}
    if "CardholderPresentCode" in BESIDES[kind]:
        fixed["CardholderPresentCode"] = present
    if kind in FIXED_AMOUNT:
        fixed["Amount"] = "100"
    forms = {"OrderID": ORDER_ID, "Amount": AMOUNT, "OriginalRetrefNum": fields.HOST_REF}
    if any(values[name] != text for name, text in fixed.items()) or any(
        not form.fullmatch(values[name]) for name, form in forms.items() if values.get(name)
    ):
        raise Refused(codes.WRONG_FORM)
    if not fields.is_address(values["IPAddress"]):
        raise Refused(codes.WRONG_FORM)
    _check_terms(values)
    if kind == LIST:
        _check_list(values)
    if values.get("Number"):
        check_card(values["Number"], values["ExpireDate"], values["CVV2"])


def _check_terms(values: Mapping[str, str]) -> None:
    if values["CurrencyCode"] not in fields.CURRENCIES:
        raise Refused(codes.WRONG_CURRENCY)
    if not fields.are_installments(values.get("InstallmentCnt", ""), values["CurrencyCode"]):
        raise Refused(codes.WRONG_INSTALLMENTS)


def _check_list(values: Mapping[str, str]) -> None:
    if not PAGE.fullmatch(values["ListPageNum"]):
        raise Refused(codes.WRONG_FORM)
    span(values)


def check_card(number: str, expiry: str, cvc: str) -> None:
    """Check the form of a card's data; the expiry is `MMYY`.

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
