"""Retention of kept lines: an old one is deleted, unless a case about it is open."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef

from audit.reconciliation.models import Difference, KeptLine
from core import clock

CHUNK = 5000


def forget_old() -> int:
    """Delete kept lines past their days (`DAILY_RUN_DAYS`, movable clock); return their number."""
    before = clock.now().date() - timedelta(days=settings.DAILY_RUN_DAYS)
    is_open = Difference.objects.filter(
        type=OuterRef("type"), reference=OuterRef("reference"), closed_at=None
    )
    old = KeptLine.objects.filter(~Exists(is_open), day__lt=before).order_by("day")[:CHUNK]
    forgotten, _by_model = KeptLine.objects.filter(
        pk__in=list(old.values_list("pk", flat=True))
    ).delete()
    return forgotten
