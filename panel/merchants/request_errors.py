"""Errors: refused requests of a day or a week, grouped by code and operation."""

import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import CharField, Count, F, Func, Max, Value
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve, reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from core import clock
from core.querysets import MerchantRows
from core.rest.error_codes import meaning
from merchants.filters import ANY_ID
from merchants.models import Member, RequestLog
from panel.merchants.pages import page, show
from panel.patience import TookTooLong, limited

PERIODS = {"24h": timedelta(hours=24), "7d": timedelta(days=7)}
LABELS: dict[str, str | Promise] = {"24h": _("24 hours"), "7d": _("7 days")}
# In a path as PostgreSQL reads it: the end of one of our ids. To describe more of it takes four
# times as long, and `_operation` finds the address all the same.
AN_ID, ANY_END = "_[0-9A-Za-z]{20,}", "_"
PLACE = re.compile("<[^>]+>")
# Paths that differ by more than ids; the rarest are left out.
GROUPS_MOST = 500
NO_ADDRESS = "url_not_found"


class ErrorGroup(NamedTuple):
    """Refused requests of one code and one operation.

    :param operation: `/v1/refunds/{id}`; nothing for addresses that do not exist.
    :param url: of the list of these requests.
    """

    code: str
    method: str
    operation: str
    times: int
    last_at: datetime
    meaning: str
    url: str


@page()
def request_errors(request: HttpRequest, member: Member) -> HttpResponse:
    """Show what was refused, by code and operation (`period`: `24h` or `7d`)."""
    period = request.GET.get("period", "")
    period = period if period in PERIODS else "24h"
    shown: dict[str, Any] = {"period": period, "periods": LABELS, "docs_url": settings.DOCS_URL}
    since = clock.now() - PERIODS[period]
    rows = RequestLog.objects.for_merchant(member.merchant)
    try:
        with limited():
            refused = list(_refused(rows, since))
        shown["groups"] = _groups(refused, member, since)
        shown["total"] = sum(group.times for group in shown["groups"])
    except TookTooLong:
        shown["took_too_long"] = True
    return show(request, "panel/request_errors.html", shown)


def _refused(rows: MerchantRows, since: datetime) -> Any:
    without_ids = Func(
        F("path"), Value(AN_ID), Value(ANY_END), Value("g"),
        function="regexp_replace", output_field=CharField(),
    )  # fmt: skip
    refused = rows.filter(status__gte=400, created_at__gte=since)
    grouped = refused.annotate(place=without_ids).values("error_code", "method", "place")
    counted = grouped.annotate(times=Count("pk"), last_at=Max("created_at"))
    return counted.order_by("-times", "error_code", "method", "place")[:GROUPS_MOST]


def _groups(refused: list[dict[str, Any]], member: Member, since: datetime) -> list[ErrorGroup]:
    times: Counter[tuple[str, str, str]] = Counter()
    last: dict[tuple[str, str, str], datetime] = {}
    for row in refused:
        code, operation = row["error_code"] or "", _operation(row)
        # An address that does not exist is no operation, by whatever method.
        key = (code, row["method"] or "" if operation else "", operation)
        times[key] += row["times"]
        last[key] = max(row["last_at"], last.get(key, row["last_at"]))
    return [
        ErrorGroup(*key, times=count, last_at=last[key], meaning=meaning(key[0]),
              url=_url(key, member, since))
        for key, count in times.most_common()
    ]  # fmt: skip


def _operation(row: dict[str, Any]) -> str:
    """Return the path with `{id}` for what differs between calls; nothing for an unknown one."""
    if row["error_code"] == NO_ADDRESS:
        return ""
    try:
        return "/" + PLACE.sub(ANY_ID, resolve(row["place"]).route)
    except Resolver404:
        return ""


def _url(key: tuple[str, str, str], member: Member, since: datetime) -> str:
    code, method, operation = key
    asked = {"error_code": code, "method": method, "path": operation}
    query = {name: value for name, value in asked.items() if value}
    query["created[gte]"] = str(clock.unix(since))
    # Without a code the status tells that it was refused.
    query |= {} if code else {"status": "5xx"}
    url = reverse("panel:request_logs", args=[member.merchant_id])
    return f"{url}?{urlencode(query)}"
