"""Mails: the addresses that they can be sent from, and when they are sent."""

from smtplib import SMTPException

import structlog
from django.core.mail import EmailMessage
from django.core.mail.message import sanitize_address

from core import context

log = structlog.get_logger(__name__)


def send_when_answered(mail: EmailMessage) -> None:
    """Send a mail when the request's answer has left; at once outside of a request.

    So no answer waits for a mail server, or tells by its time whether a mail was sent. A mail that
    cannot be sent is logged, and lost.
    """
    context.when_answered(lambda: _send(mail))


def _send(mail: EmailMessage) -> None:
    try:
        mail.send()
    except (OSError, SMTPException):
        log.exception("mail_not_sent")


def is_mail_address(text: str) -> bool:
    """Tell whether it is one address, with a name before it or without, as Django reads it."""
    try:
        return "@" in sanitize_address(text, "utf-8")
    except ValueError:
        return False
