"""Answers: what a claim's request answered, and the recovery point before it."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from api.idempotency import kept
from api.idempotency.claims import OF_CLAIM, Claim, current, earlier, names, row_of, take
from api.idempotency.kept import Replayed
from api.idempotency.refusals import IdempotencyKeyInUse
from core import context, prepared
from merchants.models import IdempotencyKey

# Without waiting for the disk: an answer lost in a crash can be rendered again from the payment.
SAVE_ANSWER = """
    WITH quiet AS (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE merchants_idempotencykey
    SET response_status = %(status)s::smallint, sealed_response = %(sealed)s::bytea,
        answer_until = %(until)s::timestamptz, is_finished = true
    FROM quiet WHERE merchant_id = %(merchant)s::text AND key = %(key)s::text
        AND response_status IS NULL
"""
FINISH = f"UPDATE merchants_idempotencykey SET is_finished = true WHERE {OF_CLAIM}"  # noqa: S608
# Within the transaction that ends the work, which waits for the disk anyway.
FINISH_ANSWERED = f"""
    UPDATE merchants_idempotencykey
    SET response_status = 200, sealed_response = %(sealed)s::bytea, is_finished = true
    WHERE {OF_CLAIM} AND response_status IS NULL
"""  # noqa: S608


def finish() -> None:
    """Write the recovery point, in the use case's last transaction: only the answer is missing."""
    claim = current()
    if claim is not None and claim.taken:
        prepared.run(FINISH, names(claim))


def answer(shown: dict[str, Any]) -> None:
    """Write recovery point and answer, in the use case's last transaction: they stand or fall.

    Of a request whose answer shows more than its object, or another one, only the recovery point.

    :param shown: the object that the request is about, as the answer shows it.
    """
    claim = current()
    if claim is None or not claim.taken:
        return
    if not claim.answer_is_object or shown["id"] != claim.object_id:
        finish()
        return
    body = orjson.dumps(shown)
    sealed = kept.sealed(body, claim)
    is_first = prepared.run(FINISH_ANSWERED, {**names(claim), "sealed": sealed})
    claim.kept_answer = body if is_first else None


def kept_answer() -> bytes | None:
    """Return the answer that the current request has stored with its work, None if it has not."""
    claim = current()
    return claim.kept_answer if claim else None


def take_answer_back() -> None:
    """Forget the answer that a transaction stored which was rolled back."""
    claim = current()
    if claim is not None:
        claim.kept_answer = None


def finish_for(merchant_id: str, request_id: str) -> None:
    """Write the recovery point of another request, which has died: its retry is answered at once.

    In the transaction that ends the work of that request. Does nothing for one's own request.
    """
    if request_id and request_id != context.request_id():
        rows = IdempotencyKey.objects.filter(merchant_id=merchant_id, request_id=request_id)
        rows.filter(is_finished=False).update(is_finished=True)


def save_answer(status: int, body: bytes, *, holds_secret: bool = False) -> Replayed | None:
    """Keep the answer of a request that took its claim; sealed, for it may hold people's data.

    Return the answer to give in its place, None if there is none: another request with the key may
    have been faster.

    :param holds_secret: the answer shows what is shown once; it is kept 15 minutes.
    :raises RuntimeError: a use case with a key forgot to `take` it.
    """
    claim = current()
    if claim is None:
        return None
    if not claim.taken:
        raise RuntimeError("this POST answered without claiming its Idempotency-Key")
    sealed = kept.sealed(body, claim)
    until = timezone.now() + kept.SECRET_ANSWER_LIFE if holds_secret else None
    answer = {"status": str(status), "sealed": sealed, "until": until and until.isoformat()}
    is_first = prepared.run(SAVE_ANSWER, {**answer, **names(claim)})
    return None if is_first else _kept(claim)


def save_refusal(status: int, body: bytes) -> None:
    """Keep a refusal that a use case gave after its `take`, rolled back with it or not.

    Refused before the claim: the key stays free. Claimed, or taken over, by another request since
    then: that one's answer counts. The row is known by its lease: one that was taken over keeps the
    id of the request that died.
    """
    claim = current()
    if claim is None or not claim.taken:
        return
    claim.taken = row_of(claim).filter(lease_until=claim.lease_until).exists()
    with suppress(IdempotencyKeyInUse), transaction.atomic():
        take(object_id="")
        save_answer(status, body)


def forget_old() -> int:
    """Delete keys older than 72 hours, secrets older than 15 minutes (real time).

    :returns: how many keys.
    """
    now = timezone.now()
    IdempotencyKey.objects.filter(answer_until__lt=now).update(
        sealed_response=None, answer_until=None
    )
    before = now - timedelta(hours=settings.IDEMPOTENCY_KEY_HOURS)
    return IdempotencyKey.objects.filter(created_at__lt=before).delete()[0]


def replay_headers() -> dict[str, str]:
    """Return the headers of a retry that answers for a request whose work was done before.

    Its outcome was committed, and its answer is not kept yet: `kept.Replayed` has no row to read.
    """
    found = earlier()
    return kept.headers(found.request_id) if found and found.is_finished else {}


def _kept(claim: Claim) -> Replayed | None:
    row = row_of(claim).exclude(sealed_response=None).first()
    return Replayed(row) if row else None
