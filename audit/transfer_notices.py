"""Notices of transfers that may explain why the bank's statement differs from our rows."""

from acquirers import rails
from acquirers.noticed import NoticesUnreadable
from acquirers.transfers import taking_in
from acquirers.transfers.models import TransferNotice
from core.errors import UpstreamUnavailable

PAGE = 200


class TransferNews:
    """The news since a statement was asked for; make it before the statement is.

    A line of the statement is older than our rows by then, and later notices may be applied
    already: they explain a difference as those do that are not applied.
    """

    def __init__(self) -> None:
        self._before = taking_in.last_number()

    def references(self) -> set[str]:
        """Return the references of notices that came since, or are not applied yet."""
        # The bank first: what is stored after it was asked is found in our table.
        at_the_bank = self._at_the_bank()
        rows = TransferNotice.objects.all()
        since = rows.filter(number__gt=self._before) | rows.filter(applied_at=None)
        return at_the_bank.union(since.values_list("reference", flat=True))

    def _at_the_bank(self) -> set[str]:
        found, after = set[str](), self._before
        try:
            while page := rails.rail().notices(after=after, limit=PAGE):
                found.update(notice.reference for notice in page)
                after = page[-1].number
        except (NoticesUnreadable, UpstreamUnavailable):
            pass
        return found
