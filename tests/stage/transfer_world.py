"""The world of money, where it also leaves for the merchant's account, comes from it, and is due.

Payouts by API and by schedule, topups, transfers that somebody sends, days of settlement, the
calendar, and the bank's settlement file. Steps choose among what is possible, as in `money_world`.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

from django.core.management.base import CommandError

from acquirers.transfers import taking_in
from acquirers.transfers.models import TransferNotice
from core import clock, local_days
from ledger import calendar, calendar_changes
from ledger.tasks import settle_due
from merchants import accounts
from merchants.models import PayoutAccount, User
from payouts.models import Payout
from payouts.tasks import pay_out_daily
from payouts.topups import operators
from payouts.topups import tasks as topup_tasks
from payouts.topups.models import IncomingTransfer, Topup
from testbank import decisions, incoming
from testbank import models as bank
from testbank.days import ZONE
from tests.stage import settlement_days, transfers
from tests.stage.money_world import BEAT, JOBS, World, pick

# By what the merchant's account does, as the contract says of a sandbox.
DESTINATIONS = (
    None, None, "main", "test_account_closed", "test_no_account", "test_could_not_process",
    "test_incorrect_account_holder_name", "test_bank_account_restricted", "test_declined",
    "test_bounced", "test_bounced", "test_silent", "test_silent",
)  # fmt: skip
SOURCES = (None, None, "test_fail", "test_reverse", "test_never", "test_never")
# How a transfer that somebody sends differs from the one that a topup waits for.
SENDINGS = ("right", "right", "small letters", "wrong amount", "wrong currency", "unknown")
# Differences planted into a settlement file, each with the kind of the one case that must be found.
WRONG = {
    "missing": "missing_there",
    "extra": "missing_here",
    "amount": "amount_differs",
    "currency": "currency_differs",
    "duplicate": "twice",
}
# Jobs by name, besides those of `money_world`.
MORE_JOBS: dict[str, Callable[[], Any]] = {
    "settlement looks": settle_due,
    "payouts by schedule": pay_out_daily,
    "transfers' notices": transfers.hear,
    "telling the bank": topup_tasks.tell_bank,
}
MORE_BEAT = (*BEAT, "telling the bank", "transfers' notices")
JUMPS = ("to a month's end", "over a month's end", "to the next day", "for forty days")
MOVED: tuple[Any, ...] = (
    bank.Capture, bank.Reversal, bank.Repayment, bank.Bounce, bank.Chargeback, bank.Recovery,
    bank.TransferMove, bank.IncomingMove,
)  # fmt: skip


class TransferWorld(World):
    """The merchant `shop`, its account, its calendar, and the bank that transfers."""

    def open(self, *, negative_limit: int, parts: int) -> None:
        super().open(negative_limit=negative_limit, parts=parts)
        if not PayoutAccount.objects.filter(merchant=self.shop.merchant, reference="main").exists():
            is_first = not PayoutAccount.objects.filter(merchant=self.shop.merchant).exists()
            transfers.account(self.shop.merchant, is_default=is_first)

    # --- Payouts --------------------------------------------------------------------------------

    def pay_out(self, size: str, destination: str | None) -> str | None:
        """Ask for a payout of a part of what is available."""
        available = max(1, transfers.balance(self.shop))
        amount = {"all": available, "half": max(1, available // 2), "one": 1,
                  "too much": available + 1}[size]  # fmt: skip
        given = {"destination": destination} if destination else {}
        return self.post("/v1/payouts", {"amount": amount, "currency": "try", **given})

    def change_payout(self, number: int, how: str) -> bool:
        """Cancel or describe one of the payouts, whatever its state."""
        payout = pick(Payout.objects.order_by("created_at", "id"), -1 - number)
        if payout is None:
            return False
        door = "/cancel" if how == "cancel" else ""
        self.post(f"/v1/payouts/{payout.id}{door}", {} if door else {"description": f"{number}"})
        return True

    # --- Topups ---------------------------------------------------------------------------------

    def top_up(self, amount: int, source: str | None) -> str | None:
        given = {"source": source} if source else {}
        return self.post("/v1/topups", {"amount": amount, "currency": "try", **given})

    def change_topup(self, number: int, how: str) -> bool:
        topup = pick(Topup.objects.order_by("created_at", "id"), -1 - number)
        if topup is None:
            return False
        door = "/cancel" if how == "cancel" else ""
        self.post(f"/v1/topups/{topup.id}{door}", {} if door else {"description": f"{number}"})
        return True

    def send_money(self, number: int, how: str) -> bool:
        """Let somebody send a transfer: for one of the topups, or for none."""
        topup = pick(Topup.objects.order_by("created_at", "id"), -1 - number)
        if topup is None:
            return False
        text = {"unknown": "FOR WHAT WE OWE YOU", "small letters": topup.reference.lower()}
        incoming.receive(
            amount=topup.amount + (how == "wrong amount"),
            currency="usd" if how == "wrong currency" else "try",
            remittance=text.get(how, topup.reference),
        )
        return True

    def take_back(self, number: int) -> bool:
        """Let the bank take back one of the transfers that came in."""
        came = bank.IncomingTransfer.objects.order_by("pk")
        transfer = pick(came, -1 - number)
        if transfer is None:
            return False
        with suppress(decisions.Undecidable):
            decisions.take_back(transfer.reference)
            return True
        return False

    def decide_cases(self) -> int:
        """Let an operator decide the transfers that match nothing; return how many there were.

        Every other one becomes the merchant's; the rest, and those of another currency, go back.
        """
        cases = list(IncomingTransfer.objects.filter(status="unmatched").order_by("id"))
        for number, case in enumerate(cases):
            if number % 2 == 0 and case.currency == "try":
                goes_to = self.shop.merchant.id
                operators.assign(self.operator(), case, goes_to=goes_to, reason="They told us.")
            else:
                operators.send_back(self.operator(), case, reason="Sent back by hand.")
        return len(cases)

    def operator(self) -> User:
        return User.objects.get(memberships__merchant=self.shop.merchant)

    def tell_transfer_again(self, number: int) -> bool:
        """Let the bank tell one of its notices of transfers once more, under a new number."""
        newest: dict[Any, bank.TransferNotice] = {}
        for notice in bank.TransferNotice.objects.order_by("number"):
            newest[notice.transfer_id, notice.incoming_id] = notice
        again = pick(list(newest.values()), number)
        if again is None:
            return False
        counter = bank.TransferNoticeCounter.objects.get()
        counter.last += 1
        counter.save()
        again.pk = again.number = counter.last
        again.save(force_insert=True)
        return True

    # --- Days -----------------------------------------------------------------------------------

    def change_schedule(self, terms: dict[str, Any]) -> None:
        accounts.change(self.shop.merchant, {"payout_schedule": terms})

    def change_calendar(self, days: int, *, is_holiday: bool) -> None:
        """Let an operator add a public holiday, or take one away, in some days from today."""
        day = self.today() + timedelta(days=days)
        country = self.shop.merchant.country
        calendar_changes.change(country, day, is_holiday=is_holiday, reason="The ministry says so.")

    def jump(self, how: str) -> None:
        """Move the clock to the last hour of a month, over its end, or further."""
        today = self.today()
        after = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
        begins = local_days.begins(after, self.shop.merchant.timezone) - clock.now()
        spans = {
            "to a month's end": begins - timedelta(minutes=30),
            "over a month's end": begins + timedelta(minutes=30),
            "to the next day": timedelta(days=1),
            "for forty days": timedelta(days=40),
        }
        clock.advance(max(timedelta(0), spans[how]))
        self.bank.lost.clear()

    def today(self) -> date:
        return local_days.of(clock.now(), self.shop.merchant.timezone)

    def business_days(self) -> calendar.Calendar:
        return calendar.of(self.shop.merchant.country)

    # --- The bank's file ------------------------------------------------------------------------

    def days_with_money(self) -> list[date]:
        """Return the bank's days on which it moved money."""
        moments = (row for model in MOVED for row in model.objects.values_list("created_at"))
        return sorted({local_days.of(moment, ZONE) for (moment,) in moments})

    def read_file(self, number: int, wrong: str | None = None) -> bool:
        """Read the bank's file of one of its days; a difference may be planted in it."""
        day = pick(self.days_with_money(), number)
        with suppress(CommandError):  # Nothing in it that could be wrong.
            if day is not None:
                settlement_days.read(settlement_days.file_of(day, wrong=wrong), day)
                return True
        return False

    # --- Rest -----------------------------------------------------------------------------------

    def work(self, job: str, *, dies_in_it: bool = False) -> None:
        if job in MORE_JOBS:
            MORE_JOBS[job]()
        else:
            super().work(job, dies_in_it=dies_in_it)

    def beat(self) -> None:
        for job in MORE_BEAT:
            self.work(job)

    def left(self) -> list[str]:
        untold = Topup.objects.filter(tell_at__isnull=False)
        stored = TransferNotice.objects.filter(applied_at=None)
        told = bank.TransferNotice.objects.filter(number__gt=taking_in.last_number())
        moving = bank.Transfer.objects.filter(due_at__isnull=False)
        coming = bank.IncomingTransfer.objects.filter(due_at__isnull=False)
        return [*super().left(), *map(repr, (*untold, *stored, *told, *moving, *coming))]


ALL_JOBS = (*JOBS, *MORE_JOBS)
