"""Rows that name a key which the key ring does not hold: no process can have made them."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain

from django.conf import settings
from django.db.models import BinaryField, Count, Func, Q
from django.utils import timezone

from api.idempotency import fingerprint as of_requests
from audit.findings import Findings
from core import clock
from core.keyring import ring
from core.keyring.purposes import CODE_BYTES, key_of_fingerprint, key_of_mark
from merchants import invitations, second_factors, sessions
from merchants.models import ApiKey, IdempotencyKey, Invitation, OperatorInvitation
from payments.intents.models import Attempt
from payments.risk import fingerprints
from payments.risk.models import ListEntry
from vault import sealed_rows
from vault.models import SealedCard

# A row or rows, the name of the key that they were made with, and how many they are.
Named = tuple[str, str, int]


class _Mark(Func):
    """The bytes in front of a code, by which it names its key."""

    template = (
        "substring(%(expressions)s FROM 1 FOR greatest(octet_length(%(expressions)s) - "
        f"{CODE_BYTES}, 0))"
    )
    output_field = BinaryField()


def check() -> Findings:
    """Compare the keys that rows were made with with those that the key ring holds.

    Of rows that still count: API keys and links that work, list entries that hold, cards that may
    be charged, attempts that rules may count, requests that may be repeated, and all that is
    sealed. The audit log and the digests of days have a command of their own (`verify_audit_log`).
    """
    found, held = Findings("hashes and seals are of keys that the key ring holds"), ring().held
    for named, key, count in chain(*(rows() for rows in NAMED)):
        found.looked_at += count
        if key not in held:
            found.differences.append(f"{named} is made with {key}, which the key ring lacks")
    for named, is_open in chain(*(rows() for rows in UNNAMED)):
        found.looked_at += 1
        if not is_open:
            found.differences.append(f"{named} opens by no key of the key ring")
    return found


# --- Rows that name their key -----------------------------------------------------------------


def _of_sealed() -> Iterator[Named]:
    for column in sealed_rows.columns():
        for key, count in column.counts().items():
            some = column.rows_under(key).order_by("pk").values_list("pk", flat=True)
            first = "" if key in ring().held else f", {some[0]} the first"
            yield f"{column.label} ({count} rows{first})", key, count


def _of_cards() -> Iterator[Named]:
    cards = SealedCard.objects.filter(sealed__isnull=False)
    for token, known in cards.values_list("token", "fingerprint").iterator():
        yield f"card {token}", key_of_fingerprint(fingerprints.CARD, known), 1


def _of_invitations() -> Iterator[Named]:
    for rows in (Invitation.objects, OperatorInvitation.objects):
        opens = rows.filter(accepted_at=None, withdrawn_at=None, expires_at__gt=timezone.now())
        for offer in opens:
            mark = bytes(offer.token_hash)[:-CODE_BYTES]
            yield f"invitation {offer.id}", key_of_mark(invitations.PURPOSE, mark), 1


def _of_requests() -> Iterator[Named]:
    hours = timedelta(hours=settings.IDEMPOTENCY_KEY_HOURS)
    kept = IdempotencyKey.objects.filter(created_at__gt=timezone.now() - hours)
    marks = kept.order_by().annotate(mark=_Mark("fingerprint")).values_list("mark")
    for mark, count in marks.annotate(count=Count("pk")):
        key = key_of_mark(of_requests.PURPOSE, bytes(mark))
        yield f"Idempotency-Key ({count} requests)", key, count


def _of_api_keys() -> Iterator[Named]:
    is_live = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    for key in ApiKey.objects.filter(is_live, revoked_at=None).only("id", "hashed_with"):
        yield f"API key {key.id}", key.hashed_with, 1


def _of_entries() -> Iterator[Named]:
    holds = Q(expires_at=None) | Q(expires_at__gt=clock.now())
    for entry in ListEntry.objects.filter(holds, kind__in=fingerprints.OF_KIND):
        purpose = fingerprints.OF_KIND[entry.kind]
        yield f"list entry {entry.pk}", key_of_fingerprint(purpose, entry.value), 1


def _of_attempts() -> Iterator[Named]:
    columns = (fingerprints.CARD, fingerprints.EMAIL, fingerprints.NETWORK)
    since = clock.now() - fingerprints.WINDOW_MAX
    rows = Attempt.objects.filter(created_at__gt=since, is_counted=True)
    for attempt_id, *known in rows.values_list("id", *columns).iterator():
        for purpose, text in zip(columns, known, strict=True):
            if text is not None:
                yield f"attempt {attempt_id}", key_of_fingerprint(purpose, text), 1


# --- Rows whose keys are tried ----------------------------------------------------------------


def _of_sessions() -> Iterator[tuple[str, bool]]:
    for name, is_open in sessions.readable():
        yield f"session {name}", is_open


def _of_second_factors() -> Iterator[tuple[str, bool]]:
    for number, is_open in second_factors.readable():
        yield f"second factor {number}", is_open


NAMED = (
    _of_sealed, _of_cards, _of_invitations, _of_requests, _of_api_keys, _of_entries, _of_attempts,
)  # fmt: skip
UNNAMED = (_of_sessions, _of_second_factors)
