"""The five seconds of a page that is only shown, in which its person is found as well."""

import re
from collections.abc import Callable

from django.conf import settings
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core import context
from panel.patience import TookTooLong, is_too_slow, limited

PAGES = re.compile(r"^/(panel|account)(/|$)")


class PageTime:
    """Give each question of a shown page three seconds, and all of them together five.

    A page that needs more is given up and says so (503). Forms that are sent wait as the API does.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not _is_only_shown(request):
            return self.get_response(request)
        try:
            with limited(spent_seconds=context.spent_seconds()):
                response = self.get_response(request)
                if response.status_code >= 500:
                    transaction.set_rollback(True)
                return response
        except TookTooLong:
            return _took_too_long(request)

    def process_view(
        self, request: HttpRequest, _view: object, _args: object, _kwargs: object
    ) -> HttpResponse | None:
        """Find the person, and show a page if that takes too long."""
        if not _is_only_shown(request):
            return None
        try:
            request.user.is_authenticated  # noqa: B018  # The first look at it asks the database.
        except (OperationalError, TookTooLong) as problem:
            if not is_too_slow(problem):
                raise
            return _took_too_long(request)
        return None

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse | None:
        """Say of a shown page that it took too long."""
        if _is_only_shown(request) and is_too_slow(problem):
            return _took_too_long(request)
        return None


def _is_only_shown(request: HttpRequest) -> bool:
    return request.method in ("GET", "HEAD") and bool(PAGES.match(request.path_info))


def _took_too_long(request: HttpRequest) -> HttpResponse:
    """Answer without the panel's frame, which asks the database too."""
    shown = {"member": getattr(request, "member", None), "is_sandbox": not settings.LIVEMODE}
    response = render(request, "panel/took_too_long.html", shown, status=503)
    response.headers["Cache-Control"] = "private, no-store"
    return response
