"""Labels of events that wait for an endpoint, and of the day on which the first is given up."""

from typing import Any

from django.utils.dateformat import format as written_date
from django.utils.translation import gettext, ngettext

from core import local_days
from merchants.models import Merchant
from webhooks.health import Waiting


def waiting(found: Waiting, merchant: Merchant) -> str:
    """Return how many events wait, and when the first is given up; empty if none does."""
    if found.is_capped:
        return gettext("more than 10,000 events wait")
    if not found.number:
        return ""
    if found.ends_at is None:
        words: Any = ngettext("%(count)s event waits", "%(count)s events wait", found.number)
        return str(words % {"count": found.number})
    words = ngettext(
        "%(count)s event waits, and is given up on %(day)s",
        "%(count)s events wait, the first is given up on %(day)s",
        found.number,
    )
    day = written_date(local_days.shown(found.ends_at, merchant.timezone), "l j F")
    return str(words % {"count": found.number, "day": day})
