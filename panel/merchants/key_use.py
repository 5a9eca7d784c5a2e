"""The use of a key in the last day: what would stop working without it."""

import re
from collections import Counter
from datetime import datetime, timedelta
from typing import NamedTuple

from core import clock
from merchants.models import ApiKey, RequestLog

LAST = timedelta(days=1)
# More requests are not looked at: an index gives the latest ones at once.
REQUESTS_MOST = 1000
OPERATIONS_MOST = 10
ID = re.compile(r"/[a-z]{2,8}_[0-9A-Za-z]{16,}", re.ASCII)


class Use(NamedTuple):
    """The requests that came with a key.

    :param is_capped: there were more.
    :param operations: method and path, with `{id}` for ids, and how often; the most used first.
    """

    requests: int
    is_capped: bool
    latest_at: datetime | None
    operations: list[tuple[str, int]]


def of_last_day(key: ApiKey) -> Use:
    """Return the use of a key in the last day, of the clock that request logs have."""
    rows = RequestLog.objects.for_merchant(key.merchant).filter(api_key=key.id)
    latest = list(
        rows.filter(created_at__gte=clock.now() - LAST)
        .order_by("-created_at", "-id")
        .values_list("method", "path", "created_at")[: REQUESTS_MOST + 1]
    )
    looked_at = latest[:REQUESTS_MOST]
    counted = Counter(f"{method} {ID.sub('/{id}', path)}" for method, path, _at in looked_at)
    return Use(
        requests=len(looked_at),
        is_capped=len(latest) > REQUESTS_MOST,
        latest_at=latest[0][2] if latest else None,
        operations=counted.most_common(OPERATIONS_MOST),
    )
