"""The test bank's answer about an authentication, brought by a browser that could forge it."""

import hmac
import re
from collections.abc import Mapping
from urllib.parse import quote

from acquirers import returned_forms
from acquirers.gateway import Order
from acquirers.three_d_secure import Authenticated, AuthenticationProof, Forged

SIGNED = (
    "amount", "cavv", "currency", "eci", "issued_at", "md_status", "reference", "transaction_id",
)  # fmt: skip
FORMS = {
    "amount": re.compile(r"[1-9][0-9]{0,14}"),
    "md_status": re.compile(r"[0-9]"),
    "eci": re.compile(r"[0-9]{2}"),
    "cavv": re.compile(r"[0-9A-Za-z+/=]{0,64}"),
}
PROOF = ("transaction_id", "eci", "cavv")


def verified(raw: bytes, content_type: str, *, order: Order, key: str) -> Authenticated:
    """Read the bank's answer after checking that it is the bank's, whole, and about this order.

    :raises Forged: names, signature or values are not the bank's, or it is about another order.
    """
    fields = returned_forms.read(raw, content_type, encoding="utf-8")
    if fields.keys() != {*SIGNED, "signature"}:
        raise Forged("The names are not the bank's.")
    expected = hmac.new(key.encode(), _signed_text(fields), "sha256").hexdigest()
    if not hmac.compare_digest(expected.encode(), fields["signature"].encode()):
        raise Forged("The signature is not the bank's.")
    if not all(form.fullmatch(fields[name]) for name, form in FORMS.items()):
        raise Forged("A value has another form than the bank's.")
    _require_about(order, fields)
    return Authenticated(
        md_status=fields["md_status"],
        eci=fields["eci"],
        proof=AuthenticationProof({name: fields[name] for name in PROOF}),
        transaction_id=fields["transaction_id"],
        has_proof=bool(fields["cavv"]),
    )


def _require_about(order: Order, fields: Mapping[str, str]) -> None:
    told = (fields["reference"], int(fields["amount"]), fields["currency"])
    if told != (order.reference, order.amount, order.currency):
        raise Forged("The answer is to another payment.")


def _signed_text(fields: Mapping[str, str]) -> bytes:
    return "".join(f"{name}={quote(fields[name], safe='')}\n" for name in SIGNED).encode()
