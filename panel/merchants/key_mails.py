"""Mails to a merchant's owners about keys: each key that is made, rolled or revoked.

Nobody can use a stolen session quietly. No secret is in them.
"""

from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core import mail
from core.scrub import scrub
from merchants import keys
from merchants.models import ApiKey, Member
from panel.merchants import key_words

SUBJECTS: dict[str, str | Promise] = {
    "created": _("An API key was created"),
    "rolled": _("An API key was rolled"),
    "revoked": _("An API key was revoked"),
}


def tell_owners(done: str, key: ApiKey, by: Member, **facts: Any) -> None:
    """Tell the owners, each in the language that they chose, when the answer has left.

    :param done: one of `SUBJECTS`.
    :param facts: more for the mail's template.
    """
    owners = Member.objects.for_merchant(key.merchant).filter(role=Member.Role.OWNER)
    for owner in owners.filter(user__is_active=True).select_related("user"):
        with translation.override(owner.user.language or settings.LANGUAGE_CODE):
            text = render_to_string("panel/mails/key.txt", _shown(done, key, by) | facts)
            subject = str(SUBJECTS[done])
        mail.send_when_answered(EmailMessage(subject, scrub(text), None, [owner.user.email]))


def _shown(done: str, key: ApiKey, by: Member) -> dict[str, Any]:
    page = reverse("panel:key", args=[key.merchant_id, key.id])
    return {
        "done": done,
        "key": key,
        "shown_key": f"{keys.prefix()}…{key.last4}",
        "scopes": key_words.in_words(key.scopes),
        "by": by.user.email,
        "zone": key.merchant.timezone,
        "page": f"{settings.PANEL_URL}{page}",
    }
