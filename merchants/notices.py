"""Notices: mails about what a merchant's people should know, each in its reader's language.

Besides the addresses that the merchant names here, owners get changes of keys, and the person a
new sign-in: those cannot be switched off.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

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


class MailKind(StrEnum):
    """The kinds of notices, each of which a merchant's addresses get or not."""

    ENDPOINT_FAILING = "endpoint_failing"
    KEY_CHANGED = "key_changed"
    SIGNED_IN = "signed_in"
    CASE_CLOSED = "case_closed"


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
    """Return the addresses of the merchant's that get notices of a kind."""
    if kind in merchant.silenced_notices:
        return []
    language = merchant.notice_language or settings.LANGUAGE_CODE
    return [Reader(address, language) for address in merchant.notice_emails or [merchant.email]]


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
