"""Mails about what operators do to people's access; each is sent once its change is committed."""

from collections.abc import Iterable
from smtplib import SMTPException
from typing import Any

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

from core.scrub import scrub
from merchants.models import ApiKey, Member, Merchant, User

log = structlog.get_logger(__name__)


def tell_owner_of_account(merchant: Merchant) -> bool:
    """Tell the owner that the account is open; return whether the mail server took it."""
    return _send("Your account is open", "opened", [merchant.email], merchant=merchant)


def tell_of_revoked_key(key: ApiKey) -> bool:
    """Tell a merchant's owners that a key of theirs was revoked."""
    owners = Member.objects.for_merchant(key.merchant).filter(role=Member.Role.OWNER)
    addresses = owners.values_list("user__email", flat=True)
    return _send("An API key was revoked", "key_revoked", addresses, key=key)


def tell_of_new_owner(merchant: Merchant, email: str) -> bool:
    """Tell all owners of a merchant, the new one too, that an operator made one."""
    owners = Member.objects.for_merchant(merchant).filter(role=Member.Role.OWNER)
    addresses = owners.order_by("pk").values_list("user__email", flat=True)
    return _send("A new owner", "new_owner", addresses, merchant=merchant, email=email)


def tell_of_access(user: User, owners: Iterable[str], done: str) -> bool:
    """Tell a person, and the owners of their teams, what was done to their access.

    :param done: a sentence about it.
    """
    to = [user.email, *owners]
    # Each apart: the owners of several teams do not know each other.
    sent = [_send("Your access", "access", [one], user=user, done=done) for one in to]
    return all(sent)


def said(is_sent: bool) -> str:
    """Return the sentence by which the operator hears of the mail."""
    return "A mail was sent." if is_sent else "The mail could not be sent: tell them yourself."


def _send(subject: str, template: str, to: Iterable[str], **facts: Any) -> bool:
    addresses = list(to)
    text = render_to_string(f"desk/mails/{template}.txt", {"base_url": settings.BASE_URL, **facts})
    try:
        for one in addresses:
            EmailMessage(subject, scrub(text), None, [one]).send()
    except (SMTPException, OSError) as problem:
        log.warning("mail_not_sent", about=template, reason=type(problem).__name__)
        return False
    return True
