"""The 3-D gate: the payer's browser posts the card here, and is sent to the page that asks."""

import re
from collections.abc import Mapping
from secrets import compare_digest

from testbank.garanti import codes, hashes, messages, proofs
from testbank.garanti.messages import AMOUNT, ORDER_ID, Refused
from testbank.garanti.terminals import TERMINALS, GarantiTerminal
from testbank.models import Authentication, GarantiVisit
from testbank.protocols import fields as forms
from testbank.protocols import gates
from testbank.protocols.gates import PRINTABLE, Entry, NoWayBack, Returned, is_address
from testbank.protocols.lines import Payment
from testbank.states import TransactionKind

LEVELS = ("3D", "3D_PAY")
SIGNED = (
    "terminalid", "orderid", "txnamount", "txncurrencycode", "successurl", "errorurl", "txntype",
    "txninstallmentcount",
)  # fmt: skip
FORMS: dict[str, re.Pattern[str]] = {
    "apiversion": re.compile("512"),
    "secure3dsecuritylevel": re.compile("|".join(LEVELS)),
    "txntype": re.compile("|".join(messages.PAYMENTS)),
    "txnamount": AMOUNT,
    "txncurrencycode": re.compile("|".join(forms.CURRENCIES)),
    "txninstallmentcount": forms.INSTALLMENTS,
    "orderid": ORDER_ID,
    "lang": re.compile(r"|tr|en"),
}
OPTIONAL = ("lang",)
NEVER_REPEATED = ("cardnumber", "cardcvv2", "secure3dhash")
# The gate's own failure, which comes back without a signature.
SYSTEM_ERROR = "7"
WORDS = {
    codes.WRONG_PASSWORD: "Guvenlik Kodu hatali",
    codes.UNKNOWN_TERMINAL: "Terminal bulunamadi",
}


def enter(body: bytes, payer_ip: str) -> Authentication:
    """Begin an authentication by the form of a shop of ours.

    :raises NoWayBack: the form cannot be read, or has no address for the browser.
    :raises Returned: a field or the hash is wrong.
    """
    sent = {name: value.decode() for name, value in gates.sent(body).items()}
    error_url = sent.get("errorurl", "")
    if not is_address(error_url):
        raise NoWayBack
    try:
        terminal = _checked(sent)
    except Refused as refused:
        raise Returned(error_url, _failure(sent, refused.code)) from None
    return gates.begin(GarantiVisit, _entry(sent, terminal, payer_ip))


def _failure(sent: Mapping[str, str], code: str) -> dict[str, str]:
    empty = ("authcode", "procreturncode", "response", "cavv", "eci", "md", "xid")
    return {
        "oid": sent.get("orderid", ""),
        "orderid": sent.get("orderid", ""),
        "clientid": sent.get("terminalid", ""),
        "mdstatus": SYSTEM_ERROR,
        "mderrormessage": WORDS.get(code, f"Sistem hatasi {code}"),
        **dict.fromkeys(empty, ""),
    }


def _checked(sent: Mapping[str, str]) -> GarantiTerminal:
    """Return the terminal that a form is of.

    :raises Refused: a field or the hash is wrong.
    """
    terminal = TERMINALS.get(sent.get("terminalid", ""))
    if terminal is None:
        raise Refused(codes.UNKNOWN_TERMINAL)
    security = hashes.security(terminal.password, terminal.terminal_id)
    signed = [sent.get(name, "") for name in SIGNED]
    expected = hashes.hashed(*signed, terminal.store_key, security)
    if not compare_digest(expected.encode(), sent.get("secure3dhash", "").encode()):
        raise Refused(codes.WRONG_PASSWORD)
    for name, form in FORMS.items():
        if not form.fullmatch(sent.get(name, "" if name in OPTIONAL else "?")):
            raise Refused(codes.WRONG_FORM)
    _check_shop(sent, terminal)
    _check_card(sent)
    return terminal


def _check_shop(sent: Mapping[str, str], terminal: GarantiTerminal) -> None:
    own = {
        "mode": terminal.mode,
        "terminalprovuserid": terminal.user,
        "terminaluserid": terminal.user,
        "terminalmerchantid": terminal.merchant_id,
    }
    is_own = all(sent.get(name) == text for name, text in own.items())
    are_printable = all(map(PRINTABLE.fullmatch, sent.values()))
    if not is_own or not are_printable or not is_address(sent.get("successurl")):
        raise Refused(codes.WRONG_FORM)
    if not forms.is_address(sent.get("customeripaddress", "")):
        raise Refused(codes.MISSING)
    if not forms.are_installments(sent["txninstallmentcount"], sent["txncurrencycode"]):
        raise Refused(codes.WRONG_INSTALLMENTS)


def _check_card(sent: Mapping[str, str]) -> None:
    month, year = sent.get("cardexpiredatemonth", ""), sent.get("cardexpiredateyear", "")
    # Each is of two digits: together they could be so, and one of them not.
    if len(month) != len(year):
        raise Refused(codes.WRONG_EXPIRY)
    messages.check_card(sent.get("cardnumber", ""), month + year, sent.get("cardcvv2", ""))
    if gates.has_card_number(sent, {"cardnumber", "secure3dhash"}):
        raise Refused(codes.WRONG_NUMBER)


def _entry(sent: Mapping[str, str], terminal: GarantiTerminal, payer_ip: str) -> Entry:
    number = sent["cardnumber"]
    payment = Payment(
        client_id=terminal.terminal_id,
        order_id=sent["orderid"],
        amount=int(sent["txnamount"]),
        currency=forms.CURRENCIES[sent["txncurrencycode"]],
        installments=int(sent["txninstallmentcount"] or 1),
        capture=sent["txntype"] == TransactionKind.SALES,
    )
    return Entry(
        payment=payment,
        shop_name=terminal.name,
        number=number,
        model=sent["secure3dsecuritylevel"],
        urls=(sent["successurl"], sent["errorurl"]),
        payer_ip=payer_ip,
        masked=proofs.masked(number),
        echoed={name: text for name, text in sent.items() if name not in NEVER_REPEATED},
    )
