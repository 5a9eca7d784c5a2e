"""Labels of keys' scopes."""

from collections.abc import Iterable

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.rest import resources

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
