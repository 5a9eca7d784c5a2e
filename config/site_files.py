"""Files that browsers, crawlers and finders of faults ask each site for, by fixed names."""

from datetime import UTC, datetime, timedelta
from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

DAY_SECONDS = 86_400
FAVICON = settings.BASE_DIR / "panel" / "static" / "favicon.ico"
# RFC 9116 recommends less than a year; each answer says it anew.
SECURITY_NOTE_VALID_FOR = timedelta(days=180)
# Of an installation only the front page and the documentation are for a search: the addresses of
# payers' pages are good for one payment, and the panel's are behind a sign-in.
ROBOTS = "User-agent: *\nAllow: /$\nAllow: /docs/\nDisallow: /\n"


@csrf_exempt
@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    return _kept_for_a_day(ROBOTS.encode(), "text/plain; charset=utf-8")


@csrf_exempt
@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    return _kept_for_a_day(_favicon(), "image/x-icon")


@csrf_exempt
@require_safe
def security_note(request: HttpRequest) -> HttpResponse:
    """Say how to report a weakness of this installation (RFC 9116)."""
    # Real time: it is read by people outside of the sandbox.
    expires = (datetime.now(UTC) + SECURITY_NOTE_VALID_FOR).strftime("%Y-%m-%dT00:00:00Z")
    note = (
        f"Contact: {settings.SECURITY_CONTACT}\n"
        f"Expires: {expires}\n"
        "Preferred-Languages: en, tr\n"
        f"Canonical: {settings.BASE_URL}/.well-known/security.txt\n"
    )
    return _kept_for_a_day(note.encode(), "text/plain; charset=utf-8")


def _kept_for_a_day(body: bytes, content_type: str) -> HttpResponse:
    cached = {"Cache-Control": f"public, max-age={DAY_SECONDS}"}
    return HttpResponse(body, content_type=content_type, headers=cached)


@cache
def _favicon() -> bytes:
    return FAVICON.read_bytes()
