"""The bank's pages for people, and the content policy that every answer of the bank carries."""

from typing import Any

from django.http import HttpResponse
from django.template import loader


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


# Laid on every answer that does not say otherwise itself.
HEADERS = {
    "Content-Security-Policy": policy(),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def show(
    template: str, facts: dict[str, Any], *, status: int = 200, sends_to: tuple[str, ...] = ()
) -> HttpResponse:
    """Render a page without the request: it has no cookies, no session and no user."""
    content = loader.render_to_string(f"testbank/{template}.html", facts)
    return HttpResponse(
        content, status=status, headers={"Content-Security-Policy": policy(*sends_to)}
    )
