"""Orders of an acquirer to the bank: read from JSON, refused as `Malformed` before any work."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from core import urls
from core.detection import contains_encoded_card_number

NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
CARD_IN_A_NAME = re.compile(r"[0-9]{13}")
CURRENCY = re.compile(r"[a-z]{3}")
CARD_NUMBER = re.compile(r"[0-9]{13,19}")
CVC = re.compile(r"[0-9]{3,4}")
# A name that a page can show and the book can keep: no NUL, no half of a surrogate pair.
MERCHANT_NAME = re.compile(r"[^\x00\ud800-\udfff]{1,200}")
# Any short text: a proof of another form than ours proves nothing, and is declined.
PROOF = re.compile(r"[ -~]{0,64}")
TEXT_NAME = re.compile(r"[a-z_]{1,40}")
SOURCE = re.compile(r"[a-z_]{0,40}")
# More submissions than anybody makes, and more texts than there are.
SUBMISSION_MAX, TEXTS_MAX = 10_000, 20
NOTICE_NUMBER = re.compile(r"[0-9]{1,18}")
ANYTHING = re.compile(r".*", re.DOTALL)
AMOUNT_MAX_MINOR = 10**15
INSTALLMENTS_MAX = 12


class Malformed(Exception):
    """The request cannot be read. The text names the field and never repeats a value."""


@dataclass(frozen=True, slots=True)
class AuthenticationProof:
    """The proof that a cardholder authenticated, as the acquirer hands it in."""

    transaction_id: str
    eci: str
    cavv: str


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of a payment, in minor units; to capture at once if `capture`."""

    reference: str
    merchant: str
    amount: int
    currency: str
    installments: int
    capture: bool


@dataclass(frozen=True, slots=True)
class AuthorizationOrder(Terms):
    """One request to authorise."""

    card_number: str = field(repr=False)
    proof: AuthenticationProof | None


@dataclass(frozen=True, slots=True)
class AuthenticationOrder:
    """One request to authenticate a cardholder for an amount in minor units.

    :param callback_url: where the payer's browser brings the signed answer.
    """

    reference: str
    merchant: str
    merchant_name: str
    amount: int
    currency: str
    installments: int
    card_number: str = field(repr=False)
    callback_url: str


@dataclass(frozen=True, slots=True)
class RefundOrder:
    """One request to refund, in minor units, under a reference of its own."""

    reference: str
    authorization: str
    amount: int


@dataclass(frozen=True, slots=True)
class TransferOrder:
    """One request to pay out, in minor units, under a reference of its own."""

    reference: str
    merchant: str
    destination: str
    amount: int
    currency: str


@dataclass(frozen=True, slots=True)
class ExpectedOrder:
    """One transfer in that is to come, in minor units.

    :param reference: the service's, which the sender writes into the transfer.
    :param source: the way in which it goes on; empty for one that comes.
    """

    reference: str
    merchant: str
    amount: int
    currency: str
    source: str


@dataclass(frozen=True, slots=True)
class Submission:
    """One submission of evidence: texts by their names."""

    number: int
    texts: dict[str, str] = field(repr=False)


def read_authorization(body: bytes) -> AuthorizationOrder:
    """Read the body of `POST /authorizations`.

    :raises Malformed: a field is missing or of another form.
    """
    sent = _object(_json(body), "the body")
    return AuthorizationOrder(
        reference=_name(sent, "reference"),
        merchant=_name(sent, "merchant"),
        amount=_integer(sent, "amount", 1, AMOUNT_MAX_MINOR),
        currency=_text(sent, "currency", CURRENCY),
        installments=_integer(sent, "installments", 1, INSTALLMENTS_MAX),
        capture=_boolean(sent, "capture"),
        card_number=_card_number(sent),
        proof=_proof(sent.get("authentication")),
    )


def read_authentication(body: bytes) -> AuthenticationOrder:
    """Read the body of `POST /authentications`.

    :raises Malformed: a field is missing or of another form.
    """
    sent = _object(_json(body), "the body")
    return AuthenticationOrder(
        reference=_name(sent, "reference"),
        merchant=_name(sent, "merchant"),
        merchant_name=_text(sent, "merchant_name", MERCHANT_NAME),
        amount=_integer(sent, "amount", 1, AMOUNT_MAX_MINOR),
        currency=_text(sent, "currency", CURRENCY),
        installments=_integer(sent, "installments", 1, INSTALLMENTS_MAX),
        card_number=_card_number(sent),
        callback_url=_callback_url(sent),
    )


def read_amount(body: bytes) -> int:
    """Read the body of `POST /authorizations/{reference}/capture`, in minor units.

    :raises Malformed: it is not an amount.
    """
    return _integer(_object(_json(body), "the body"), "amount", 1, AMOUNT_MAX_MINOR)


def read_refund(body: bytes) -> RefundOrder:
    """Read the body of `POST /refunds`.

    :raises Malformed: a field is missing or of another form.
    """
    sent = _object(_json(body), "the body")
    return RefundOrder(
        reference=_name(sent, "reference"),
        authorization=_name(sent, "authorization"),
        amount=_integer(sent, "amount", 1, AMOUNT_MAX_MINOR),
    )


def read_submission(body: bytes) -> Submission:
    """Read the body of `POST /disputes/{reference}/evidence`.

    :raises Malformed: a field is missing or of another form.
    """
    sent = _object(_json(body), "the body")
    texts = _object(sent.get("evidence"), "evidence")
    if len(texts) > TEXTS_MAX or not all(map(TEXT_NAME.fullmatch, texts)):
        raise Malformed("evidence has other names")
    return Submission(
        number=_integer(sent, "number", 1, SUBMISSION_MAX),
        texts={name: _text(texts, name, ANYTHING) for name in texts},
    )


def read_notice_number(text: str) -> int:
    """Read the number of a notice that stands in an address.

    :raises Malformed: it is none.
    """
    if not NOTICE_NUMBER.fullmatch(text):
        raise Malformed("the number is malformed")
    return int(text)


def read_reference(text: str) -> str:
    """Read a reference, or nothing at all, that stands in an address.

    :raises Malformed: no reference looks like that.
    """
    if text and not NAME.fullmatch(text):
        raise Malformed("the reference is malformed")
    return text


def read_transfer(body: bytes) -> TransferOrder:
    """Read the body of `POST /transfers`.

    :raises Malformed: a field is missing or of another form.
    """
    sent = _object(_json(body), "the body")
    return TransferOrder(
        reference=_name(sent, "reference"),
        merchant=_name(sent, "merchant"),
        destination=_name(sent, "destination"),
        amount=_integer(sent, "amount", 1, AMOUNT_MAX_MINOR),
        currency=_text(sent, "currency", CURRENCY),
    )


def read_expected(body: bytes) -> ExpectedOrder:
    """Read the body of `POST /expected_transfers`.

    :raises Malformed: a field is missing or of another form.
    """
    sent = _object(_json(body), "the body")
    return ExpectedOrder(
        reference=_name(sent, "reference"),
        merchant=_name(sent, "merchant"),
        amount=_integer(sent, "amount", 1, AMOUNT_MAX_MINOR),
        currency=_text(sent, "currency", CURRENCY),
        source=_text(sent, "source", SOURCE),
    )


def _card_number(sent: dict[str, Any]) -> str:
    """Return the number; the card's other data must be there in form, and is not looked at."""
    card = _object(sent.get("card"), "card")
    _integer(card, "exp_month", 1, 12)
    _integer(card, "exp_year", 2000, 2099)
    _optional_text(card, "cvc", CVC)
    _optional_text(card, "holder_name", ANYTHING)
    return _text(card, "number", CARD_NUMBER)


def _proof(sent: Any) -> AuthenticationProof | None:
    if sent is None:
        return None
    proof = _object(sent, "authentication")
    return AuthenticationProof(
        transaction_id=_text(proof, "transaction_id", PROOF),
        eci=_text(proof, "eci", PROOF),
        cavv=_text(proof, "cavv", PROOF),
    )


def _callback_url(sent: dict[str, Any]) -> str:
    # Unlike the return URL, it is kept whole.
    address = _address(sent, "callback_url")
    if contains_encoded_card_number(address):
        raise Malformed("callback_url looks like a card number")
    return address


def _address(sent: dict[str, Any], name: str) -> str:
    address = _text(sent, name, ANYTHING)
    try:
        urls.parse(address)
    except urls.BadUrl:
        raise Malformed(f"{name} is not a plain http or https address") from None
    return address


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        # `from None`: a JSONDecodeError carries the whole document, card included.
        raise Malformed("the body is not JSON") from None


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Malformed(f"{name} is not an object")
    return value


def _text(sent: dict[str, Any], name: str, form: re.Pattern[str]) -> str:
    value = sent.get(name)
    if not isinstance(value, str) or not form.fullmatch(value):
        raise Malformed(f"{name} is missing or malformed")
    return value


def _optional_text(sent: dict[str, Any], name: str, form: re.Pattern[str]) -> str | None:
    if name not in sent:
        raise Malformed(f"{name} is missing")
    return None if sent[name] is None else _text(sent, name, form)


def _name(sent: dict[str, Any], name: str) -> str:
    value = _text(sent, name, NAME)
    if CARD_IN_A_NAME.search(value):
        raise Malformed(f"{name} looks like a card number")
    return value


def _integer(sent: dict[str, Any], name: str, lowest: int, highest: int) -> int:
    value = sent.get(name)
    # A JSON true is an int to Python.
    if type(value) is not int or not lowest <= value <= highest:
        raise Malformed(f"{name} is missing or out of range")
    return value


def _boolean(sent: dict[str, Any], name: str) -> bool:
    value = sent.get(name)
    if not isinstance(value, bool):
        raise Malformed(f"{name} is not true or false")
    return value
