"""How a person wants pages to look: theme, language, keys of the keyboard; kept in cookies.

Cookies, because the page of signing in has a look too. None of them is a secret.
"""

from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse

YEAR_SECONDS = 365 * 86_400
THEMES = ("system", "light", "dark")
SHORTCUTS = ("on", "off")
CHOICES: dict[str, tuple[str, ...]] = {
    "theme": THEMES,
    "language": tuple(code for code, _name in settings.LANGUAGES),
    "shortcuts": SHORTCUTS,
    # Of exported files (`panel.merchants.csv_forms`).
    "csv_form": ("programs", "excel", "excel_points"),
}


class Look(NamedTuple):
    theme: str
    language: str | None  # None: as the browser asks.
    shortcuts: str


def of(request: HttpRequest) -> Look:
    """Return the look that a request's cookies ask for; what they do not name is the default."""
    return Look(
        theme=chosen(request, "theme") or "system",
        language=chosen(request, "language"),
        shortcuts=chosen(request, "shortcuts") or "on",
    )


def chosen(request: HttpRequest, name: str) -> str | None:
    """Return the person's choice, None if there is none or it is no choice."""
    value = request.COOKIES.get(name)
    return value if value in CHOICES[name] else None


def remember(response: HttpResponse, choices: dict[str, Any]) -> None:
    """Let the browser keep the choices; what is none of ours is left out."""
    for name, value in choices.items():
        if value in CHOICES.get(name, ()):
            response.set_cookie(
                name,
                value,
                max_age=YEAR_SECONDS,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
