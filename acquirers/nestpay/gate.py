"""The gate of 3-D Secure: the form that a payer's browser posts, and the one that it brings back.

The browser could have written what it brings. Only what the hash covers counts, and it covers
values without names, so that the values that are used have exact forms.
"""

import re
import secrets
from collections.abc import Mapping

from acquirers import messages, returned_forms
from acquirers.gateway import AuthenticationRequest, Order
from acquirers.nestpay import hashes
from acquirers.nestpay.access import OURS, Access
from acquirers.three_d_secure import (
    ATTEMPTED,
    FULL,
    AskTheBank,
    Authenticated,
    AuthenticationProof,
    Forged,
    NotAuthenticated,
    Return,
)

PROOF = {
    "md": re.compile(r"[!-~]{1,512}"),
    "xid": re.compile(r"[!-~]{1,64}"),
    "eci": re.compile(r"[0-9]{1,2}"),
    "cavv": re.compile(r"[0-9A-Za-z+/=_-]{1,64}"),
}


def form(request: AuthenticationRequest, access: Access) -> dict[str, str]:
    """Return the fields for the gate, with the card.

    There is no `callbackUrl`: with it the bank posts twice, and uses the authentication up.

    :raises wire.NotSent: the card does not open, or the bank has no such currency.
    """
    order, card = request.order, messages.revealed(request.sealed)
    month, year = messages.expiry(card)
    fields = {
        "clientid": access.client_id,
        "storetype": access.model,
        "amount": messages.written(order.amount),
        "oid": order.reference,
        # The one or the other proves nothing.
        "okUrl": request.callback_url,
        "failUrl": request.callback_url,
        "rnd": secrets.token_hex(10),
        "lang": messages.language(),
        "currency": messages.numeric(order.currency),
        "taksit": messages.installments(order.installments),
        "TranType": "Auth" if request.capture else "PreAuth",
        "hashAlgorithm": hashes.VERSION,
        "pan": card.number,
        "Ecom_Payment_Card_ExpDate_Month": month,
        "Ecom_Payment_Card_ExpDate_Year": year,
        "cv2": request.cvc or "",
    }
    return {**fields, "hash": hashes.of(fields, access.store_key)}


def read(order: Order, raw: bytes, content_type: str, access: Access) -> Return:
    """Verify and read the body that the browser posted.

    :raises Forged: it is not the bank's answer about this order.
    """
    fields = returned_forms.read(raw, content_type, encoding=hashes.BYTES)
    returned_forms.require_plain_names(fields)
    if fields.get("oid", order.reference) != order.reference:
        raise Forged("The answer is about another order.")
    if "mdStatus" not in fields:
        # Unsigned, or refused before the issuer was asked: it can end the try, and no more.
        return NotAuthenticated() if access.model == OURS else AskTheBank()
    _require_signed(fields, order, access)
    if fields.get("storetype") != OURS:
        return AskTheBank()  # The bank may have charged by itself.
    return _authentication(fields, access)


def _require_signed(fields: Mapping[str, str], order: Order, access: Access) -> None:
    """:raises Forged: the hash is not the bank's, or it is about other money."""
    if fields.get("hashAlgorithm") != hashes.VERSION:
        raise Forged("It is signed in another way.")
    if not hashes.is_right(fields, fields.get("HASH", ""), access.store_key):
        raise Forged("The hash is not the bank's.")
    expected = {
        "oid": order.reference,
        "clientid": access.client_id,
        "amount": messages.written(order.amount),
        "currency": messages.NUMERIC.get(order.currency),
    }
    if any(fields.get(name) != value for name, value in expected.items()):
        raise Forged("The answer is about another payment.")


def _authentication(fields: Mapping[str, str], access: Access) -> Return:
    md_status = fields["mdStatus"]
    is_attempted = md_status in ATTEMPTED and access.accepts_attempted
    if md_status != FULL and not is_attempted:
        return NotAuthenticated(md_status if len(md_status) == 1 else None)
    told = {name: fields.get(name, "") for name in PROOF}
    if not all(PROOF[name].fullmatch(value) for name, value in told.items()):
        return NotAuthenticated(md_status)  # Without all of it the bank takes no payment.
    return Authenticated(
        md_status=md_status,
        eci=told["eci"],
        proof=AuthenticationProof(told),
        transaction_id=told["xid"],
        has_proof=True,
    )
