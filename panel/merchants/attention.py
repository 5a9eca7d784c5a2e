"""Open tasks of the overview, each with the page that helps."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext, ngettext

from core import money
from merchants.models import Member
from panel import permissions
from panel.merchants import links
from panel.merchants.figures import Figures


class Note(NamedTuple):
    """One thing that waits.

    :param what: it is about: `dispute`, `endpoint` or `key`.
    """

    what: str
    text: str
    url: str
    detail: str


def notes(member: Member, figures: Figures, now: datetime) -> list[Note]:
    """Return what a member may see to, disputes first."""
    found = [*_disputes(member, figures, now)]
    if permissions.may_open(member, "endpoint"):
        found += [*_endpoints(member, figures), *_keys(member, figures)]
    return found


def _disputes(member: Member, figures: Figures, now: datetime) -> Iterator[Note]:
    for row in figures.disputes:
        days = max(0, (row.evidence_due_by - now).days)
        amount = money.written(row.amount, row.currency)
        text = gettext("A dispute of %(amount)s waits for your answer") % {"amount": amount}
        left: Any = ngettext("%(days)s day left", "%(days)s days left", days) % {"days": days}
        yield Note(
            "dispute", text, links.to(member, row.id), left if days else gettext("Due today")
        )


def _endpoints(member: Member, figures: Figures) -> Iterator[Note]:
    for row in figures.endpoints:
        yield Note("endpoint", gettext("An endpoint is failing"), links.to(member, row.id), row.url)


def _keys(member: Member, figures: Figures) -> Iterator[Note]:
    for row in figures.keys:
        days = max(0, (row.expires_at - timezone.now()).days) if row.expires_at else 0
        text = gettext("The key %(name)s expires") % {"name": row.name}
        left: Any = ngettext("in %(days)s day", "in %(days)s days", days) % {"days": days}
        yield Note("key", text, links.to(member, row.id), left if days else gettext("today"))
