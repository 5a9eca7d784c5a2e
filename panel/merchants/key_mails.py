"""Mails to a merchant's people about keys: each key that is made, rolled or revoked.

A stolen session cannot be used unnoticed. No secret is in them.
"""

from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from merchants import keys, notices
from merchants.models import ApiKey, Member
from merchants.notices import Letter, MailKind
from panel.merchants import key_words

SUBJECTS: dict[str, str | Promise] = {
    "created": _("An API key was created"),
    "rolled": _("An API key was rolled"),
    "revoked": _("An API key was revoked"),
}


def tell_owners(done: str, key: ApiKey, by: Member, **facts: Any) -> None:
    """Mail the owners, and the addresses that want such notices, when the answer has left.

    :param done: one of `SUBJECTS`.
    :param facts: more for the mail's template.
    """
    merchant = key.merchant
    letter = Letter(SUBJECTS[done], "panel/mails/key.txt", _shown(done, key, by) | facts)
    to = [*notices.owners(merchant), *notices.readers(merchant, MailKind.KEY_CHANGED)]
    notices.send(letter, to)


def _shown(done: str, key: ApiKey, by: Member) -> dict[str, Any]:
    page = reverse("panel:key", args=[key.merchant_id, key.id])
    return {
        "done": done,
        "key": key,
        "shown_key": f"{keys.prefix()}…{key.last4}",
        # Asked by the template, in the reader's language.
        "scopes": lambda: key_words.in_words(key.scopes),
        "by": by.user.email,
        "zone": key.merchant.timezone,
        "page": f"{settings.PANEL_URL}{page}",
    }
