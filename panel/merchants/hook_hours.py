"""The deliveries of a merchant's endpoints by the hour, as the overview draws them."""

from collections.abc import Sequence
from typing import NamedTuple

from django.urls import reverse

from merchants.models import Member
from webhooks import endpoints as hooks
from webhooks import health
from webhooks.health import Hour

# The newest endpoints, so many at most.
ENDPOINTS_MOST = 10


class Hours(NamedTuple):
    """An endpoint's day, by hours."""

    url: str
    page: str
    bars: Sequence[tuple[float, float, float, Hour]]
    tried: int
    succeeded: int

    @property
    def failed(self) -> int:
        return self.tried - self.succeeded

    @property
    def percent(self) -> float | None:
        return self.succeeded * 1000 // self.tried / 10 if self.tried else None


def of(member: Member) -> list[Hours]:
    """Return the hours of the newest endpoints' deliveries."""
    rows = list(hooks.of(member.merchant).order_by("-created_at", "-id")[:ENDPOINTS_MOST])
    by_endpoint = health.by_hour(rows)
    found = []
    for row in rows:
        hours = by_endpoint[row.id]
        highest = max((hour.tried for hour in hours), default=0) or 1
        bars = [
            (place * 5.0, 24 - hour.tried * 24 / highest, hour.tried * 24 / highest, hour)
            for place, hour in enumerate(hours)
        ]
        page = reverse("panel:endpoint", args=[member.merchant_id, row.id])
        tried = sum(hour.tried for hour in hours)
        found.append(Hours(row.url, page, bars, tried, sum(hour.succeeded for hour in hours)))
    return found
