"""Mails: the addresses that they can be sent from, and when they are sent."""

from smtplib import SMTPException

import structlog
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.mail.message import sanitize_address
from django.core.validators import validate_email

from core import context, installation
from core.names import email_key

# Of the key, too.
ADDRESS_LENGTH_MAX = 254

log = structlog.get_logger(__name__)


def send_when_answered(mail: EmailMessage) -> None:
    """Send a mail when the request's answer has left; at once outside of a request.

    No answer then waits for a mail server, or shows by its time whether a mail was sent. A mail
    that cannot be sent is logged, and lost.
    """
    context.when_answered(lambda: _send(mail))


def _send(mail: EmailMessage) -> None:
    if installation.is_held():
        log.warning("mail_not_sent_of_held_copy")
        return
    try:
        mail.send()
    except (OSError, SMTPException):
        log.exception("mail_not_sent")


def require_address(text: str) -> None:
    """Refuse an e-mail address that is none, too long, or of more than printable ASCII locally.

    Django's rule lets letters through that Python takes for others of other case: `ı`, `ſ`, the
    Kelvin sign. No payer's mail server writes such an address; an attacker who wants an account
    that looks like another one does.

    :raises django.core.exceptions.ValidationError: it is refused.
    """
    validate_email(text)
    key = email_key(text)
    # A domain that is no A-label: Django's rule knows names of 2003 that nobody can register now.
    local, _, domain = key.rpartition("@")
    # A domain may be longer as an A-label than it was written.
    is_short = len(key) <= ADDRESS_LENGTH_MAX
    if not (local.isascii() and local.isprintable() and domain.isascii() and is_short):
        raise ValidationError(validate_email.message, code=validate_email.code)


def is_mail_address(text: str) -> bool:
    """Return whether it is one address, with a name before it or without, as Django reads it."""
    try:
        return "@" in sanitize_address(text, "utf-8")
    except ValueError:
        return False
