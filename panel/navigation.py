"""The navigation: the pages that are built, in groups; each person sees those of their role."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from merchants.models import Member
from panel import permissions
from payments.disputes.states import ANSWERABLE


class MenuEntry(NamedTuple):
    """A page in the navigation.

    :param page: the name of its address; what lies below that address belongs to it.
    :param while_something_waits: the query with which it opens while it has a count.
    """

    page: str
    label: str | Promise
    while_something_waits: str = ""


class MenuGroup(NamedTuple):
    heading: str | Promise
    entries: Sequence[MenuEntry]


class MenuLink(NamedTuple):
    """A link in the navigation.

    :param waits: the number of things that wait there for the member.
    """

    url: str
    label: str | Promise
    is_current: bool
    waits: int = 0


# The first due first: the tab of the list of disputes that has them.
NEEDS_AN_ANSWER = "?" + urlencode({"status[]": ANSWERABLE, "sort": "evidence_due_by"}, doseq=True)
# Overview · Payments · Payment pages · Refunds · Disputes · Balance · Statements · Customers |
# Developers: API keys · Request logs · Webhooks · Events | Settings: Merchant · Websites and
# callbacks · Team · Audit log.
GROUPS: Sequence[MenuGroup] = (
    MenuGroup(
        "",
        (
            MenuEntry("overview", _("Overview")),
            MenuEntry("payments", _("Payments")),
            MenuEntry("payment_pages", _("Payment pages")),
            MenuEntry("refunds", _("Refunds")),
            MenuEntry("disputes", _("Disputes"), NEEDS_AN_ANSWER),
            # Payouts, top-ups and settlements lie below it.
            MenuEntry("balance", _("Balance")),
            MenuEntry("statements", _("Statements")),
            MenuEntry("customers", _("Customers")),
        ),
    ),
    MenuGroup(
        _("Developers"),
        (
            MenuEntry("keys", _("API keys")),
            MenuEntry("request_logs", _("Request logs")),
            MenuEntry("webhooks", _("Webhooks")),
            MenuEntry("events", _("Events")),
        ),
    ),
    MenuGroup(
        _("Settings"),
        (
            MenuEntry("settings", _("Merchant")),
            MenuEntry("websites", _("Websites and callbacks")),
            MenuEntry("team", _("Team")),
            MenuEntry("audit_log", _("Audit log")),
        ),
    ),
)


def links(
    member: Member, path: str, counts: Mapping[str, int]
) -> list[tuple[str | Promise, list[MenuLink]]]:
    """Return the groups that a member sees, each with its heading and links.

    :param path: of the page that is shown.
    :param counts: of what waits, by the name of its page.
    """
    shown = [
        (
            group.heading,
            [_link(member, entry, path, counts) for entry in group.entries if _may(member, entry)],
        )
        for group in GROUPS
    ]
    return [(heading, found) for heading, found in shown if found]


def _may(member: Member, entry: MenuEntry) -> bool:
    return permissions.may_open(member, entry.page)


def _link(member: Member, entry: MenuEntry, path: str, counts: Mapping[str, int]) -> MenuLink:
    url = reverse(f"panel:{entry.page}", args=[member.merchant_id])
    waits = counts.get(entry.page, 0)
    # The overview's address is the beginning of all others.
    is_below = entry.page != "overview" and path.startswith(f"{url}/")
    is_current = path == url or is_below
    first = entry.while_something_waits if waits else ""
    return MenuLink(f"{url}{first}", entry.label, is_current, waits)
