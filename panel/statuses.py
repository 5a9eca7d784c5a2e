"""Statuses as people see them: a glyph, a label and a colour, never a colour alone."""

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Badge(NamedTuple):
    """How a status is shown.

    :param colour: of Tabler's: green yellow azure blue red secondary.
    """

    glyph: str
    word: str | Promise
    colour: str


# By the API's values, of all kinds of objects: each means the same wherever it stands.
BADGES: dict[str, Badge] = {
    "succeeded": Badge("✓", _("Succeeded"), "green"),
    "requires_action": Badge("◔", _("Waits for the payer"), "yellow"),
    "requires_capture": Badge("◑", _("To be captured"), "azure"),
    "processing": Badge("…", _("Processing"), "blue"),
    "requires_payment_method": Badge("✕", _("Card needed"), "red"),
    "canceled": Badge("–", _("Canceled"), "secondary"),
    "requires_confirmation": Badge("○", _("To be confirmed"), "secondary"),
    "authorized": Badge("◑", _("Authorised"), "azure"),
    "abandoned": Badge("–", _("Did not come back"), "secondary"),
    "superseded": Badge("–", _("Overtaken"), "secondary"),
    "pending": Badge("◔", _("Pending"), "yellow"),
    # Of the panel alone: money that is not available yet, which the API calls `pending`.
    "pending_funds": Badge("◔", _("Pending funds"), "yellow"),
    "failed": Badge("✕", _("Failed"), "red"),
    "needs_response": Badge("◔", _("Needs an answer"), "yellow"),
    "under_review": Badge("…", _("Under review"), "blue"),
    "won": Badge("✓", _("Won"), "green"),
    "lost": Badge("✕", _("Lost"), "red"),
    "warning_needs_response": Badge("◔", _("Inquiry: needs an answer"), "yellow"),
    "warning_under_review": Badge("…", _("Inquiry: under review"), "blue"),
    "warning_closed": Badge("–", _("Inquiry closed"), "secondary"),
    "enabled": Badge("✓", _("Enabled"), "green"),
    "disabled": Badge("–", _("Disabled"), "secondary"),
    # Of the panel alone: the API calls it `enabled`.
    "in_trouble": Badge("!", _("Does not answer"), "yellow"),
    "failing": Badge("✕", _("Failing"), "red"),
    "delivered": Badge("✓", _("Delivered"), "green"),
    "not_sent": Badge("–", _("Will not be sent"), "secondary"),
    "in_transit": Badge("…", _("On its way"), "blue"),
    "paid": Badge("✓", _("Paid out"), "green"),
    "reversed": Badge("✕", _("Taken back"), "red"),
    "available": Badge("✓", _("Available"), "green"),
    "active": Badge("✓", _("Active"), "green"),
    "open": Badge("◔", _("Open"), "yellow"),
    "complete": Badge("✓", _("Complete"), "green"),
    "expired": Badge("–", _("Expired"), "secondary"),
    "revoked": Badge("–", _("Revoked"), "secondary"),
}


def badge(status: str) -> Badge:
    """Return how a status is shown; an unknown one is grey, under its own name."""
    return BADGES.get(status) or Badge("○", status.replace("_", " "), "secondary")
