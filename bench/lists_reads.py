"""The buffers that PostgreSQL reads for a page: `python -m bench.lists_reads ORDER.json`.

The list engine is asked as the API asks it. Of each of its statements PostgreSQL reports
how many shared buffers it touches, found in memory or not; and each page is held against a
plain query without cursors and metadata entries. Prints JSON.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from django.db import connection
from django.http import QueryDict

from bench import (
    buffers,
    installation,  # noqa: F401
)
from bench.bars import Figures
from bench.lists_cases import COUNTED, DEEP, ENDPOINTS, FEW, LIMIT, Case
from core import clock, context
from core.querysets import MerchantRows
from core.rest import lists
from merchants.models import Merchant
from payments.charging.views import PaymentIntentViewSet
from payments.intents.models import PaymentIntent

COUNT_MAX = 10_000  # A total count ends here (spec: List conventions 4).
SPEC = PaymentIntentViewSet.lists["list"]
EXPECTED = "SELECT id FROM intents_paymentintent WHERE merchant_id = %s AND {} ORDER BY {} LIMIT %s"


class Read(NamedTuple):
    """A page's ids, and the buffers of its own statement: not of the looking up of a cursor."""

    ids: list[str]
    has_more: bool
    buffers: int


@dataclass
class Reader:
    """Reads a merchant's lists; `wrong` names in sentences the pages that were not right."""

    rows: MerchantRows
    depth: int
    pages: int = 0
    wrong: list[str] = field(default_factory=list)

    def deep(self, case: Case) -> Figures:
        """Measure page 1, and the pages before and behind a row at depth."""
        ids = self._expected(case, self.depth + LIMIT + 1)
        if len(ids) <= self.depth + LIMIT:
            self.wrong.append(f"{case.query} has but {len(ids)} rows")
            return {}
        place = self.depth
        first = self._read(case, ids[:LIMIT])
        after = self._read(case, ids[place:][:LIMIT], f"&starting_after={ids[place - 1]}")
        before = self._read(case, ids[place - LIMIT : place], f"&ending_before={ids[place]}")
        touched = [page.buffers for page in (first, after, before)]
        away = max(abs(count - first.buffers) for count in touched)
        return {
            **dict(zip(_names(case, "first", "after", "before"), touched, strict=True)),
            f"{case.name}_away_percent": 100 * away / first.buffers,
        }

    def few(self, case: Case) -> Figures:
        """Measure the whole of a list that is shorter than a page."""
        found = self._read(case, self._expected(case, LIMIT))
        return {f"{case.name}_rows": len(found.ids), f"{case.name}_buffers": found.buffers}

    def answer(self, case: Case) -> dict[str, Any]:
        """Return what the API is to be asked, and what it is to answer."""
        is_counted = case.query.endswith(COUNTED)
        begin = self.depth if "{cursor}" in case.query else 0
        ids = self._expected(case, max(begin + LIMIT + 1, COUNT_MAX if is_counted else 0))
        return {
            "name": case.name,
            "query": f"{case.query.format(cursor=ids[begin - 1])}&limit={LIMIT}",
            "ids": ids[begin:][:LIMIT],
            "has_more": len(ids) > begin + LIMIT,
            "total_count": len(ids) if is_counted else None,
        }

    def _expected(self, case: Case, count: int) -> list[str]:
        assert self.rows.merchant is not None  # `for_merchant` made them.
        given = [self.rows.merchant.pk, count]
        with connection.cursor() as cursor:
            cursor.execute(EXPECTED.format(case.where, case.order), given)
            return [row_id for (row_id,) in cursor.fetchall()]

    def _read(self, case: Case, expected: list[str], cursor: str = "") -> Read:
        found = read(self.rows, f"{case.query}&limit={LIMIT}{cursor}")
        self.pages += 1
        if found.ids != expected or found.has_more != (len(expected) == LIMIT):
            missing = len(set(expected) - set(found.ids))
            self.wrong.append(
                f"{case.query}{cursor} with {len(found.ids)} rows: {missing} of the"
                f" {len(expected)} right ones are missing, or others or their order are wrong"
            )
        return found


def _names(case: Case, *parts: str) -> list[str]:
    return [f"{case.name}_{part}_buffers" for part in parts]


def read(rows: MerchantRows, query: str) -> Read:
    page, touched = buffers.of_statements(lambda: lists.page(rows, QueryDict(query), SPEC, url="/"))
    return Read([row.id for row in page.rows], page.has_more, touched[-1])


def measure(merchant_id: str, depth: int, parts: Sequence[str]) -> dict[str, Any]:
    merchant = Merchant.objects.get(id=merchant_id)
    reader = Reader(PaymentIntent.objects.for_merchant(merchant), depth)
    figures: Figures = {}
    for case in DEEP if "deep" in parts else ():
        figures |= reader.deep(case.since(clock.now()))
    for case in FEW if "few" in parts else ():
        figures |= reader.few(case)
    answers = [reader.answer(case) for case in ENDPOINTS] if "endpoint" in parts else []
    return {
        "figures": figures,
        "pages": reader.pages,
        "wrong": reader.wrong,
        "answers": answers,
    }


if __name__ == "__main__":
    order = json.loads(Path(sys.argv[1]).read_text())
    with context.work():
        print(json.dumps(measure(**order)))
