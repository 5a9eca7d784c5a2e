"""The lists that are measured, each as a query of the API and as plain SQL.

The SQL is the check of the answers: it shares nothing with the list engine.
"""

from datetime import datetime
from typing import NamedTuple

from bench.lists_rows import TIMES

DEPTH = 40_000
LIMIT = 100
COUNTED = "&include[]=total_count"

SUCCEEDED = "status = 'succeeded'"
CHANNEL = "metadata ->> 'channel' = 'web'"
GOLD = "metadata ->> 'tier' = 'gold'"
CREATED = "created_at >= to_timestamp({since}) AND created_at < to_timestamp({until})"


class Case(NamedTuple):
    """A list.

    :param name: the beginning of the names of its figures.
    :param where: the query string in SQL; it reads the JSON column, not the metadata entries.
    """

    name: str
    query: str
    where: str = "true"
    order: str = "created_at DESC, id DESC"

    def since(self, now: datetime) -> "Case":
        """Return it with the instants that it is about."""
        begin, end = now - TIMES * 3 / 4, now - TIMES / 10
        instants = {"since": int(begin.timestamp()), "until": int(end.timestamp())}
        return self._replace(
            query=self.query.format(**instants, cursor="{cursor}"),
            where=self.where.format(**instants),
        )


# Of these a page at depth costs what page 1 does.
DEEP = [
    Case("newest", "sort=-created"),
    Case("oldest", "sort=created", order="created_at, id"),
    Case("dearest", "sort=-amount", order="amount DESC, id DESC"),
    Case("cheapest", "sort=amount", order="amount, id"),
    Case("status", "status=succeeded", SUCCEEDED),
    Case("amount", "amount[gte]=50000", "amount >= 50000"),
    Case("metadata", "metadata[channel]=web", CHANNEL),
    Case("created", "created[gte]={since}&created[lt]={until}", CREATED),
    Case("up_to", "amount[lte]=400000&sort=-amount", "amount <= 400000", "amount DESC, id DESC"),
    Case("metadata_by_amount", "metadata[channel]=web&sort=amount", CHANNEL, "amount, id"),
    Case("currency", "currency=eur", "currency = 'eur'"),
    Case("method", "capture_method=manual", "capture_method = 'manual'"),
]
# Fewer than a page, and none at all.
FEW = [
    Case("few_metadata", "metadata[tier]=gold", GOLD),
    Case("few_by_amount", "metadata[tier]=gold&sort=amount", GOLD, "amount, id"),
    Case("few_status", "status=processing", "status = 'processing'"),
    Case("few_currency", "currency=gbp", "currency = 'gbp'"),
    Case("no_currency", "currency=jpy", "currency = 'jpy'"),
]
# Requests that one client repeats; `{cursor}` is the id of a row at depth.
ENDPOINTS = [
    Case("page", "sort=-created"),
    Case("page_deep", "starting_after={cursor}"),
    Case("page_metadata", "metadata[channel]=web", CHANNEL),
    Case("counted", f"sort=-created{COUNTED}"),
    Case("counted_status", f"status=succeeded{COUNTED}", SUCCEEDED),
    Case("counted_metadata", f"metadata[channel]=web{COUNTED}", CHANNEL),
    Case("counted_currency", f"currency=eur{COUNTED}", "currency = 'eur'"),
]
