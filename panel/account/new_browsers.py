"""Mails about a sign-in in a browser in which the person has not signed in before.

A browser is known by a signed cookie with the people who have signed in there: addresses change
from day to day, and programs call themselves alike.
"""

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core import context
from core.names import email_key
from merchants import notices
from merchants.models import AuditEntry, Member, User
from merchants.notices import Letter, MailKind

COOKIE = "__Host-browser" if settings.SESSION_COOKIE_SECURE else "browser"
SALT = "panel.account.new_browsers"
SECONDS = 365 * 86_400
# The people of one browser that are remembered, those who signed in last.
PEOPLE_MAX = 10


def is_new(request: HttpRequest, user: User) -> bool:
    """Return whether a person has signed in before, and never in this browser.

    Asked before the sign-in is written down: the first one of an account needs no mail.
    """
    if user.pk in _people(request):
        return False
    before = AuditEntry.objects.filter(chain=f"user:{user.pk}", action="sign_in.succeeded")
    return before.exists()


def remember(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Let the browser be known as one of the person's."""
    people = [user.pk, *(one for one in _people(request) if one != user.pk)][:PEOPLE_MAX]
    response.set_cookie(
        COOKIE,
        signing.dumps(people, salt=SALT),
        max_age=SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def tell(user: User, browser: str) -> None:
    """Mail the person, and the addresses of their merchants that want such notices."""
    facts = {
        "email": user.email,
        "browser": browser,
        "address": context.address(),
        "at": timezone.now(),
        "page": f"{settings.PANEL_URL}{reverse('account_sessions')}",
    }
    subject = _("A new sign-in")
    own = Letter(subject, "panel/mails/signed_in.txt", {**facts, "is_own": True})
    notices.send(own, [notices.person(user)])
    rows = Member.objects.filter(user=user).select_related("merchant")
    theirs = [
        reader for row in rows for reader in notices.readers(row.merchant, MailKind.SIGNED_IN)
    ]
    others = [one for one in theirs if email_key(one.address) != user.email]
    notices.send(Letter(subject, "panel/mails/signed_in.txt", facts), others)


def _people(request: HttpRequest) -> list[int]:
    """Return the people who have signed in in this browser; none if the cookie is none of ours."""
    try:
        found = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return []
    return [one for one in found if isinstance(one, int)]
