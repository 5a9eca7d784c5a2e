"""Request logs: the list with the API's own filters, and the way to a request by its id."""

from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse

from core.errors import DomainError
from core.querysets import MerchantRows
from core.rest import lists
from core.rest.list_query import CURSORS
from core.rest.lists import Page
from merchants.filters import REQUEST_LOGS
from merchants.models import Member, RequestLog
from panel.merchants import addresses, calls, links
from panel.merchants.listing import COUNT_MS, ROWS_SHOWN
from panel.merchants.log_filters import LogForm
from panel.merchants.pages import page, show
from panel.patience import TookTooLong, limited, tighten

TEMPLATE = "panel/request_logs.html"
PATH = "/v1/request_logs"
# They may have 16 KiB each, and the list shows none.
BODIES = ("request_body", "response_body")


@page()
def request_logs(request: HttpRequest, member: Member) -> HttpResponse:
    """Show a merchant's requests, narrowed by the filters of the API's list (`request_id`: one)."""
    if problem := addresses.unsafe(request):
        # Without what was typed: the page may be printed or photographed.
        return _shown(request, _filters(member, QueryDict()), problem=problem)
    form = _filters(member, request.GET)
    if text := request.GET.get("request_id", "").strip():
        return _by_id(request, member, text)
    if form.is_valid() and (query := form.in_the_apis_terms()) is not None:
        return HttpResponseRedirect(f"{request.path}?{query}")
    found = None if form.errors else _found(member, form)
    export_url = links.to_export(member, "request_logs", form.asked) if found else ""
    call = calls.listing(PATH, form.asked if found else QueryDict())
    return _shown(request, form, page=found, export_url=export_url, call=call)


def _filters(member: Member, query: QueryDict) -> LogForm:
    return LogForm(query, zone=member.merchant.timezone)


def _by_id(request: HttpRequest, member: Member, text: str) -> HttpResponse:
    rows = RequestLog.objects.for_merchant(member.merchant)
    if rows.filter(id=text).exists():
        return HttpResponseRedirect(reverse("panel:request_log", args=[member.merchant_id, text]))
    # Another merchant's, a forgotten and a made-up id read alike: no word of what was typed.
    form = _filters(member, QueryDict())
    return _shown(request, form, is_unknown=True, status=HTTPStatus.NOT_FOUND)


def _found(member: Member, form: LogForm) -> Page | None:
    """Return the page that the address asks for; None if it was refused, and the form says why."""
    rows = RequestLog.objects.for_merchant(member.merchant)
    try:
        return _page(rows, form.asked)
    except TookTooLong:
        form.refuse_as_too_long()
    except DomainError as problem:
        form.refuse(problem)
    return None


def _page(rows: MerchantRows, asked: QueryDict) -> Page:
    asked.setdefault("limit", ROWS_SHOWN)
    counted = asked.copy()
    for name in CURSORS:
        counted.pop(name, None)
    found = None
    try:
        with limited():
            found = lists.page(rows.defer(*BODIES), asked, REQUEST_LOGS, url="")
            tighten(COUNT_MS)
            total = lists.total(rows, counted, REQUEST_LOGS)
    except TookTooLong:
        if found is None:
            raise
        return found
    return replace(found, total_count=total)


def _shown(
    request: HttpRequest, form: LogForm, *, status: int = HTTPStatus.OK, **shown: Any
) -> HttpResponse:
    if form.errors or shown.get("problem"):
        status = HTTPStatus.BAD_REQUEST
    shown |= {"form": form, "days": settings.REQUEST_LOG_DAYS}
    is_refused = status != HTTPStatus.OK
    response = show(request, TEMPLATE, shown, part="form" if is_refused else "list", status=status)
    # For htmx: a refusal is shown in the form, and the list stays.
    if is_refused:
        response["HX-Retarget"] = "#filters"
        response["HX-Push-Url"] = "false"
    else:
        response["HX-Push-Url"] = request.get_full_path()
    return response
