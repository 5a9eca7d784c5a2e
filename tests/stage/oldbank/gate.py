"""The old bank's gate for 3-D Secure: the payer's browser posts the card here, and goes back.

The gate trusts the form by a hash over named fields, and signs its own answer by a hash over the
names that the answer lists in `hashparams`.
"""

import base64
import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from core import cards
from testbank import behaviours
from tests.stage.oldbank.book import Book
from tests.stage.oldbank.messages import CURRENCIES, FORMS, minor
from tests.stage.oldbank.proofs import AUTHENTICATED, SILENT
from tests.stage.oldbank.terminals import ACCOUNTS

SIGNED_BY_SHOP = (
    "terminal", "orderid", "trantype", "amount", "currency", "installment", "callback", "rnd",
)  # fmt: skip
NAMES = {*SIGNED_BY_SHOP, "shop", "pan", "expiry", "cvc", "hash"}
CHECKED = {
    "orderid": "OrderId", "amount": "Amount", "currency": "Currency",
    "installment": "Installment", "pan": "Pan", "expiry": "Expiry", "cvc": "Cvc",
}  # fmt: skip
BUTTONS = {
    "approve": "Approve",
    "reject": "Reject",
    "silent": "Don't answer",
    "cancel": "Cancel",
}
CALLBACK = re.compile(r"https?://[!-~]{1,1900}")
ENCODING = "utf-8"
TURKISH = "iso-8859-9"


class NotOurForm(Exception):
    """The form was not made by a shop of ours; the text says why."""


@dataclass(frozen=True, slots=True)
class Posting:
    """A form that the payer's browser is told to post; values are bytes, as they are signed."""

    action: str
    fields: Mapping[str, bytes]
    encoding: str = ENCODING


def open_page(book: Book, sent: Mapping[str, str]) -> str | Posting:
    """Begin an authentication: return its page, or the way back if the card takes part in none.

    :raises NotOurForm: a field is missing or of another form, or the hash is wrong.
    """
    _check(sent)
    behaviour = behaviours.of(sent["pan"])
    if not behaviour.can_authenticate:
        # Unsigned, and without an mdstatus: the gate gave up before there was anything to sign.
        told = {"orderid": sent["orderid"], "result": "Error", "code": "G-1001"}
        return Posting(sent["callback"], {name: text.encode() for name, text in told.items()})
    md = secrets.token_hex(12).upper()
    facts = {
        **{name: sent[name] for name in SIGNED_BY_SHOP},
        "order_id": sent["orderid"],
        "minor": minor(sent["amount"]),
        "currency": CURRENCIES[sent["currency"]],
        "numeric": sent["currency"],
        "behaviour": behaviour.name,
        "brand": cards.brand_of(sent["pan"]) or "",
        "state": "asked",
        "is_used": False,
        "xid": secrets.token_hex(10).upper(),
        "eci": "",
        "cavv": "",
    }
    book.keep(md, facts)
    return _page(md, sent["shop"], sent["amount"], sent["pan"][-4:])


def decide(book: Book, md: str, pressed: str, misbehaviour: str | None) -> Posting:
    """Take the payer's decision; the first one counts.

    :raises NotOurForm: there is no such authentication, or no such button.
    """
    with book.changing():
        facts = book.kept(md)
        if facts is None or pressed not in BUTTONS:
            raise NotOurForm("unknown page")
        if facts["state"] == "asked":
            facts = _decided(facts, pressed)
            book.keep(md, facts)
    return _answer(md, facts, misbehaviour)


def hashed(values: Iterable[bytes], store_key: str) -> str:
    """Return the Base64 of the SHA-512 over the values and the store key, joined by `|`."""
    text = b"|".join([*values, store_key.encode()])
    return base64.b64encode(hashlib.sha512(text).digest()).decode()


def written(posting: Posting) -> bytes:
    """Return the page that posts the form by itself, or by its button where no script runs."""
    texts = {name: value.decode(posting.encoding) for name, value in posting.fields.items()}
    fields = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(text)}">'
        for name, text in texts.items()
    )
    form = f'<form method="post" action="{escape(posting.action)}">{fields}'
    page = f"<!doctype html><title>Bank</title>{form}<button>Back to the shop</button></form>"
    return page.encode(posting.encoding)


def _check(sent: Mapping[str, str]) -> None:
    if sent.keys() != NAMES or sent["terminal"] not in ACCOUNTS:
        raise NotOurForm("names or terminal")
    for name, element in CHECKED.items():
        _code, form = FORMS[element]
        if not form.fullmatch(sent[name]):
            raise NotOurForm(name)
    if sent["trantype"] not in ("Sale", "PreAuth") or not CALLBACK.fullmatch(sent["callback"]):
        raise NotOurForm("trantype or callback")
    values = [sent[name].encode() for name in SIGNED_BY_SHOP]
    if not secrets.compare_digest(
        hashed(values, ACCOUNTS[sent["terminal"]].store_key), sent["hash"]
    ):
        raise NotOurForm("hash")


def _page(md: str, shop: str, amount: str, last4: str) -> str:
    buttons = "".join(
        f'<button name="decision" value="{value}">{escape(label, quote=False)}</button>'
        for value, label in BUTTONS.items()
    )
    hidden = f'<input type="hidden" name="page" value="{md}">'
    told = f"<p>{escape(shop)}, {amount}, card ending in {last4}</p>"
    form = f'<form method="post" action="/gate/decision">{hidden}{buttons}</form>'
    return f"<!doctype html><title>Bank</title>{told}{form}"


def _decided(facts: dict[str, Any], pressed: str) -> dict[str, Any]:
    fails = behaviours.BY_NAME[facts["behaviour"]].fails_authentication
    is_yes = pressed in ("approve", "silent") and not fails
    yes, no = ("02", "00") if facts["brand"] == "mastercard" else ("05", "07")
    cavv = base64.b64encode(secrets.token_bytes(20)).decode() if is_yes else ""
    state = (SILENT if pressed == "silent" else AUTHENTICATED) if is_yes else "failed"
    return {**facts, "state": state, "eci": yes if is_yes else no, "cavv": cavv}


def _answer(md: str, facts: dict[str, Any], misbehaviour: str | None) -> Posting:
    is_yes = facts["state"] in (AUTHENTICATED, SILENT)
    encoding = TURKISH if misbehaviour == "turkish_letters" else ENCODING
    told = {
        "terminal": facts["terminal"],
        "orderid": facts["orderid"],
        "amount": "1.00" if misbehaviour == "changed_amount" else facts["amount"],
        "currency": facts["numeric"],
        "mdstatus": "1" if is_yes else "0",
        "md": md,
        "xid": facts["xid"],
        "eci": facts["eci"],
        "cavv": facts["cavv"],
        "issuer": "ZİRAAT BANKASI A|Ş",
        "encoding": encoding,
    }
    if misbehaviour == "no_md_status":
        del told["mdstatus"]
    fields = {name: text.encode(encoding) for name, text in told.items()}
    signed = [] if misbehaviour == "empty_hashparams" else [*fields]
    key = ACCOUNTS[facts["terminal"]].store_key
    fields["hashparams"] = ":".join(signed).encode()
    fields["hash"] = hashed([fields[name] for name in signed], key).encode()
    if misbehaviour == "wrong_hash":
        fields["hash"] = hashed([], "another key").encode()
    return Posting(facts["callback"], fields, encoding)
