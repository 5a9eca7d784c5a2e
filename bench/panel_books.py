"""The books, the charts and the desk of a large merchant: `python -m bench.panel_books ORDER.json`.

Prints JSON: the figures of each page, and the pages that were none.
"""

import json
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse

from bench import (
    installation,  # noqa: F401
    panel_books_fill,
    panel_reads,
)
from bench.bars import Figures
from bench.panel import BOOKS
from core import clock, local_days
from ledger import checkpoints, transactions
from merchants.models import Merchant, User
from panel.merchants import balance_lines, chart_figures, figures, money_back
from panel.merchants.chart_figures import PERIODS
from payments.intents import counted_days
from payouts.statements import closing
from payouts.statements.models import Statement

# By name, the query of the movements that are listed.
LISTS = {
    "movements": "currency=try",
    "movements, refunds": "currency=try&type=refund",
    "movements, payouts": "currency=try&type=payout",
    "movements, by amount": "currency=try&sort=-amount",
}
DEPTHS = (0.01, 0.5, 0.99)
AT = """
SELECT id FROM ledger_movement
WHERE merchant_id = %s AND type IS NOT NULL ORDER BY created_at DESC, id DESC OFFSET %s LIMIT 1
"""


def forget() -> None:
    """Let the next overview work its figures out."""
    figures.forget()
    chart_figures.forget()
    money_back.forget()


class BookReader:
    """Opens pages of one merchant as its owner, and of the desk as an operator.

    :param wrong: the pages that were none.
    """

    def __init__(self, merchant: Merchant, rounds: int) -> None:
        self.merchant, self.rounds = merchant, rounds
        self.wrong: list[str] = []
        self.owner = panel_reads.signed_in(panel_reads.owner_of(merchant))
        operator = User.objects.create_superuser(f"desk@{merchant.id.lower()}.example")
        self.operator = panel_reads.signed_in(operator)

    def open_all(self) -> Figures:
        """Open each of the pages."""
        books = self.open_movements() | self.open_statements() | self.open_balance()
        return books | self.open_charts() | self.open_desk()

    def open_movements(self) -> Figures:
        found: Figures = {}
        way = self._way("movements")
        for name, query in LISTS.items():
            found |= self.open(name, f"{way}?{query}")
        rows = transactions.of_merchant(self.merchant).count()
        for depth in DEPTHS:
            with connection.cursor() as cursor:
                cursor.execute(AT, [self.merchant.id, int(rows * depth)])
                [last] = cursor.fetchone()
            name = f"movements, {depth:.0%} deep"
            found |= self.open(name, f"{way}?currency=try&starting_after={last}")
        return found

    def open_statements(self) -> Figures:
        # Months are closed once the checkpoints have all that was written.
        while checkpoints.advance():
            pass
        began = time.monotonic()
        closing.close_due()
        found: Figures = {"closing_seconds": time.monotonic() - began}
        today = local_days.of(clock.now(), self.merchant.timezone)
        last = Statement.objects.filter(merchant=self.merchant).order_by("month").last()
        months: dict[str, date | None] = {"running": today, "last": last.month if last else None}
        for name, month in months.items():
            if month:
                way = self._way("statement", f"{month:%Y-%m}-try")
                found |= self.open(f"statement, {name}", way)
        return found | self.open("statements", self._way("statements"))

    def open_balance(self) -> Figures:
        return self.open("balance, cold", self._way("balance"), before=balance_lines.forget)

    def open_charts(self) -> Figures:
        began = time.monotonic()
        while counted_days.count_due():
            pass
        found: Figures = {"counting_seconds": time.monotonic() - began}
        for days in PERIODS:
            way = f"{self._way('overview')}?days={days}&currency=try"
            found |= self.open(f"overview, {days} days, cold", way, before=forget)
        return found

    def open_desk(self) -> Figures:
        one = reverse("admin:desk_merchant", args=[self.merchant.id])
        found = self.open("desk, work", reverse("admin:desk_work"), client=self.operator)
        return found | self.open("desk, merchant", one, client=self.operator)

    def open(
        self,
        name: str,
        url: str,
        *,
        client: Client | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> Figures:
        """Return the figures of a page, by its name; none if it is none."""

        def get() -> Any:
            before()
            return (client or self.owner).get(url, headers={"Host": settings.PANEL_AT})

        answer = get()
        if answer.status_code != 200:
            self.wrong.append(f"{url} answered {answer.status_code}")
            return {}
        found = panel_reads.opened(get, rounds=self.rounds)
        if found.is_late_explained:
            self.wrong.append(f"{BOOKS}{name} is late while it is explained")
        return panel_reads.named(f"{BOOKS}{name}", found)

    def _way(self, page: str, *arguments: str) -> str:
        return reverse(f"panel:{page}", args=[self.merchant.id, *arguments])


def measure(merchant_id: str, rounds: int, **rows: int) -> dict[str, Any]:
    """Fill the merchant's tables, and open the pages.

    :param rows: `payments`, `month` and `before`, as `panel_books_fill.fill` takes them.
    """
    merchant = Merchant.objects.get(id=merchant_id)
    began = time.monotonic()
    panel_books_fill.fill(merchant, **rows)
    found: Figures = {"books_fill_seconds": time.monotonic() - began}
    reader = BookReader(merchant, rounds)
    return {"figures": found | reader.open_all(), "wrong": reader.wrong}


if __name__ == "__main__":
    order = json.loads(Path(sys.argv[1]).read_text())
    print(json.dumps(measure(**order)))
