"""The return from the old bank's gate, in the hands of a browser that could have written it."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping

from acquirers import returned_forms
from acquirers.gateway import Order
from acquirers.three_d_secure import (
    Authenticated,
    AuthenticationProof,
    Forged,
    NotAuthenticated,
    Return,
)

# One character a byte: the bank signs bytes, in one encoding or another.
BYTES = "latin-1"
# Nothing counts that is not signed: the answer itself names its signed fields, so that these have
# to be among them.
MUST_BE_SIGNED = {
    "terminal", "orderid", "amount", "currency", "mdstatus", "md", "xid", "eci", "cavv",
}  # fmt: skip
FORMS = {
    "mdstatus": re.compile(rb"[0-9]"),
    "md": re.compile(rb"[!-~]{1,64}"),
    "xid": re.compile(rb"[!-~]{1,64}"),
    "eci": re.compile(rb"[0-9]{2}"),
    "cavv": re.compile(rb"[0-9A-Za-z+/=]{0,64}"),
}


def read(
    order: Order, raw: bytes, content_type: str, *, signed: Mapping[str, str], store_key: str
) -> Return:
    """Verify and read the body that the browser posted; its values are bytes until then.

    :param signed: what the bank must have signed about the order, by the names of its fields.
    :raises Forged: it is not the bank's answer about this order.
    """
    posted = returned_forms.read(raw, content_type, encoding=BYTES)
    fields = {name: value.encode(BYTES) for name, value in posted.items()}
    if fields.get("orderid") != order.reference.encode():
        raise Forged("The answer is about another order.")
    if "mdstatus" not in fields:
        return NotAuthenticated()  # It is worth no more than a payer who never came back.
    _verify(fields, store_key)
    if any(fields[name] != value.encode() for name, value in signed.items()):
        raise Forged("The answer is about another payment.")
    if not all(form.fullmatch(fields[name]) for name, form in FORMS.items()):
        raise Forged("A value has another form than the bank's.")
    told = {name: fields[name].decode() for name in ("mdstatus", *FORMS)}
    return Authenticated(
        md_status=told["mdstatus"],
        eci=told["eci"],
        proof=AuthenticationProof({name: told[name] for name in ("md", "xid", "eci", "cavv")}),
        transaction_id=told["xid"],
        has_proof=bool(told["cavv"]),
    )


def hashed(values: list[bytes], store_key: str) -> bytes:
    """Return the hash that this bank makes over values, as the bytes of its Base64."""
    text = b"|".join([*values, store_key.encode()])
    return base64.b64encode(hashlib.sha512(text).digest())


def _verify(fields: Mapping[str, bytes], store_key: str) -> None:
    names = fields.get("hashparams", b"").decode(BYTES).split(":")
    if not {*names} >= MUST_BE_SIGNED or not {*names} <= fields.keys():
        raise Forged("The signature leaves fields out.")
    expected = hashed([fields[name] for name in names], store_key)
    if not hmac.compare_digest(expected, fields.get("hash", b"")):
        raise Forged("The signature is not the bank's.")
