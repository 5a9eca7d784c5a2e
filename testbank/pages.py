"""The bank's pages for people, and the content policy that every answer of the bank carries."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils import translation


def policy(*form_targets: str) -> str:
    """Return the content policy; forms may also end at the given origins.

    Browsers hold `form-action` against the whole chain of redirects, so a page whose
    form leads elsewhere has to name the last place as well (architecture 7).
    """
    targets = " ".join(["'self'", *dict.fromkeys(form_targets)])
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"font-src 'self'; connect-src 'self'; form-action {targets}; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


# The addresses that people open; all others are asked by programs.
PEOPLES_PATH = "/acs/"
# Laid on every answer that does not say otherwise itself.
HEADERS = {
    "Content-Security-Policy": policy(),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def language_of(request: HttpRequest) -> str:
    """Return the language of a request's answer: what the browser asks for, else English.

    Answers to programs are English always.
    """
    if not request.path_info.startswith(PEOPLES_PATH):
        return "en"
    return translation.get_language_from_request(request)


def show(
    template: str, facts: dict[str, Any], *, status: int = 200, sends_to: tuple[str, ...] = ()
) -> HttpResponse:
    """Render a page without the request: it has no cookies, no session and no user."""
    content = loader.render_to_string(f"testbank/{template}.html", facts)
    headers = {
        "Content-Security-Policy": policy(*sends_to),
        "Content-Language": translation.get_language() or "en",
        "Vary": "Accept-Language",
    }
    return HttpResponse(content, status=status, headers=headers)
