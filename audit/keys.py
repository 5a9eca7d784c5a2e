"""Rows that name a key which the key ring does not hold: no process can have made them."""

from django.db.models import Q
from django.utils import timezone

from audit.findings import Findings
from core.keyring import ring
from merchants.models import ApiKey


def check() -> Findings:
    """Compare the keys that rows were hashed with with those that the key ring holds."""
    found = Findings("hashes are of keys that the key ring holds")
    is_live = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    for key in ApiKey.objects.filter(is_live, revoked_at=None).only("id", "hashed_with"):
        found.looked_at += 1
        if key.hashed_with not in ring().held:
            found.differences.append(
                f"API key {key.id} is hashed with {key.hashed_with}, which the key ring lacks"
            )
    return found
