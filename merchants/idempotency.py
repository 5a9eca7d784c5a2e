"""`Idempotency-Key`: one key, one effect, one answer (contract 6)."""

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from core import context
from core.detection import contains_card_number
from core.errors import DomainError
from core.keyring import ring
from core.rest.parsers import CardInput
from merchants.models import IdempotencyKey, Merchant

MAX_LENGTH = 255
# Without waiting for the disk: an answer lost in a crash can be rendered again from the payment.
SAVE_ANSWER = """
    WITH quiet AS (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE merchants_idempotencykey SET response_status = %s, sealed_response = %s
    FROM quiet WHERE merchant_id = %s AND key = %s
"""


class IdempotencyKeyInvalid(DomainError):
    code = "idempotency_key_invalid"
    message = "An Idempotency-Key has 1 to 255 printable ASCII characters and is no card number."
    param = "Idempotency-Key"


class IdempotencyKeyReused(DomainError):
    code = "idempotency_key_reused"
    message = "The Idempotency-Key was used for another request."


class IdempotencyKeyInUse(DomainError):
    code = "idempotency_key_in_use"
    http_status = 409
    retry_after_seconds = 1
    message = "A request with this Idempotency-Key is still under way."


class Replayed(Exception):
    """The first request's answer, instead of a second effect."""

    def __init__(self, row: IdempotencyKey) -> None:
        self.status: int = row.response_status or 200
        self.body = ring().open(bytes(row.sealed_response or b""), context=_seal_context(row))
        self.headers = {"Idempotent-Replayed": "true", "Original-Request": row.request_id}
        super().__init__("replayed")


@dataclass(slots=True)
class Claim:
    """A request's hold on its key; `taken` once a row says so."""

    merchant_id: str
    key: str
    fingerprint: bytes
    taken: bool = False


def begin(merchant: Merchant, *, key: str | None, method_and_path: str, body: Any) -> None:
    """Look the key up before anything happens.

    :raises Replayed: the request was answered before.
    :raises IdempotencyKeyInvalid: not 1–255 printable ASCII, or a card number.
    :raises IdempotencyKeyReused: the key belongs to another request.
    :raises IdempotencyKeyInUse: the first request has no answer yet.
    """
    if key is None:
        return
    _validate(key)
    claim = Claim(merchant.id, key, _fingerprint(method_and_path, body))
    row = _row(claim).first()
    if row is not None:
        _answer_again(row, claim)
    if work := context.current():
        work.idempotency_claim = claim


def take() -> None:
    """Claim the request's key, in the first transaction of the use case.

    The claim commits with the work it stands for, or not at all: a refusal rolls it
    back and leaves the key free. Does nothing for a request without a key.

    :raises IdempotencyKeyInUse: another request claimed it a moment ago.
    """
    claim = _current_claim()
    if claim is None or claim.taken:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO merchants_idempotencykey"
            " (merchant_id, key, fingerprint, request_id, lease_until, is_settled, created_at)"
            " VALUES (%s, %s, %s, %s, %s, false, %s) ON CONFLICT DO NOTHING",
            [
                claim.merchant_id,
                claim.key,
                claim.fingerprint,
                context.request_id(),
                timezone.now(),
                timezone.now(),
            ],
        )
        if cursor.rowcount == 0:
            raise IdempotencyKeyInUse
    claim.taken = True


def save_answer(status: int, body: bytes) -> None:
    """Keep the answer of a request that took its claim; sealed, for it may hold people's data.

    :raises RuntimeError: a use case with a key forgot to `take` it.
    """
    claim = _current_claim()
    if claim is None:
        return
    if not claim.taken:
        raise RuntimeError("this POST answered without claiming its Idempotency-Key")
    sealed = ring().seal(body, context=_seal_context(claim))
    with connection.cursor() as cursor:
        cursor.execute(SAVE_ANSWER, [status, sealed, claim.merchant_id, claim.key])


def save_refusal(status: int, body: bytes) -> None:
    """Keep a refusal that a use case gave after its `take`, which was rolled back with it.

    Refused before the claim: the key stays free. Claimed by another request since
    then: that one's answer counts.
    """
    claim = _current_claim()
    if claim is None or not claim.taken:
        return
    claim.taken = False
    with suppress(IdempotencyKeyInUse), transaction.atomic():
        take()
        save_answer(status, body)


def forget_old() -> int:
    """Delete keys older than 72 hours (real time) and return how many."""
    before = timezone.now() - timedelta(hours=settings.IDEMPOTENCY_KEY_HOURS)
    return IdempotencyKey.objects.filter(created_at__lt=before).delete()[0]


def _current_claim() -> Claim | None:
    work = context.current()
    return work.idempotency_claim if work else None


def _row(claim: Claim) -> Any:
    return IdempotencyKey.objects.filter(merchant_id=claim.merchant_id, key=claim.key)


def _answer_again(row: IdempotencyKey, claim: Claim) -> None:
    if bytes(row.fingerprint) != claim.fingerprint:
        raise IdempotencyKeyReused
    if row.response_status is None:
        raise IdempotencyKeyInUse
    raise Replayed(row)


def _validate(key: str) -> None:
    printable = key.isascii() and key.isprintable() and 1 <= len(key) <= MAX_LENGTH
    if not printable or contains_card_number(key):
        raise IdempotencyKeyInvalid


def _fingerprint(method_and_path: str, body: Any) -> bytes:
    # Keyed: a plain hash of a body with a card number in it can be tried out.
    canonical = json.dumps([method_and_path, body], sort_keys=True, default=_card_for_fingerprint)
    return ring().mac("idempotency", canonical.encode())


def _card_for_fingerprint(card: Any) -> dict[str, Any]:
    if not isinstance(card, CardInput):
        raise TypeError("only a card has no JSON form here")
    number = json.dumps(card.fields.get("number"))
    shown = {name: value for name, value in card.fields.items() if name != "cvc"}
    return {**shown, "number": ring().mac("card_fingerprint", number.encode()).hex()}


def _seal_context(row: IdempotencyKey | Claim) -> str:
    return IdempotencyKey(merchant_id=row.merchant_id, key=row.key).seal_context
