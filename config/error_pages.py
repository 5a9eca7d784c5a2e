"""Errors as pages: outside the API, a person who opened an address in a browser gets a page."""

import re

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from core import context
from core.errors import DomainError
from core.rest.envelope import error_headers

API_PATH = re.compile(r"^/v1(/|$)")
JSON, HTML = "application/json", "text/html"


def is_wanted(request: HttpRequest) -> bool:
    """Return whether a browser asks for a page.

    Programs accept anything, or JSON. A browser names HTML, and only where it will show
    a page: a missing picture or style sheet gets none.
    """
    return request.get_preferred_type([JSON, HTML]) == HTML


def page(refusal: DomainError, *, template: str | None = None) -> HttpResponse:
    """Return the refusal as a page.

    Rendered without the request: its session may be what failed, and the page needs
    nothing of it. The refusal's own text is for developers and stays out.

    :param template: another one than the status' own.
    """
    status = refusal.http_status
    context.note_refusal(refusal.code)
    of_its_class = "errors/500.html" if status >= 500 else "errors/400.html"
    names = [template] if template else [f"errors/{status}.html", of_its_class]
    shown = {"request_id": context.request_id(), "is_sandbox": not settings.LIVEMODE}
    # Its request id is this request's alone.
    headers = {**error_headers(refusal), "Cache-Control": "no-store"}
    return HttpResponse(render_to_string(names, shown), status=status, headers=headers)
