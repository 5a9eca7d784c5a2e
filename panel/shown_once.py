"""Pages with a secret, which a browser shows once: a form that is sent twice does not lose it.

A browser that sends a form again drops the first answer, with the secret in it, and shows the next.
So the page is kept as long as the API keeps such an answer, sealed with the session's key, which
only the browser has; and an answer that has come leaves a mark in the browser: whoever sends the
form with it, has seen the secret.
"""

import base64
from hashlib import blake2b

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from core.keyring import SealBroken, ring

PURPOSE = "session"
MARK = "shown"
# Longer than a page is kept.
MARK_SECONDS = 3600


def sealed(request: HttpRequest, token: str, page: HttpResponse) -> str:
    """Return a page for this session alone, and leave the mark on the answer."""
    _mark(page, request, token)
    blob = ring().seal_for(PURPOSE, page.content, context=_context(token), secret=_key(request))
    return base64.b64encode(blob).decode()


def again(request: HttpRequest, token: str, kept: str) -> HttpResponse | None:
    """Return the page that was kept; None if this browser has got it, or is another one."""
    if request.COOKIES.get(MARK) == _digest(token):
        return None
    try:
        page = ring().open_for(
            PURPOSE, base64.b64decode(kept), context=_context(token), secret=_key(request)
        )
    except SealBroken:
        return None
    answer = HttpResponse(page)
    _mark(answer, request, token)
    return answer


def _mark(answer: HttpResponse, request: HttpRequest, token: str) -> None:
    answer.set_cookie(
        MARK, _digest(token), max_age=MARK_SECONDS, path=request.path, samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE, httponly=True,
    )  # fmt: skip


def _digest(token: str) -> str:
    return blake2b(token.encode(), digest_size=8).hexdigest()


def _context(token: str) -> str:
    return f"panel.shown_once|{token}"


def _key(request: HttpRequest) -> bytes:
    # The table of sessions has a hash of it.
    return (request.session.session_key or "").encode()
