"""The 3-D gate: the payer's browser posts the card here, and is sent to the page that asks."""

import re
from collections.abc import Mapping
from secrets import compare_digest

from testbank.models import Authentication, NestpayVisit
from testbank.nestpay import hashes, messages
from testbank.nestpay.messages import AMOUNT, ORDER_ID, Refused
from testbank.nestpay.terminals import TERMINALS, NestpayTerminal
from testbank.protocols import gates
from testbank.protocols.fields import (
    CURRENCIES,
    CVC,
    INSTALLMENTS,
    are_installments,
    is_expired,
    is_valid_number,
)
from testbank.protocols.gates import PRINTABLE, Entry, NoWayBack, Returned, is_address
from testbank.protocols.lines import Payment

MONTH, YEAR = "Ecom_Payment_Card_ExpDate_Month", "Ecom_Payment_Card_ExpDate_Year"
MODELS = ("3d", "3d_pay")
TYPES = ("TranType", "islemtipi")
FORMS: dict[str, re.Pattern[str]] = {
    "storetype": re.compile("|".join(MODELS)),
    "amount": AMOUNT,
    "oid": ORDER_ID,
    "currency": re.compile("|".join(CURRENCIES)),
    "rnd": re.compile(r"[!-~]{1,20}"),
    "hashAlgorithm": re.compile("ver3"),
    MONTH: re.compile(r"0[1-9]|1[0-2]"),
    YEAR: re.compile(r"[0-9]{2}"),
    "cv2": CVC,
    "lang": re.compile(r"|tr|en"),
    "taksit": INSTALLMENTS,
}
OPTIONAL = ("lang", "taksit")
NEVER_REPEATED = ("pan", "cv2", "hash", "encoding")


def enter(body: bytes, payer_ip: str) -> Authentication:
    """Begin an authentication by the form of a shop of ours.

    :raises NoWayBack: the form cannot be read, or has no address for the browser.
    :raises Returned: a field or the hash is wrong.
    """
    sent = gates.sent(body)
    fields = {name: value.decode() for name, value in sent.items()}
    fail_url = fields.get("failUrl", "")
    if not is_address(fail_url):
        raise NoWayBack
    try:
        terminal = _checked(sent, fields)
    except Refused as refused:
        raise Returned(fail_url, _failure(fields, refused.code)) from None
    return gates.begin(NestpayVisit, _entry(fields, terminal, payer_ip))


def _failure(fields: Mapping[str, str], reason: str) -> dict[str, str]:
    return {
        "oid": fields.get("oid", ""),
        "clientid": "*",
        "Response": "Error",
        "ErrorCode": "HPP-1001",
        "ErrMsg": reason,
    }


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
    if not all(map(PRINTABLE.fullmatch, fields.values())) or not is_address(fields.get("okUrl")):
        raise Refused("okUrl hatali.")
    if [fields.get(name) in messages.PAYMENTS for name in TYPES].count(True) != 1:
        raise Refused("TranType hatali.")
    if not are_installments(fields.get("taksit", ""), fields["currency"]):
        raise Refused("taksit hatali.")


def _check_card(fields: Mapping[str, str]) -> None:
    if not is_valid_number(fields.get("pan", "")):
        raise Refused("pan hatali.")
    if is_expired(fields[MONTH], fields[YEAR]):
        raise Refused("Kartin suresi dolmus.")
    if gates.has_card_number(fields, {"pan", "hash"}):
        raise Refused("Kart numarasi yalniz pan alaninda olabilir.")


def _entry(fields: Mapping[str, str], terminal: NestpayTerminal, payer_ip: str) -> Entry:
    number = fields["pan"]
    payment = Payment(
        client_id=terminal.client_id,
        order_id=fields["oid"],
        amount=messages.minor(fields["amount"]),
        currency=CURRENCIES[fields["currency"]],
        installments=int(fields.get("taksit") or 1),
        capture="Auth" in [fields.get(name) for name in TYPES],
    )
    return Entry(
        payment=payment,
        shop_name=terminal.name,
        number=number,
        model=fields["storetype"],
        urls=(fields["okUrl"], fields["failUrl"]),
        payer_ip=payer_ip,
        masked=f"{number[:4]} {number[4:6]}** **** {number[-4:]}",
        echoed={name: text for name, text in fields.items() if name not in NEVER_REPEATED},
    )
