"""The 3-D gate: the payer's browser posts the card here, and is sent to the page that asks."""

import re
from collections.abc import Mapping
from secrets import compare_digest

from django.db import transaction

from core import cards, clock, ids, urls
from core.detection import contains_card_number, contains_encoded_card_number
from testbank import behaviours
from testbank.models import Authentication, NestpayVisit
from testbank.nestpay import forms, hashes, messages
from testbank.nestpay.messages import AMOUNT, CURRENCIES, INSTALLMENTS, NUMBERS, ORDER_ID, Refused
from testbank.nestpay.terminals import TERMINALS, NestpayTerminal
from testbank.router import BANK
from testbank.states import AuthenticationState

FIELDS_MAX = 64
MONTH, YEAR = "Ecom_Payment_Card_ExpDate_Month", "Ecom_Payment_Card_ExpDate_Year"
MODELS = ("3d", "3d_pay")
TYPES = ("TranType", "islemtipi")
# A value that the return repeats, and no page breaks at.
PRINTABLE = re.compile(r"[^\x00-\x1f\x7f]*")
FORMS: dict[str, re.Pattern[str]] = {
    "storetype": re.compile("|".join(MODELS)),
    "amount": AMOUNT,
    "oid": ORDER_ID,
    "currency": re.compile("|".join(CURRENCIES)),
    "rnd": re.compile(r"[!-~]{1,20}"),
    "hashAlgorithm": re.compile("ver3"),
    MONTH: re.compile(r"0[1-9]|1[0-2]"),
    YEAR: re.compile(r"[0-9]{2}"),
    "cv2": messages.CVC,
    "lang": re.compile(r"|tr|en"),
    "taksit": INSTALLMENTS,
}
OPTIONAL = ("lang", "taksit")
NEVER_REPEATED = ("pan", "cv2", "hash", "encoding")
URL_MAX = 2000


class NoWayBack(Exception):
    """The form does not even say where the browser could be sent."""


class Returned(Exception):
    """The gate sends the browser back before it asks the cardholder.

    :ivar url: the shop's address for it.
    :ivar fields: `Response` and the code of the refusal; nothing signs them.
    """

    def __init__(self, url: str, order_id: str, reason: str) -> None:
        super().__init__(reason)
        self.url = url
        self.fields = {
            "oid": order_id,
            "clientid": "*",
            "Response": "Error",
            "ErrorCode": "HPP-1001",
            "ErrMsg": reason,
        }


def enter(body: bytes, payer_ip: str) -> Authentication:
    """Begin an authentication by the form of a shop of ours.

    :raises NoWayBack: the form cannot be read, or has no address for the browser.
    :raises Returned: a field or the hash is wrong.
    """
    sent = _fields(body)
    fields = {name: value.decode() for name, value in sent.items()}
    fail_url = fields.get("failUrl", "")
    if not _is_address(fail_url):
        raise NoWayBack
    try:
        terminal = _checked(sent, fields)
    except Refused as refused:
        raise Returned(fail_url, fields.get("oid", ""), refused.code) from None
    return _begin(fields, terminal, payer_ip)


def _fields(body: bytes) -> dict[str, bytes]:
    try:
        sent = forms.pairs(body, at_most=FIELDS_MAX)
        for _name, value in sent:
            value.decode()
    except ValueError:
        raise NoWayBack from None
    # Names that differ in case alone would be hashed in an order that nobody knows.
    if len({name.lower() for name, _value in sent}) < len(sent):
        raise NoWayBack
    return dict(sent)


def _checked(sent: Mapping[str, bytes], fields: Mapping[str, str]) -> NestpayTerminal:
    """Return the terminal that a form is of.

    :raises Refused: with the sentence that the return has.
    """
    terminal = TERMINALS.get(fields.get("clientid", ""))
    if terminal is None:
        raise Refused("Isyeri bulunamadi.")
    told = fields.get("hash", "")
    if not compare_digest(hashes.hashed(sent, terminal.store_key).encode(), told.encode()):
        raise Refused("Guvenlik kodu hatali.")
    for name, form in FORMS.items():
        if not form.fullmatch(fields.get(name, "" if name in OPTIONAL else "?")):
            raise Refused(f"{name} hatali.")
    _check_payment(fields)
    _check_card(fields)
    return terminal


def _check_payment(fields: Mapping[str, str]) -> None:
    if not all(map(PRINTABLE.fullmatch, fields.values())) or not _is_address(fields.get("okUrl")):
        raise Refused("okUrl hatali.")
    if [fields.get(name) in messages.PAYMENTS for name in TYPES].count(True) != 1:
        raise Refused("TranType hatali.")
    if fields.get("taksit") and fields["currency"] != NUMBERS["try"]:
        raise Refused("taksit hatali.")


def _check_card(fields: Mapping[str, str]) -> None:
    if not messages.is_valid_number(fields.get("pan", "")):
        raise Refused("pan hatali.")
    if messages.is_expired(fields[MONTH], fields[YEAR]):
        raise Refused("Kartin suresi dolmus.")
    if any(contains_card_number(fields[name]) for name in fields.keys() - {"pan", "hash"}):
        raise Refused("Kart numarasi yalniz pan alaninda olabilir.")


@transaction.atomic(using=BANK, durable=True)
def _begin(fields: dict[str, str], terminal: NestpayTerminal, payer_ip: str) -> Authentication:
    number = fields["pan"]
    behaviour = behaviours.of(number)
    can_start = behaviour.can_authenticate
    authentication = Authentication.objects.create(
        # The order id is no name of it: a browser may post the same form again.
        reference=ids.new("gate"),
        transaction_id=ids.new("3ds"),
        merchant=terminal.client_id,
        merchant_name=terminal.name,
        amount=messages.minor(fields["amount"]),
        currency=CURRENCIES[fields["currency"]],
        installments=int(fields.get("taksit") or 1),
        brand=cards.brand_of(number) or "",
        last4=number[-4:],
        behaviour=behaviour.name,
        callback_url=fields["okUrl"],
        state=AuthenticationState.CHALLENGED if can_start else AuthenticationState.CANNOT_START,
        created_at=clock.now(),
    )
    NestpayVisit.objects.create(
        authentication=authentication,
        client_id=terminal.client_id,
        order_id=fields["oid"],
        model=fields["storetype"],
        capture="Auth" in [fields.get(name) for name in TYPES],
        fail_url=fields["failUrl"],
        payer_ip=payer_ip,
        masked=f"{number[:4]} {number[4:6]}** **** {number[-4:]}",
        echoed={name: text for name, text in fields.items() if name not in NEVER_REPEATED},
    )
    return authentication


def _is_address(text: str | None) -> bool:
    try:
        urls.parse(text or "")
    except urls.BadUrl:
        return False
    return len(text or "") <= URL_MAX and not contains_encoded_card_number(text or "")
