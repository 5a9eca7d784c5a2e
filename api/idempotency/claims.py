"""Claims: a request's hold on its key, from before its first effect until it is answered."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from api.idempotency import fingerprint, kept
from api.idempotency.refusals import (
    IdempotencyKeyInUse,
    IdempotencyKeyInvalid,
    IdempotencyKeyReused,
    NoLongerKept,
)
from core import context, prepared, processes, rows
from core.detection import contains_encoded_card_number
from core.secrets_in_text import holds_secret_key
from merchants.models import IdempotencyKey, Merchant

MAX_LENGTH = 255
ID_MAX = 40
CLAIM = """
    INSERT INTO merchants_idempotencykey
        (merchant_id, key, fingerprint, request_id, lease_until, process, object_id, is_finished,
        created_at)
    VALUES (%(merchant)s::text, %(key)s::text, %(fingerprint)s::bytea, %(request)s::text,
        %(lease_until)s::timestamptz, %(process)s::text, %(object)s::text,
        %(is_finished)s::boolean, %(now)s::timestamptz)
    ON CONFLICT DO NOTHING
"""
OF_CLAIM = "merchant_id = %(merchant)s::text AND key = %(key)s::text"


@dataclass(slots=True)
class Claim:
    """A request's hold on its key; `taken` once a row says so.

    :param answer_is_object: see `begin`.
    :param fingerprints: under each of the keys; a new row keeps the first.
    :param announced: see `announce`; until `take` names the object.
    :param kept_answer: the answer that this request has stored with its work.
    """

    merchant_id: str
    key: str
    fingerprints: list[bytes]
    answer_is_object: bool = False
    taken: bool = False
    announced: bool = False
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

    :param method_and_path: with the query behind it, where the answer depends on that.
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
        kept.replay(row)
        _take_over(claim)
    if work := context.current():
        work.idempotency_claim = claim


def earlier() -> Earlier | None:
    """Return the request whose work this one goes on with, None if there is none."""
    claim = current()
    return claim.earlier if claim else None


def earlier_with_secret() -> Earlier:
    """Return the same where the answer shows a secret: 15 minutes long, as if it had been kept.

    :raises IdempotencyKeyReused: the request was longer ago.
    """
    found = earlier()
    if found is None or timezone.now() - found.claimed_at > kept.SECRET_ANSWER_LIFE:
        raise NoLongerKept
    return found


def take(object_id: str, *, is_finished: bool = True) -> None:
    """Claim the request's key, in the first transaction of the use case.

    The claim commits with the work it stands for, or not at all: a refusal rolls it
    back and leaves the key free. Does nothing for a request without a key.

    :param object_id: the object that the request makes or changes; a retry finds it by this.
    :param is_finished: this transaction is the only one. Otherwise `finish` says so later.
    :raises IdempotencyKeyInUse: another request claimed it a moment ago.
    """
    claim = current()
    if claim is None or claim.taken:
        return
    if claim.announced:
        _name(claim, object_id)
    else:
        _write(claim, object_id, is_finished=is_finished)
    claim.taken, claim.object_id = True, object_id


def announce() -> None:
    """Claim the request's key before its work begins: others with the key see it under way.

    `take` names the object, in the first transaction of the work. As long as none is named nothing
    was done: a request that takes the key over later may do it. It is under way until `finish` or
    its answer, for that may hold a secret.

    :raises IdempotencyKeyInUse: another request claimed it a moment ago.
    """
    claim = current()
    if claim is not None and not claim.announced:
        _write(claim, object_id="", is_finished=False)
        claim.announced = True


def withdraw() -> None:
    """Free a key that was announced, if its work named no object or was rolled back."""
    claim = current()
    if claim is not None and claim.announced:
        row_of(claim).filter(lease_until=claim.lease_until, object_id="").delete()


def _write(claim: Claim, object_id: str, *, is_finished: bool) -> None:
    now = timezone.now()
    lease_until = _lease_end(now)
    values = {
        **names(claim),
        "fingerprint": claim.fingerprints[0],
        "request": context.request_id(),
        "lease_until": lease_until.isoformat(),
        "process": processes.own_name(),
        # An address may hold anything; what is too long to be an id is found nowhere next.
        "object": object_id[:ID_MAX],
        "is_finished": str(is_finished),
        "now": now.isoformat(),
    }
    if not prepared.run(CLAIM, values):
        raise _in_use(claim)
    claim.lease_until = lease_until


def _name(claim: Claim, object_id: str) -> None:
    """Write the object into an announced row, unless another request has taken it over."""
    rows_of_ours = row_of(claim).filter(lease_until=claim.lease_until, object_id="")
    if not rows_of_ours.update(object_id=object_id[:ID_MAX]):
        raise _in_use(claim)


def let_go() -> bool:
    """End the lease of a request that failed, so that a retry need not wait for it to run out.

    :returns: whether the request has claimed its key.
    """
    claim = current()
    if claim is None or not claim.taken:
        return False
    ours = row_of(claim).filter(response_status=None, lease_until=claim.lease_until)
    ours.update(lease_until=timezone.now())
    return True


def forget() -> None:
    """Free the key of a request that wrote its claim and then did nothing."""
    claim = current()
    if claim is not None and claim.taken:
        row_of(claim).filter(lease_until=claim.lease_until).delete()
        claim.taken = False


def current() -> Claim | None:
    """Return the claim of the current work, None if it has no key."""
    work = context.current()
    return work.idempotency_claim if work else None


def row_of(claim: Claim) -> Any:
    """Return the claim's row, as a query."""
    return IdempotencyKey.objects.filter(merchant_id=claim.merchant_id, key=claim.key)


def names(claim: Claim) -> dict[str, str]:
    """Return the values that find the claim's row (`OF_CLAIM`)."""
    return {"merchant": claim.merchant_id, "key": claim.key}


def _in_use(claim: Claim) -> IdempotencyKeyInUse:
    row = _found(claim)
    if row is None or row.is_finished:
        return IdempotencyKeyInUse(until=timezone.now())  # The key is free, or its answer is there.
    return _held(row)


def _held(row: IdempotencyKey) -> IdempotencyKeyInUse:
    """Return the refusal while another request has the lease: it may run, or has died."""
    is_late = row.lease_until - timezone.now() < _idle_part_of_lease()
    has_died = is_late or processes.has_ended(row.process)
    return IdempotencyKeyInUse(until=row.lease_until if has_died else None)


def _idle_part_of_lease() -> timedelta:
    """Return the last part of a lease: the request that took it has used up its time before."""
    seconds = settings.REQUEST_LEASE_SECONDS - context.REQUEST_BUDGET_SECONDS
    return timedelta(seconds=max(0, seconds))


def _found(claim: Claim) -> IdempotencyKey | None:
    return rows.find(IdempotencyKey, OF_CLAIM, **names(claim))


def _require_same_request(row: IdempotencyKey, claim: Claim) -> None:
    if bytes(row.fingerprint) not in claim.fingerprints:
        raise IdempotencyKeyReused


@transaction.atomic(durable=True)
def _take_over(claim: Claim) -> None:
    """Make an unanswered request's work our own, one retry at a time."""
    row = row_of(claim).select_for_update().first()
    if row is None:
        return  # Forgotten this moment: the key is free.
    _require_same_request(row, claim)  # Forgotten and used again: it is another request's now.
    kept.replay(row)
    now = timezone.now()
    if not row.is_finished and row.lease_until > now:
        raise _held(row)
    row.lease_until = claim.lease_until = _lease_end(now)
    row.process = processes.own_name()
    row.save(update_fields=["lease_until", "process"])
    kept.KEYS.count_after_commit("taken_over")
    if not row.object_id:
        claim.announced = True  # Its work was never begun, and is ours now.
        return
    claim.taken, claim.object_id = True, row.object_id
    claim.earlier = Earlier(row.request_id, row.object_id, row.is_finished, row.created_at)


def _lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.REQUEST_LEASE_SECONDS)


def _validate(key: str) -> None:
    printable = key.isascii() and key.isprintable() and 1 <= len(key) <= MAX_LENGTH
    # It is stored as it is sent, for people look requests up by it.
    if not printable or contains_encoded_card_number(key) or holds_secret_key(key):
        raise IdempotencyKeyInvalid
