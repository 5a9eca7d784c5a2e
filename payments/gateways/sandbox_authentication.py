"""The test bank's 3-D Secure: its challenge, and its answer that a stranger's browser brings."""

import hmac
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from payments.gateways.base import Authentication, Challenge, Forged

SIGNED = (
    "amount", "cavv", "currency", "eci", "issued_at", "md_status", "reference", "transaction_id",
)  # fmt: skip
AMOUNT = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)


def challenge(told: Any, *, reference: str) -> Challenge | None:
    """Read the bank's answer to a beginning; None for anything but a challenge to this payment."""
    try:
        if told["reference"] != reference or told["result"] != "challenge":
            return None
        facts = [told[name] for name in ("transaction_id", "acs_url", "version")]
    except (KeyError, TypeError):
        return None
    return Challenge(*facts) if all(isinstance(fact, str) for fact in facts) else None


def verified(fields: Mapping[str, str], *, key: str) -> Authentication:
    """Read the bank's answer after checking that it is the bank's, exact and whole.

    :raises Forged: it is not.
    """
    if fields.keys() != {*SIGNED, "signature"}:
        raise Forged("The names are not the bank's.")
    expected = hmac.new(key.encode(), _signed_text(fields), "sha256").hexdigest()
    if not hmac.compare_digest(expected.encode(), fields["signature"].encode()):
        raise Forged("The signature is not the bank's.")
    if not AMOUNT.fullmatch(fields["amount"]):
        raise Forged("The amount is none.")
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
