"""`Idempotency-Key`: one key, one effect, one answer (contract 6)."""

import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core import context, prepared, rows
from core.detection import contains_encoded_card_number
from core.errors import DomainError
from core.keyring import ring
from core.secrets_in_text import holds_secret_key
from merchants import fingerprint
from merchants.models import IdempotencyKey, Merchant

MAX_LENGTH = 255
ID_MAX = 40
SECRET_ANSWER_LIFE = timedelta(minutes=15)
NO_LONGER_KEPT = "The first answer held a secret and is no longer kept."
# Without waiting for the disk: an answer lost in a crash can be rendered again from the payment.
SAVE_ANSWER = """
    WITH quiet AS (SELECT set_config('synchronous_commit', 'off', true))
    UPDATE merchants_idempotencykey
    SET response_status = %(status)s::smallint, sealed_response = %(sealed)s::bytea,
        answer_until = %(until)s::timestamptz, is_finished = true
    FROM quiet WHERE merchant_id = %(merchant)s::text AND key = %(key)s::text
        AND response_status IS NULL
"""
CLAIM = """
    INSERT INTO merchants_idempotencykey
        (merchant_id, key, fingerprint, request_id, lease_until, object_id, is_finished, created_at)
    VALUES (%(merchant)s::text, %(key)s::text, %(fingerprint)s::bytea, %(request)s::text,
        %(lease_until)s::timestamptz, %(object)s::text, %(is_finished)s::boolean,
        %(now)s::timestamptz)
    ON CONFLICT DO NOTHING
"""
OF_CLAIM = "merchant_id = %(merchant)s::text AND key = %(key)s::text"
FINISH = f"UPDATE merchants_idempotencykey SET is_finished = true WHERE {OF_CLAIM}"  # noqa: S608
# Within the transaction that ends the work, which waits for the disk anyway.
FINISH_ANSWERED = f"""
    UPDATE merchants_idempotencykey
    SET response_status = 200, sealed_response = %(sealed)s::bytea, is_finished = true
    WHERE {OF_CLAIM} AND response_status IS NULL
"""  # noqa: S608


class IdempotencyKeyInvalid(DomainError):
    code = "idempotency_key_invalid"
    message = (
        "An Idempotency-Key has 1 to 255 printable ASCII characters and is no card number and no "
        "secret key."
    )
    param = "Idempotency-Key"


class IdempotencyKeyReused(DomainError):
    code = "idempotency_key_reused"
    message = "The Idempotency-Key was used for another request."


class IdempotencyKeyInUse(DomainError):
    code = "idempotency_key_in_use"
    http_status = 409
    message = "A request with this Idempotency-Key is still under way."

    def __init__(self, *, until: datetime | None = None) -> None:
        """:param until: when the lease of the first request ends (real time)."""
        super().__init__()
        rest = (until - timezone.now()).total_seconds() if until else 0
        self.retry_after_seconds = max(1, math.ceil(rest))


class Replayed(Exception):
    """The first request's answer, instead of a second effect."""

    def __init__(self, row: IdempotencyKey) -> None:
        self.status: int = row.response_status or 200
        self.body = ring().open(bytes(row.sealed_response or b""), context=_seal_context(row))
        self.headers = {"Idempotent-Replayed": "true", "Original-Request": row.request_id}
        super().__init__("replayed")


@dataclass(slots=True)
class Claim:
    """A request's hold on its key; `taken` once a row says so.

    :param answer_is_object: see `begin`.
    :param kept_answer: the answer that this request has stored with its work.
    """

    merchant_id: str
    key: str
    fingerprint: bytes
    answer_is_object: bool = False
    taken: bool = False
    object_id: str = ""
    kept_answer: bytes | None = None
    # Of the row while it is ours: a retry that takes it over writes another.
    lease_until: datetime | None = None
    earlier: "Earlier | None" = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """How far an earlier request with the key came before it died.

    :param object_id: the object it was about, written down in its first transaction.
    :param is_finished: only its answer was missing.
    :param claimed_at: in real time.
    """

    request_id: str
    object_id: str
    is_finished: bool
    claimed_at: datetime


def begin(
    merchant: Merchant,
    *,
    key: str | None,
    method_and_path: str,
    body: Any,
    answer_is_object: bool = False,
) -> None:
    """Look the key up before anything happens; take it over from a request that died.

    :param answer_is_object: the answer will be the object that the request is about, as its events
        show it, and nothing else: `answer` may store it with the work.
    :raises Replayed: the request was answered before.
    :raises IdempotencyKeyInvalid: not 1–255 printable ASCII, or it holds a card number or
        a secret key.
    :raises IdempotencyKeyReused: the key belongs to another request.
    :raises IdempotencyKeyInUse: the first request is still at work.
    """
    if key is None:
        return
    _validate(key)
    claim = Claim(merchant.id, key, fingerprint.of(method_and_path, body), answer_is_object)
    row = _found(claim)
    if row is not None:
        _require_same_request(row, claim)
        _replay(row)
        _take_over(claim)
    if work := context.current():
        work.idempotency_claim = claim


def earlier() -> Earlier | None:
    """Return the request whose work this one goes on with, None if there is none."""
    claim = _current_claim()
    return claim.earlier if claim else None


def earlier_with_secret() -> Earlier:
    """Return the same where the answer shows a secret: 15 minutes long, as if it had been kept.

    :raises IdempotencyKeyReused: the request was longer ago.
    """
    found = earlier()
    if found is None or timezone.now() - found.claimed_at > SECRET_ANSWER_LIFE:
        raise IdempotencyKeyReused(NO_LONGER_KEPT)
    return found


def take(object_id: str, *, is_finished: bool = True) -> None:
    """Claim the request's key, in the first transaction of the use case.

    The claim commits with the work it stands for, or not at all: a refusal rolls it
    back and leaves the key free. Does nothing for a request without a key.

    :param object_id: the object that the request makes or changes; a retry finds it by this.
    :param is_finished: this transaction is the only one. Otherwise `finish` says so later.
    :raises IdempotencyKeyInUse: another request claimed it a moment ago.
    """
    claim = _current_claim()
    if claim is None or claim.taken:
        return
    now = timezone.now()
    lease_until = _lease_end(now)
    values = {
        **_names(claim),
        "fingerprint": claim.fingerprint,
        "request": context.request_id(),
        "lease_until": lease_until.isoformat(),
        # An address may hold anything; what is too long to be an id is found nowhere next.
        "object": object_id[:ID_MAX],
        "is_finished": str(is_finished),
        "now": now.isoformat(),
    }
    if not prepared.run(CLAIM, values):
        raise _in_use(claim)
    claim.taken, claim.lease_until, claim.object_id = True, lease_until, object_id


def finish() -> None:
    """Write the recovery point, in the use case's last transaction: only the answer is missing."""
    claim = _current_claim()
    if claim is not None and claim.taken:
        prepared.run(FINISH, _names(claim))


def answer(shown: dict[str, Any]) -> None:
    """Write recovery point and answer, in the use case's last transaction: they stand or fall.

    Of a request whose answer shows more than its object, or another one, only the recovery point.

    :param shown: the object that the request is about, as the answer shows it.
    """
    claim = _current_claim()
    if claim is None or not claim.taken:
        return
    if not claim.answer_is_object or shown["id"] != claim.object_id:
        finish()
        return
    body = orjson.dumps(shown)
    sealed = ring().seal(body, context=_seal_context(claim))
    is_first = prepared.run(FINISH_ANSWERED, {**_names(claim), "sealed": sealed})
    claim.kept_answer = body if is_first else None


def kept_answer() -> bytes | None:
    """Return the answer that the request at hand has stored with its work, None if it has not."""
    claim = _current_claim()
    return claim.kept_answer if claim else None


def take_answer_back() -> None:
    """Forget the answer that a transaction stored which was rolled back."""
    claim = _current_claim()
    if claim is not None:
        claim.kept_answer = None


def finish_for(merchant_id: str, request_id: str) -> None:
    """Write the recovery point of another request, which has died: its retry is answered at once.

    In the transaction that ends the work of that request. Does nothing for one's own request.
    """
    if request_id and request_id != context.request_id():
        rows = IdempotencyKey.objects.filter(merchant_id=merchant_id, request_id=request_id)
        rows.filter(is_finished=False).update(is_finished=True)


def let_go() -> None:
    """End the lease of a request that failed, so that a retry need not wait for it to run out."""
    claim = _current_claim()
    if claim is not None and claim.taken:
        ours = _row(claim).filter(response_status=None, lease_until=claim.lease_until)
        ours.update(lease_until=timezone.now())


def forget() -> None:
    """Free the key of a request that wrote its claim and then did nothing."""
    claim = _current_claim()
    if claim is not None and claim.taken:
        _row(claim).filter(lease_until=claim.lease_until).delete()
        claim.taken = False


def save_answer(status: int, body: bytes, *, holds_secret: bool = False) -> bytes:
    """Keep the answer of a request that took its claim; sealed, for it may hold people's data.

    Return the answer to give: the first one kept, for a retry may have been faster.

    :param holds_secret: the answer shows what is shown once; it is kept 15 minutes.
    :raises RuntimeError: a use case with a key forgot to `take` it.
    """
    claim = _current_claim()
    if claim is None:
        return body
    if not claim.taken:
        raise RuntimeError("this POST answered without claiming its Idempotency-Key")
    sealed = ring().seal(body, context=_seal_context(claim))
    until = timezone.now() + SECRET_ANSWER_LIFE if holds_secret else None
    answer = {"status": str(status), "sealed": sealed, "until": until and until.isoformat()}
    is_first = prepared.run(SAVE_ANSWER, {**answer, **_names(claim)})
    return body if is_first else _kept(claim, otherwise=body)


def save_refusal(status: int, body: bytes) -> None:
    """Keep a refusal that a use case gave after its `take`, rolled back with it or not.

    Refused before the claim: the key stays free. Claimed by another request since
    then: that one's answer counts.
    """
    claim = _current_claim()
    if claim is None or not claim.taken:
        return
    claim.taken = _row(claim).filter(request_id=context.request_id()).exists()
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


def _in_use(claim: Claim) -> IdempotencyKeyInUse:
    row = _found(claim)
    return IdempotencyKeyInUse(until=row.lease_until if row and not row.is_finished else None)


def _current_claim() -> Claim | None:
    work = context.current()
    return work.idempotency_claim if work else None


def _row(claim: Claim) -> Any:
    return IdempotencyKey.objects.filter(merchant_id=claim.merchant_id, key=claim.key)


def _found(claim: Claim) -> IdempotencyKey | None:
    return rows.find(IdempotencyKey, OF_CLAIM, **_names(claim))


def _names(claim: Claim) -> dict[str, str]:
    return {"merchant": claim.merchant_id, "key": claim.key}


def _kept(claim: Claim, *, otherwise: bytes) -> bytes:
    row = _row(claim).exclude(sealed_response=None).first()
    return Replayed(row).body if row else otherwise


def _require_same_request(row: IdempotencyKey, claim: Claim) -> None:
    if bytes(row.fingerprint) != claim.fingerprint:
        raise IdempotencyKeyReused


def _replay(row: IdempotencyKey) -> None:
    """Raise the stored answer, if there is one."""
    if row.response_status is None:
        return
    is_over = row.answer_until is not None and row.answer_until <= timezone.now()
    if is_over or row.sealed_response is None:
        raise IdempotencyKeyReused(NO_LONGER_KEPT)
    raise Replayed(row)


@transaction.atomic(durable=True)
def _take_over(claim: Claim) -> None:
    """Make an unanswered request's work our own, one retry at a time."""
    row = _row(claim).select_for_update().first()
    if row is None:
        return  # Forgotten this moment: the key is free.
    _require_same_request(row, claim)  # Forgotten and used again: it is another request's now.
    _replay(row)
    now = timezone.now()
    if not row.is_finished and row.lease_until > now:
        raise IdempotencyKeyInUse(until=row.lease_until)
    row.lease_until = claim.lease_until = _lease_end(now)
    row.save(update_fields=["lease_until"])
    claim.taken, claim.object_id = True, row.object_id or ""
    claim.earlier = Earlier(row.request_id, row.object_id, row.is_finished, row.created_at)


def _lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.REQUEST_LEASE_SECONDS)


def _validate(key: str) -> None:
    printable = key.isascii() and key.isprintable() and 1 <= len(key) <= MAX_LENGTH
    # It is stored as it is sent, for people look requests up by it.
    if not printable or contains_encoded_card_number(key) or holds_secret_key(key):
        raise IdempotencyKeyInvalid


def _seal_context(row: IdempotencyKey | Claim) -> str:
    return IdempotencyKey(merchant_id=row.merchant_id, key=row.key).seal_context
