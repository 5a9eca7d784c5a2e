"""3-D Secure at the issuer's side: begun by the service, decided by the cardholder, signed."""

import base64
import hashlib
import hmac
import secrets
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import transaction

from core import cards, clock, ids
from core.detection import mask_card_numbers
from testbank import behaviours
from testbank.models import Authentication
from testbank.orders import AuthenticationOrder, AuthorizationOrder
from testbank.router import BANK
from testbank.states import AuthenticationState, CardholderChoice

CONSENTS = (CardholderChoice.APPROVE, CardholderChoice.SILENT)
# 20 bytes are the 28 characters of base64 that every scheme's CAVV has.
CAVV_BYTES = 20


@transaction.atomic(using=BANK, durable=True)
def begin(order: AuthenticationOrder) -> Authentication:
    """Open one authentication per reference; a reference asked again gets the first one."""
    return Authentication.objects.get_or_create(reference=order.reference, defaults=_entry(order))[
        0
    ]


def find(transaction_id: str) -> Authentication | None:
    """Return the authentication that a payer may see; None where none was started."""
    started = Authentication.objects.exclude(state=AuthenticationState.CANNOT_START)
    return started.filter(transaction_id=transaction_id).first()


@transaction.atomic(using=BANK, durable=True)
def decide(authentication: Authentication, decision: CardholderChoice) -> Authentication:
    """Take the cardholder's decision. The first one counts, later ones change nothing."""
    row = Authentication.objects.select_for_update().get(pk=authentication.pk)
    if row.state == AuthenticationState.CHALLENGED:
        _decide(row, decision)
    return row


def proven(order: AuthorizationOrder) -> Authentication | None:
    """Return the authentication that an order's proof is of; None if it proves nothing.

    It is good for its own reference, payment and card, and for nothing else.
    """
    if order.proof is None:
        return None
    return Authentication.objects.filter(
        reference=order.reference,
        transaction_id=order.proof.transaction_id,
        eci=order.proof.eci,
        cavv=order.proof.cavv,
        merchant=order.merchant,
        amount=order.amount,
        currency=order.currency,
        installments=order.installments,
        behaviour=behaviours.of(order.card_number).name,
        last4=order.card_number[-4:],
        state=AuthenticationState.AUTHENTICATED,
    ).first()


def answer(authentication: Authentication) -> dict[str, str]:
    """Return the signed answer to a decided authentication, as it was given first."""
    return {**_facts(authentication), "signature": authentication.signature}


def _entry(order: AuthenticationOrder) -> dict[str, Any]:
    behaviour = behaviours.of(order.card_number)
    can_start = behaviour.can_authenticate
    return {
        "transaction_id": ids.new("3ds"),
        "merchant": order.merchant,
        # The book keeps no card number, whatever a merchant is called.
        "merchant_name": mask_card_numbers(order.merchant_name),
        "amount": order.amount,
        "currency": order.currency,
        "installments": order.installments,
        "brand": cards.brand_of(order.card_number) or "",
        "last4": order.card_number[-4:],
        "behaviour": behaviour.name,
        "callback_url": order.callback_url,
        "state": AuthenticationState.CHALLENGED if can_start else AuthenticationState.CANNOT_START,
        "created_at": clock.now(),
    }


def _decide(row: Authentication, decision: CardholderChoice) -> None:
    fails = behaviours.BY_NAME[row.behaviour].fails_authentication
    is_authenticated = decision in CONSENTS and not fails
    row.state = (
        AuthenticationState.AUTHENTICATED
        if is_authenticated
        else AuthenticationState.NOT_AUTHENTICATED
    )
    row.decision = decision
    row.eci = _eci(row.brand, is_authenticated)
    row.cavv = (
        base64.b64encode(secrets.token_bytes(CAVV_BYTES)).decode() if is_authenticated else ""
    )
    row.decided_at = clock.now()
    row.signature = _signature(_facts(row))
    row.save()


def _eci(brand: str, is_authenticated: bool) -> str:
    """Return the scheme's indicator: Mastercard counts otherwise than everybody else."""
    if brand == "mastercard":
        return "02" if is_authenticated else "00"
    return "05" if is_authenticated else "07"


def _facts(row: Authentication) -> dict[str, str]:
    assert row.decided_at is not None
    is_authenticated = row.state == AuthenticationState.AUTHENTICATED
    return {
        "transaction_id": row.transaction_id,
        "reference": row.reference,
        "amount": str(row.amount),
        "currency": row.currency,
        "md_status": "1" if is_authenticated else "0",
        "eci": row.eci,
        "cavv": row.cavv,
        "issued_at": str(clock.unix(row.decided_at)),
    }


def _signature(fields: dict[str, str]) -> str:
    """Return the HMAC-SHA256 of the fields, in lowercase hex.

    Sorted by name, one `name=value` a line, values percent-encoded: so no value can
    read as two fields.
    """
    lines = [f"{name}={quote(fields[name], safe='')}\n" for name in sorted(fields)]
    key = settings.TESTBANK_SIGNING_KEY
    assert key is not None  # Only a live installation has none, and it opens no test bank.
    return hmac.new(key.encode(), "".join(lines).encode(), hashlib.sha256).hexdigest()
