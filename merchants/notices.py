"""Notices: mails about what a merchant's people should know, each in its reader's language.

Besides the addresses that the merchant names here, owners get changes of keys, and the person a
new sign-in: those cannot be switched off.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from smtplib import SMTPDataError, SMTPException, SMTPRecipientsRefused
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.functional import Promise

from core import mail
from core.names import email_key, reachable
from core.scrub import scrub
from merchants.models import Member, Merchant, User

ADDRESSES_MAX = 10
# From here on, a code of SMTP says that the server will not take this mail later either.
FOR_GOOD = 500

log = structlog.get_logger(__name__)


class MailKind(StrEnum):
    """The kinds of notices, each of which a merchant's addresses get or not."""

    ENDPOINT_FAILING = "endpoint_failing"
    KEY_CHANGED = "key_changed"
    SIGNED_IN = "signed_in"
    CASE_CLOSED = "case_closed"
    DISPUTE_OPENED = "dispute_opened"
    DISPUTE_DUE_SOON = "dispute_due_soon"
    DISPUTE_DUE_TOMORROW = "dispute_due_tomorrow"
    PAYOUT_FAILED = "payout_failed"
    STATEMENT_READY = "statement_ready"


# The roles that may see what a kind is about; the panel fills it. All may see the other kinds.
SEEN_BY: dict[MailKind, frozenset[str]] = {}


class Reader(NamedTuple):
    """A person or place that a notice goes to.

    :param language: one of `settings.LANGUAGES`.
    """

    address: str
    language: str


class Letter(NamedTuple):
    """A notice before it is written in its reader's language.

    :param template: of the text.
    """

    subject: str | Promise
    template: str
    facts: dict[str, Any]


def readers(merchant: Merchant, kind: MailKind) -> list[Reader]:
    """Return the addresses of the merchant's that get notices of a kind.

    An address of a member whose role may not see the thing gets none.
    """
    if kind in merchant.silenced_notices:
        return []
    language = merchant.notice_language or settings.LANGUAGE_CODE
    addresses = merchant.notice_emails or [merchant.email]
    barred = _barred(merchant, kind, addresses)
    return [Reader(one, language) for one in addresses if email_key(one) not in barred]


def _barred(merchant: Merchant, kind: MailKind, addresses: Iterable[str]) -> set[str]:
    if kind not in SEEN_BY:
        return set()
    known = Member.objects.for_merchant(merchant).exclude(role__in=SEEN_BY[kind])
    rows = known.filter(user__email__in=[email_key(one) for one in addresses])
    return {email_key(one) for one in rows.values_list("user__email", flat=True)}


def owners(merchant: Merchant) -> list[Reader]:
    """Return the owners of a merchant who can sign in."""
    rows = Member.objects.for_merchant(merchant).filter(role=Member.Role.OWNER)
    return [person(row.user) for row in rows.filter(user__is_active=True).select_related("user")]


def person(user: User) -> Reader:
    return Reader(user.email, user.language or settings.LANGUAGE_CODE)


def written(letter: Letter, to: Iterable[Reader]) -> Iterator[EmailMessage]:
    """Return the letter for each reader, once for each address."""
    each = {email_key(reader.address): reader for reader in reversed([*to])}
    for reader in reversed([*each.values()]):
        with translation.override(reader.language):
            subject, text = str(letter.subject), render_to_string(letter.template, letter.facts)
        yield EmailMessage(subject, scrub(text), None, [reachable(reader.address)])


def send(letter: Letter, to: Iterable[Reader]) -> None:
    """Send a letter to each reader, when the request's answer has left."""
    for message in written(letter, to):
        mail.send_when_answered(message)


def post(message: EmailMessage, **about: str) -> bool:
    """Hand a mail to the server; return whether it is done with: taken, or refused for good.

    :param about: what the log says of a mail that was not sent.
    """
    try:
        message.send()
    except (SMTPException, OSError) as problem:
        log.warning("mail_not_sent", reason=type(problem).__name__, **about)
        return _is_for_good(problem)
    return True


def _is_for_good(problem: Exception) -> bool:
    # Else one address that has gone would bring the others the same mail again and again.
    if isinstance(problem, SMTPRecipientsRefused):
        return all(code >= FOR_GOOD for code, _said in problem.recipients.values())
    return isinstance(problem, SMTPDataError) and problem.smtp_code >= FOR_GOOD
