"""One request: sent and answered bodies, its error, events and deliveries, and its repetitions."""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from core.rest.error_codes import meaning
from events.models import Event
from merchants.models import ApiKey, Member, RequestLog
from panel.merchants import calls, links
from panel.merchants.log_filters import KINDS
from panel.merchants.pages import page, show
from panel.merchants.request_logs import BODIES, PATH
from webhooks.models import Delivery

# More are reached by the lists.
EVENTS_MOST, DELIVERIES_MOST, SAME_KEY_MOST = 25, 100, 25


class ShownBody(NamedTuple):
    """A body as it is shown.

    :param is_cut: it was longer, and its end is missing.
    """

    text: str
    is_cut: bool


class AnsweredError(NamedTuple):
    """The refusal that was answered.

    :param text: the sentence of the answer, or the code's own.
    """

    code: str
    text: str
    param: str
    url: str


class Caused(NamedTuple):
    """An event, and the attempts to deliver it."""

    event: Event
    url: str
    deliveries: Sequence[Delivery]


@page()
def request_log(request: HttpRequest, member: Member, request_log: str) -> HttpResponse:
    """Show a request of the merchant's; any other id reads alike, and how long rows are kept."""
    rows = RequestLog.objects.for_merchant(member.merchant)
    row = rows.filter(id=request_log).first()
    if row is None:
        shown = {"days": settings.REQUEST_LOG_DAYS}
        return show(request, "panel/no_request_log.html", shown, status=HTTPStatus.NOT_FOUND)
    list_url = reverse("panel:request_logs", args=[member.merchant_id])
    shown = {
        "row": row,
        "kind": KINDS.get(row.kind, row.kind),
        "problem": _problem(row),
        "sent": _body(row.request_body, row),
        "answered": _body(row.response_body, row),
        "call": calls.again(row),
        "read": calls.curl("GET", f"{PATH}/{row.id}"),
        "object_url": links.to(member, row.object_id),
        "key": ApiKey.objects.for_merchant(member.merchant).filter(id=row.api_key).first(),
        "key_url": links.to(member, row.api_key),
        "caused": _caused(member, row),
        "same_key": _same_key(member, row),
        "original_url": links.to(member, row.original_request),
        "about_url": f"{list_url}?{urlencode({'object_id': row.object_id or ''})}",
        "with_key_url": f"{list_url}?{urlencode({'idempotency_key': row.idempotency_key or ''})}",
    }
    return show(request, "panel/request_log.html", shown)


def _problem(row: RequestLog) -> AnsweredError | None:
    if not row.error_code:
        return None
    told = _parsed(row.response_body)
    error = told.get("error") if isinstance(told, dict) else None
    error = error if isinstance(error, dict) else {}
    return AnsweredError(
        row.error_code,
        str(error.get("message") or meaning(row.error_code)),
        str(error.get("param") or ""),
        f"{settings.DOCS_URL}/errors#{row.error_code}",
    )


def _body(text: str | None, row: RequestLog) -> ShownBody | None:
    if text is None:
        return None
    # The row says only that one of the two was cut: the one that ends too early, or either.
    is_broken = {one: getattr(row, one) is not None and _parsed(getattr(row, one)) is None
                 for one in BODIES}  # fmt: skip
    is_cut = row.truncated and (_parsed(text) is None or not any(is_broken.values()))
    return ShownBody(text, is_cut)


def _parsed(text: str | None) -> Any:
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None


def _caused(member: Member, row: RequestLog) -> list[Caused]:
    """Return the events that carry the request's id, of background work that it began too."""
    mine = Event.objects.for_merchant(member.merchant).filter(request_id=row.id)
    events = list(mine.defer("body").order_by("created_at", "id")[:EVENTS_MOST])
    every = Delivery.objects.for_merchant(member.merchant).filter(event__in=events)
    deliveries = list(every.order_by("id")[:DELIVERIES_MOST]) if events else []
    return [
        Caused(event, links.to(member, event.id), [d for d in deliveries if d.event_id == event.id])
        for event in events
    ]


def _same_key(member: Member, row: RequestLog) -> list[tuple[RequestLog, str]]:
    if row.idempotency_key is None:
        return []
    rows = RequestLog.objects.for_merchant(member.merchant).exclude(id=row.id)
    same = rows.filter(idempotency_key=row.idempotency_key).defer(*BODIES)
    newest = same.order_by("-created_at")[:SAME_KEY_MOST]
    return [(one, links.to(member, one.id)) for one in newest]
