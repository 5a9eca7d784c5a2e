"""The bank's pages for people, and the content policy that every answer of the bank carries."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template import loader
from django.utils import translation

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)


# The addresses that people open; all others are asked by programs.
PEOPLES_PATHS = ("/acs/", "/fim/est3Dgate", "/servlet/gt3dengine")
# Laid on every answer that does not say otherwise itself.
HEADERS = {
    "Content-Security-Policy": f"{POLICY}; form-action 'self'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def language_of(request: HttpRequest) -> str:
    """Return the language of a request's answer: what the browser asks for, else English.

    Answers to programs are English always.
    """
    if not request.path_info.startswith(PEOPLES_PATHS):
        return "en"
    return translation.get_language_from_request(request)


class SeeOther(HttpResponseRedirect):
    """A redirect that a browser always follows with GET."""

    status_code = 303


def see_other(path: str) -> SeeOther:
    """Send the browser to another page of the bank."""
    return SeeOther(path)


def show(template: str, facts: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """Render a page without the request: it has no cookies, no session and no user."""
    content = loader.render_to_string(f"testbank/{template}.html", facts)
    headers = {
        "Content-Language": translation.get_language() or "en",
        "Vary": "Accept-Language",
    }
    return HttpResponse(content, status=status, headers=headers)


def show_form(template: str, facts: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """Render a page whose form ends at the shop.

    It has no `form-action`, as pages of real issuers have none: browsers hold that against every
    redirect behind a form, the shop's own too, which no bank knows. One to the shop's `www` would
    be blocked after the charge.
    """
    page = show(template, facts, status=status)
    page["Content-Security-Policy"] = POLICY
    return page
