"""The navigation: the pages that are built, in groups; each person sees those of their role."""

from collections.abc import Sequence
from typing import NamedTuple

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from merchants.models import Member
from panel import permissions


class Entry(NamedTuple):
    """A page in the navigation.

    :param page: the name of its address; what lies below that address belongs to it.
    """

    page: str
    label: str | Promise


class Group(NamedTuple):
    heading: str | Promise
    entries: Sequence[Entry]


class Link(NamedTuple):
    url: str
    label: str | Promise
    is_current: bool


# Overview · Payments · Refunds · Disputes · Balance · Customers | Developers: API keys · Request
# logs · Webhooks · Events | Settings: Merchant · Websites and callbacks · Team · Audit log.
GROUPS: Sequence[Group] = (
    Group(
        "",
        (
            Entry("overview", _("Overview")),
            Entry("payments", _("Payments")),
            Entry("refunds", _("Refunds")),
            Entry("disputes", _("Disputes")),
            # Payouts, top-ups and settlements lie below it.
            Entry("balance", _("Balance")),
            Entry("customers", _("Customers")),
        ),
    ),
    Group(
        _("Developers"),
        (
            Entry("keys", _("API keys")),
            Entry("request_logs", _("Request logs")),
            Entry("webhooks", _("Webhooks")),
            Entry("events", _("Events")),
        ),
    ),
    Group(
        _("Settings"),
        (
            Entry("settings", _("Merchant")),
            Entry("websites", _("Websites and callbacks")),
            Entry("team", _("Team")),
            Entry("audit_log", _("Audit log")),
        ),
    ),
)


def links(member: Member, path: str) -> list[tuple[str | Promise, list[Link]]]:
    """Return the groups that a member sees, each with its heading and links.

    :param path: of the page that is shown.
    """
    shown = [
        (
            group.heading,
            [_link(member, entry, path) for entry in group.entries if _may(member, entry)],
        )
        for group in GROUPS
    ]
    return [(heading, found) for heading, found in shown if found]


def _may(member: Member, entry: Entry) -> bool:
    return permissions.may_open(member, entry.page)


def _link(member: Member, entry: Entry, path: str) -> Link:
    url = reverse(f"panel:{entry.page}", args=[member.merchant_id])
    # The overview's address is the beginning of all others.
    is_below = entry.page != "overview" and path.startswith(f"{url}/")
    return Link(url, entry.label, is_current=path == url or is_below)
