"""The state machine of money, in which money also leaves, comes, becomes due, and is read of.

Whatever happens to payments, refunds and disputes happens beside payouts, topups, runs, schedules,
holidays, ends of months, and readings of the bank's settlement file. At its end each example is
held against the bank's files of all of its days, too.
"""

from collections import Counter
from datetime import date, timedelta
from itertools import zip_longest
from typing import Any, ClassVar, cast

from hypothesis import strategies as st
from hypothesis.stateful import rule

from audit.reconciliation import reading
from core import clock
from payouts.models import Payout
from tests.stage import settlement_days, transfer_books
from tests.stage.audited import audit
from tests.stage.money_machine import Money, which
from tests.stage.money_stories import Story, lost
from tests.stage.money_world import GOOD, PRICES, TURKISH, World
from tests.stage.transfer_stories import ENDINGS
from tests.stage.transfer_world import (
    DESTINATIONS,
    JUMPS,
    MORE_JOBS,
    SENDINGS,
    SOURCES,
    WRONG,
    TransferWorld,
)

INTERVALS: tuple[dict[str, Any], ...] = (
    {"interval": "daily"},
    {"interval": "daily", "minimum_amount": 3_000},
    {"interval": "weekly", "weekly_anchor": "tuesday"},
    {"interval": "monthly", "monthly_anchor": 31},
    {"interval": "manual"},
)
# Each of them must have happened in every proof.
RULES = frozenset({
    *(f"payout to {name}" for name in DESTINATIONS), *(f"topup: {name}" for name in SOURCES),
    *(f"transfer: {how}" for how in SENDINGS), *(f"jump {how}" for how in JUMPS), *MORE_JOBS,
    "payout: cancel", "payout: describe", "topup: cancel", "topup: describe",
    "transfer taken back", "transfer told again", "schedule", "holiday added", "holiday removed",
    "file read", *(f"file read: {wrong}" for wrong in WRONG),
    "file at rest", "planted at rest", "cases decided", "pay", "a step of a story", "refund all",
})  # fmt: skip


class AllMoney(Money):
    """One merchant, and all that may happen to its money."""

    world_of: type[World] = TransferWorld
    endings: ClassVar[dict[str, tuple[Story, ...]]] = ENDINGS
    leads_to = "payout paid"

    @property
    def transfers(self) -> TransferWorld:
        return cast("TransferWorld", self.world)

    # --- What happens ---------------------------------------------------------------------------

    @rule(
        size=st.sampled_from(("all", "half", "one", "too much", "half")),
        destination=st.sampled_from(DESTINATIONS),
    )
    def pay_out(self, size: str, destination: str | None) -> None:
        self.transfers.pay_out(size, destination)
        self.note(f"payout to {destination}")

    @rule(
        number=which, how=st.sampled_from(("cancel", "cancel", "describe")), of_topup=st.booleans()
    )
    def change(self, number: int, how: str, of_topup: bool) -> None:
        change = self.transfers.change_topup if of_topup else self.transfers.change_payout
        noun = "topup" if of_topup else "payout"
        self.note(f"{noun}: {how}", change(number, how))

    @rule(amount=st.sampled_from((1, 2_500, 40_000)), source=st.sampled_from(SOURCES))
    def top_up(self, amount: int, source: str | None) -> None:
        self.transfers.top_up(amount, source)
        self.note(f"topup: {source}")

    @rule(number=which, how=st.sampled_from((*SENDINGS, "taken back", "told again")))
    def send_money(self, number: int, how: str) -> None:
        """Let a transfer come that somebody sends; or the bank takes one back, or tells again."""
        if how == "taken back":
            self.note("transfer taken back", self.transfers.take_back(number))
        elif how == "told again":
            self.note("transfer told again", self.transfers.tell_transfer_again(number))
        else:
            self.note(f"transfer: {how}", self.transfers.send_money(number, how))

    @rule(
        interval=st.sampled_from(INTERVALS),
        delay_days=st.sampled_from((0, 1, 1, 5, 30)),
        installments=st.sampled_from(("whole", "monthly")),
    )
    def change_schedule(self, interval: dict[str, Any], delay_days: int, installments: str) -> None:
        terms = {"delay_days": delay_days, "installments": installments}
        self.transfers.change_schedule({"minimum_amount": 0, **interval, **terms})
        self.note("schedule")

    @rule(days=st.integers(0, 4), is_holiday=st.booleans())
    def change_calendar(self, days: int, is_holiday: bool) -> None:
        self.transfers.change_calendar(days, is_holiday=is_holiday)
        self.note("holiday added" if is_holiday else "holiday removed")

    @rule(how=st.sampled_from(JUMPS))
    def jump(self, how: str) -> None:
        self.transfers.jump(how)
        self.note(f"jump {how}")

    @rule(jobs=st.lists(st.sampled_from((*MORE_JOBS, "sweep")), min_size=1, max_size=4))
    def work_on_transfers(self, jobs: list[str]) -> None:
        for job in jobs:
            self.note(job)
            if job == "payouts by schedule":
                self.look_for_payouts()
            else:
                self.world.work(job)

    @rule(number=which, wrong=st.sampled_from((None, None, *WRONG)))
    def read_file(self, number: int, wrong: str | None) -> None:
        """Read a file of the bank's, right or wrong, while things are under way."""
        is_read = self.transfers.read_file(number, wrong)
        self.note(f"file read: {wrong}" if wrong else "file read", is_read)

    def look_for_payouts(self) -> None:
        """Run the look for payouts by schedule, and judge those that it makes."""
        known = set(Payout.objects.values_list("id", flat=True))
        self.world.work("payouts by schedule")
        for payout in Payout.objects.filter(automatic=True).exclude(id__in=known):
            day = self.transfers.today()
            assert payout.scheduled_on == day, payout
            assert self.transfers.business_days().is_business_day(day), payout
            assert transfer_books.unsettled(payout.merchant_id, day) == 0, payout

    # --- The end --------------------------------------------------------------------------------

    def let_all_end(self) -> None:
        self.assert_files_agree()
        super().let_all_end()
        # The last of the parts is three months and thirty business days away.
        clock.advance(timedelta(days=150))
        audit()
        self.world.come_to_rest()
        assert transfer_books.pending(self.world.shop) == 0

    def assert_books_agree(self) -> None:
        self.note("cases decided", self.transfers.decide_cases() > 0)
        super().assert_books_agree()
        transfer_books.assert_right(self.world.shop)

    def assert_files_agree(self) -> None:
        """Read the bank's files of all days, twice; then one with a difference, and it mended."""
        days = self.transfers.days_with_money()
        for turn in range(2):
            for day in days:
                done = settlement_days.read(settlement_days.file_of(day), day)
                assert done.unread == 0, done
                assert turn == 0 or not (done.opened or done.closed), done
        assert settlement_days.found() == []
        self.note("file at rest", bool(days))
        if plain := [day for day in days if settlement_days.is_plain(day)]:
            self.assert_a_planted_difference_is_found(plain[-1])

    def assert_a_planted_difference_is_found(self, day: date) -> None:
        wrong = list(WRONG)[Money.fired["planted at rest"] % len(WRONG)]
        for _ in range(2):
            file = settlement_days.file_of(day, wrong=wrong)
            settlement_days.read(file, day)
            found = settlement_days.found()
            assert [kind for kind, _type in found] == [WRONG[wrong]], (wrong, found, file)
        settlement_days.read(settlement_days.file_of(day), day)
        assert reading.open_differences() == 0
        self.note("planted at rest")

    # --- Words ----------------------------------------------------------------------------------

    def ended(self) -> list[str]:
        return [*super().ended(), *transfer_books.endings()]


def walk() -> None:
    """Let everything happen once, in one order: what no draw comes to is tried all the same."""
    machine = AllMoney()
    with machine.stack:
        machine.begin(negative_limit=300, price=PRICES[0], parts=3, number=0, others=[lost])
        _go(machine)
        machine.teardown()


def _go(machine: AllMoney) -> None:
    machine.pay(GOOD, 10_000, (500, 3), False)
    machine.top_up(40_000, None)
    machine.work_on_transfers(["telling the bank", "transfers' notices"])
    for destination in DESTINATIONS:
        machine.pay_out("one", destination)
    machine.change(0, "cancel", of_topup=False)
    machine.time_passes("a minute")
    machine.work_on_transfers(["sweep"])
    machine.time_passes("seconds")
    machine.work_on_transfers(["transfers' notices"])
    for source, sending in zip_longest(SOURCES, SENDINGS, fillvalue="right"):
        machine.top_up(2_500, None if source == "right" else source)
        machine.send_money(0, sending)
    for how in ("describe", "cancel"):
        machine.change(0, how, of_topup=True)
        machine.change(0, how, of_topup=False)
    machine.change_schedule(INTERVALS[0], 1, "monthly")
    for is_holiday in (True, False):
        machine.change_calendar(3, is_holiday)
    for how in JUMPS:
        machine.go_on([0, 1])
        machine.jump(how)
        machine.work_on_transfers(["sweep", *MORE_JOBS])
        machine.pay(TURKISH, 12_345, (0, 1), False)
    machine.refund(0, "all", None)
    for how in ("told again", "taken back"):
        machine.send_money(0, how)
    for number, wrong in enumerate((None, *WRONG)):
        machine.read_file(number, wrong)


def never_tried(fired: Counter[str]) -> list[str]:
    """Return the rules that no example has come to."""
    return sorted(RULES - {rule for rule, times in fired.items() if times})
