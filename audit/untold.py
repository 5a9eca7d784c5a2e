"""Notices of banks that are not applied yet: they explain why the bank's book differs from ours."""

import acquirers
from acquirers import doubt
from acquirers.models import Terminal
from acquirers.noticed import NoticesUnreadable
from acquirers.notices.models import Notice
from audit.findings import Findings
from core.errors import UpstreamUnavailable

PAGE = 200


def check() -> Findings:
    """List the stored notices that are not applied; the next run tries them again."""
    found = Findings("notices of banks are applied", looked_at=Notice.objects.count())
    for notice in Notice.objects.filter(applied_at=None).order_by("terminal", "number"):
        tried = f" after {notice.tries} tries ({notice.last_error})" if notice.tries else ""
        found.unknown.append(f"notice {notice} about {notice.reference} is not applied{tried}")
    return found


def orders() -> set[str]:
    """Return the references of orders with notices that are not applied yet.

    They are stored, or still at the bank. The caller has read the bank's statement before.
    """
    # The bank first: what is stored after it was asked is found in our table.
    at_the_banks = [_at_the_bank(terminal) for terminal in Terminal.objects.all()]
    stored = set(Notice.objects.filter(applied_at=None).values_list("reference", flat=True))
    return stored.union(*at_the_banks)


def _at_the_bank(terminal: Terminal) -> set[str]:
    """Return the orders of the notices that are not fetched; empty if they cannot be read."""
    last = Notice.objects.filter(terminal=terminal).order_by("-number").first()
    after, found = last.number if last else 0, set[str]()
    try:
        gateway = acquirers.at(terminal)
        while page := doubt.notices_of(gateway, terminal, after=after, limit=PAGE):
            found.update(notice.reference for notice in page)
            after = page[-1].number
    except (UpstreamUnavailable, NoticesUnreadable):
        pass
    return found
