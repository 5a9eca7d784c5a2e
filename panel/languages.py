"""The language of a page: the person's choice, else their browser's, else English."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation.trans_real import (
    get_supported_language_variant,
    parse_accept_lang_header,
)

from panel import look

# The API and the operators' admin stay English.
ENGLISH_ONLY = ("/v1/", "/admin/", "/healthz")


class Language:
    """Middleware that answers a page in its reader's language.

    Not Django's own: that one would leave the language to the thread's next request, and look at
    a path's first part too.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(ENGLISH_ONLY):
            return self.get_response(request)
        with translation.override(of(request)):
            response = self.get_response(request)
            # What programs read is English.
            if response.get("Content-Type", "").startswith("text/html"):
                response.headers.setdefault("Content-Language", translation.get_language() or "en")
                patch_vary_headers(response, ["Accept-Language", "Cookie"])
        return response


def of(request: HttpRequest) -> str:
    """Return the language of the answer to a request."""
    if choice := look.chosen(request, "language"):
        return choice
    for code, _weight in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        try:
            return get_supported_language_variant(code)
        except LookupError:
            continue
    return settings.LANGUAGE_CODE
