"""Scopes of keys in words, and the mails about keys that are made, rolled or revoked.

The mails tell of each, so nobody can use a stolen session quietly. No secret is in them.
"""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.rest import resources
from merchants import keys, notices
from merchants.models import ApiKey, Member
from merchants.notices import Letter, MailKind

# By the names that scopes have in the API (contract 5).
RESOURCES: dict[str, str | Promise] = {
    "balance": _("Balance transactions"),
    "customers": _("Customers"),
    "disputes": _("Disputes"),
    "events": _("Events"),
    "merchant": _("Merchant account"),
    "payment_intents": _("Payments"),
    "payouts": _("Payouts"),
    "refunds": _("Refunds"),
    "request_logs": _("Request logs"),
    "topups": _("Top-ups"),
    "webhook_endpoints": _("Webhook endpoints"),
}
LEVELS: dict[str, str | Promise] = {
    "none": _("No access"),
    "read": _("Read"),
    "write": _("Read and write"),
}
# A resource that a key's scopes do not name.
DEFAULT = "write"


def resource(name: str) -> str:
    """Return a scope's label."""
    return str(RESOURCES.get(name) or name.replace("_", " ").capitalize())


def levels(scopes: dict[str, str]) -> dict[str, str]:
    """Return each resource's level, by the resource's name; also of those that are not named."""
    return {name: scopes.get(name, DEFAULT) for name in resources.scopes()}


def in_words(scopes: dict[str, str]) -> str:
    """Return a short text about a key's scopes."""
    found = levels(scopes)
    match {*found.values()}:
        case only if only == {"write"}:
            return gettext("Everything")
        case only if only == {"read"}:
            return gettext("Read only")
        case only if only == {"none"}:
            return gettext("Nothing but the balance")
    parts = [
        f"{LEVELS[level]}: {_listed(name for name in found if found[name] == level)}"
        for level in ("write", "read")
        if level in found.values()
    ]
    return "; ".join(parts)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(resource(name) for name in names)


SUBJECTS: dict[str, str | Promise] = {
    "created": _("An API key was created"),
    "rolled": _("An API key was rolled"),
    "revoked": _("An API key was revoked"),
}


def tell_owners(done: str, key: ApiKey, by: Member, **facts: Any) -> None:
    """Tell the owners, and the addresses that want such notices, when the answer has left.

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
        "scopes": lambda: in_words(key.scopes),
        "by": by.user.email,
        "zone": key.merchant.timezone,
        "page": f"{settings.PANEL_URL}{page}",
    }
