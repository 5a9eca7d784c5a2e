"""The language of a page: the person's choice, else their browser's, else English.

The choice is in a cookie, so that no page reads the database for it, and in the account.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation.trans_real import (
    get_supported_language_variant,
    parse_accept_lang_header,
)

from merchants.models import User
from panel import look

# The operators' admin stays English, and the API, which does not pass here.
ENGLISH_ONLY = ("/admin/", "/healthz")


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
            # Answers to programs are English.
            if response.get("Content-Type", "").startswith("text/html"):
                response.headers.setdefault("Content-Language", translation.get_language() or "en")
                patch_vary_headers(response, ["Accept-Language", "Cookie"])
        return response


def keep(user: Any, language: str) -> None:
    """Note a person's choice in their account: mails are written in it, and other browsers show it.

    What is no language of ours is left out, and so is the choice of a person who is not signed in.
    """
    if user.is_authenticated and language in look.CHOICES["language"]:
        User.objects.filter(pk=user.pk).exclude(language=language).update(language=language)


def bring(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Show a browser in the language of the account that signs in.

    A language chosen before signing in becomes the account's.
    """
    if choice := look.chosen(request, "language"):
        keep(user, choice)
    elif user.language:
        look.remember(response, {"language": user.language})


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
