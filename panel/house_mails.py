"""Mails about what operators do to people's access; each is sent once its change is committed.

The desk is English; these are read by merchants' people, each in their language.
"""

from collections.abc import Iterable
from smtplib import SMTPException
from typing import Any

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import installation
from core.names import email_key
from merchants import notices
from merchants.models import ApiKey, Merchant, OperatorInvitation, User
from merchants.notices import Letter, MailKind, Reader

log = structlog.get_logger(__name__)

# Sentences about what was done to a person's access.
UNLOCKED: Promise = _("Your sign-in was unlocked: wrong passwords were forgotten.")
SIGNED_OUT: Promise = _("You were signed out everywhere.")
RIGHTS_CHANGED: Promise = _("Your rights as an operator were changed.")
NEW_OPERATOR: Promise = _("You are an operator now.")
SWITCHED_OFF: Promise = _("Your account was switched off: nobody signs in with it.")
SWITCHED_ON: Promise = _("Your account was switched on again.")
FACTORS_REMOVED: Promise = _("Your passkeys, your app and your recovery codes were removed.")


def tell_owner_of_account(merchant: Merchant) -> bool:
    """Mail the owner that the account is open; return whether the mail server took it."""
    subject = _("Your account is open")
    return _send(subject, "opened", _known([merchant.email]), merchant=merchant)


def tell_of_revoked_key(key: ApiKey) -> bool:
    """Mail a merchant's owners, and those who want such notices, that a key was revoked."""
    to = [*notices.owners(key.merchant), *notices.readers(key.merchant, MailKind.KEY_CHANGED)]
    return _send(_("An API key was revoked"), "key_revoked", to, key=key)


def tell_of_new_owner(merchant: Merchant, email: str) -> bool:
    """Mail all owners of a merchant, the new one too, that an operator made one."""
    to = notices.owners(merchant)
    return _send(_("A new owner"), "new_owner", to, merchant=merchant, email=email)


def tell_of_access(user: User, owners: Iterable[str], done: Promise) -> bool:
    """Mail a person, and the owners of their teams, about a change of their access.

    :param done: a sentence about it.
    """
    # Each apart: the owners of several teams do not know each other.
    to = [notices.person(user), *_known(owners)]
    return _send(_("Your access"), "access", to, user=user, done=done)


def invite_operator(invitation: OperatorInvitation, token: str) -> bool:
    """Send an operator's invitation, the one place that has its token."""
    [reader] = _known([invitation.email])
    path = reverse("account_invitation_link", args=[token])
    shown = {
        "by": invitation.invited_by.email,
        "groups": ", ".join(invitation.groups),
        "link": f"{settings.PANEL_URL}{path}",
        "panel_url": settings.PANEL_URL,
    }
    with translation.override(reader.language):
        subject = gettext("Invitation to the operators' desk")
        text = render_to_string("panel/mails/operator_invitation.txt", shown)
    return _sent([EmailMessage(subject, text, None, [reader.address])], "operator_invitation")


def tell_of_withdrawn(invitation: OperatorInvitation) -> bool:
    """Mail a person that their invitation to become an operator was withdrawn."""
    subject = _("Your invitation was withdrawn")
    return _send(subject, "operator_withdrawn", _known([invitation.email]))


def said(is_sent: bool) -> str:
    """Return the sentence by which the operator hears of the mail."""
    return "A mail was sent." if is_sent else "The mail could not be sent: tell them yourself."


def _known(addresses: Iterable[str]) -> list[Reader]:
    asked = list(addresses)
    rows = User.objects.filter(email__in=[email_key(one) for one in asked])
    known = {user.email: notices.person(user) for user in rows}
    return [known.get(email_key(one)) or Reader(one, settings.LANGUAGE_CODE) for one in asked]


def _send(subject: str | Promise, template: str, to: Iterable[Reader], **facts: Any) -> bool:
    shown = {"base_url": settings.BASE_URL, **facts}
    letter = Letter(subject, f"panel/mails/{template}.txt", shown)
    return _sent(notices.written(letter, to), template)


def _sent(messages: Iterable[EmailMessage], about: str) -> bool:
    if installation.is_held():
        log.warning("mail_not_sent", about=about, reason="held copy")
        return False
    try:
        for message in messages:
            message.send()
    except (SMTPException, OSError) as problem:
        log.warning("mail_not_sent", about=about, reason=type(problem).__name__)
        return False
    return True
