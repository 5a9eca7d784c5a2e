"""Statements as a part of the ledger's state machine: however money and time move, they tie.

Time goes forward, over ends of months too; the merchant's zone changes; jobs run now and then.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from core import clock, csv_rows
from ledger import balance, checkpoints, day_sums, paid_out, transactions
from merchants.models import Merchant
from panel.merchants import csv_forms, statement_rows
from payouts.statements import closing, drafting
from payouts.statements.models import Statement
from tests.stage.ledger_machine import Money

ZONES = ("Europe/Istanbul", "America/New_York", "Asia/Kathmandu", "Pacific/Auckland")
HOURS = (0, 1, 11, 30, 24 * 20, 24 * 100)
KINDS = {"charge", "refund", "dispute_opened", "payout", "topup", "closed", "zone"}


class Left(NamedTuple):
    """A payout as it left: `available` before and after it, in minor units."""

    payout_id: str
    amount: int
    available: int
    stayed: int


class Months(Money):
    """One merchant whose months are closed; what was made is remembered byte by byte."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 2, 6, tzinfo=UTC)
        self.real_now = clock.now
        clock.now = lambda: self.moment  # type: ignore[assignment]
        self.files: dict[str, bytes] = {}
        self.paid_out: list[Left] = []
        super().__init__()
        self.merchant = self.till.merchant

    def teardown(self) -> None:
        try:
            self.close()
            self.statements_tie()
            for number in range(len(self.paid_out)):
                self.lines_sum_to_the_payout(number)
        finally:
            clock.now = self.real_now  # type: ignore[assignment]
            super().teardown()

    @rule(hours=st.sampled_from(HOURS), minutes=st.integers(0, 59))
    def pass_time(self, hours: int, minutes: int) -> None:
        self.moment += timedelta(hours=hours, minutes=minutes)

    @rule(zone=st.sampled_from(ZONES))
    def change_zone(self, zone: str) -> None:
        Merchant.objects.filter(pk=self.merchant.pk).update(timezone=zone)
        self.merchant.refresh_from_db()
        self.fired["zone"] += 1

    @rule()
    def advance(self) -> None:
        checkpoints.advance()

    @rule()
    def close(self) -> None:
        checkpoints.advance()
        self.fired["closed"] += closing.close_due()

    def payout(self, amount: int, number: int, share: int) -> None:
        before = self.till.sums().get("available", 0)
        known = len(self.others)
        super().payout(amount, number, share)
        if len(self.others) > known:
            made = self.others[-1]
            stayed = self.till.sums().get("available", 0)
            self.paid_out.append(Left(made.movement.cause_id, made.amount, before, stayed))
            self.lines_sum_to_the_payout(-1)

    def lines_sum_to_the_payout(self, number: int) -> None:
        """Compare a payout's lines with what was available before it, and after it."""
        number %= len(self.paid_out)
        one, last = self.paid_out[number], self.paid_out[number - 1] if number else None
        before = last.payout_id if last else None
        made = paid_out.made_of(self.merchant.id, "try", one.payout_id, before)
        assert (made.amount, made.stayed) == (one.amount, one.stayed)
        assert made.left == (last.stayed if last else 0)
        assert made.left + sum(made.changes.values()) == one.available

    @invariant()
    def statements_tie(self) -> None:
        made = list(drafting.of_merchant(self.merchant, "try"))
        if (running := drafting.running(self.merchant, "try")) is not None:
            funds = balance.funds(self.merchant.id, "try")
            assert (running.available, running.pending) == (funds.available, funds.pending)
            assert running.closing == funds.available + funds.pending
            self._follow_each_other([*made, running])
        for one in made:
            self.is_as_it_was(one)

    @invariant()
    def the_newest_balance_is_all_there_is(self) -> None:
        rows = transactions.of_merchant(self.merchant).order_by("-created_at", "-id")
        if newest := rows.first():
            funds = balance.funds(self.merchant.id, "try")
            after = day_sums.balances_after([newest]).amounts[newest.id]
            assert after == funds.available + funds.pending

    def _follow_each_other(self, made: list[Statement]) -> None:
        opening, begins_at = 0, made[0].begins_at
        for one in made:
            assert (one.opening, one.begins_at) == (opening, begins_at)
            assert one.closing == one.opening + one.net == one.available + one.pending
            assert one.net == statement_rows.whole(one).net
            opening, begins_at = one.closing, one.ends_at
        rows = transactions.of_merchant(self.merchant)
        assert sum(statement_rows.whole(one).number for one in made) == rows.count()

    def is_as_it_was(self, one: Statement) -> None:
        form = csv_forms.PROGRAMS
        header = csv_forms.header(form, statement_rows.COLUMNS)
        written = csv_forms.writer(form, statement_rows.COLUMNS, self.merchant.timezone)
        rows = map(written, statement_rows.cells(one, is_final=True))
        file = b"".join(csv_rows.pieces(header, rows, delimiter=form.delimiter))
        assert self.files.setdefault(one.id, file) == file
