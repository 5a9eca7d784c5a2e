"""Rows that name a key which the key ring does not hold: no process can have made them."""

from collections.abc import Iterator

from django.db.models import Q
from django.utils import timezone

from audit.findings import Findings
from core import clock
from core.keyring import ring
from core.keyring.purposes import key_of_fingerprint
from merchants.models import ApiKey
from payments.intents.models import Attempt
from payments.risk import fingerprints
from payments.risk.models import ListEntry


def check() -> Findings:
    """Compare the keys that rows were hashed with with those that the key ring holds.

    Of rows that still count: API keys that work, list entries that hold, and attempts that rules
    may count.
    """
    found, held = Findings("hashes are of keys that the key ring holds"), ring().held
    for named, key in (*_of_api_keys(), *_of_entries(), *_of_attempts()):
        found.looked_at += 1
        if key not in held:
            found.differences.append(f"{named} is hashed with {key}, which the key ring lacks")
    return found


def _of_api_keys() -> Iterator[tuple[str, str]]:
    is_live = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    for key in ApiKey.objects.filter(is_live, revoked_at=None).only("id", "hashed_with"):
        yield f"API key {key.id}", key.hashed_with


def _of_entries() -> Iterator[tuple[str, str]]:
    holds = Q(expires_at=None) | Q(expires_at__gt=clock.now())
    for entry in ListEntry.objects.filter(holds, kind__in=fingerprints.OF_KIND):
        purpose = fingerprints.OF_KIND[entry.kind]
        yield f"list entry {entry.pk}", key_of_fingerprint(purpose, entry.value)


def _of_attempts() -> Iterator[tuple[str, str]]:
    columns = (fingerprints.CARD, fingerprints.EMAIL, fingerprints.NETWORK)
    since = clock.now() - fingerprints.WINDOW_MAX
    rows = Attempt.objects.filter(created_at__gt=since, is_counted=True)
    for attempt_id, *known in rows.values_list("id", *columns).iterator():
        for purpose, text in zip(columns, known, strict=True):
            if text is not None:
                yield f"attempt {attempt_id}", key_of_fingerprint(purpose, text)
