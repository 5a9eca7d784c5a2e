"""The test bank's answer about an authentication, brought by a browser that could forge it."""

import hmac
import re
from collections.abc import Mapping
from urllib.parse import quote

from acquirers.gateway import Authentication, Forged

SIGNED = (
    "amount", "cavv", "currency", "eci", "issued_at", "md_status", "reference", "transaction_id",
)  # fmt: skip
FORMS = {
    "amount": re.compile(r"[1-9][0-9]{0,14}"),
    "md_status": re.compile(r"[0-9]"),
    "eci": re.compile(r"[0-9]{2}"),
    "cavv": re.compile(r"[0-9A-Za-z+/=]{0,64}"),
}


def verified(fields: Mapping[str, str], *, key: str) -> Authentication:
    """Read the bank's answer after checking that it is the bank's, exact and whole.

    :raises Forged: names, signature or values are not the bank's.
    """
    if fields.keys() != {*SIGNED, "signature"}:
        raise Forged("The names are not the bank's.")
    expected = hmac.new(key.encode(), _signed_text(fields), "sha256").hexdigest()
    if not hmac.compare_digest(expected.encode(), fields["signature"].encode()):
        raise Forged("The signature is not the bank's.")
    if not all(form.fullmatch(fields[name]) for name, form in FORMS.items()):
        raise Forged("A value has another form than the bank's.")
    return Authentication(
        reference=fields["reference"],
        transaction_id=fields["transaction_id"],
        amount=int(fields["amount"]),
        currency=fields["currency"],
        md_status=fields["md_status"],
        eci=fields["eci"],
        cavv=fields["cavv"],
    )


def _signed_text(fields: Mapping[str, str]) -> bytes:
    return "".join(f"{name}={quote(fields[name], safe='')}\n" for name in SIGNED).encode()
