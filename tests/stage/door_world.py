"""Money that goes back at one of several doors to a bank: a merchant, the bank, faults, days.

Unlike `money_world` it asks nothing that only the sandbox's bank has, so that each step fits every
door; what a door has of its own is in its `Door`.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from itertools import repeat
from typing import Any, NamedTuple

from django.db.models import Sum

from acquirers.conversation import kinds
from acquirers.notices import tasks as notice_tasks
from acquirers.notices.models import Inbox
from cases.models import Case
from cases.states import CaseKind
from core import clock
from ledger.models import LedgerEntry
from merchants.models import NegativeLimit
from payments.disputes.models import Dispute
from payments.intents.models import Attempt, PaymentIntent
from payments.refunds import tasks as refund_tasks
from payments.refunds.models import Refund
from payments.refunds.taken_back import DESCRIPTION
from testbank import decisions, misbehaviours
from testbank.models import Chargeback, Recovery
from testbank.models import Dispute as BankDispute
from testbank.states import DisputeState
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean, audit
from tests.stage.bank_days import begin_at_noon, end_the_day, end_the_day_nearly
from tests.stage.bank_transport import bank_in_process, call_bank
from tests.stage.client import ApiClient
from tests.stage.factories import open_merchant
from tests.stage.garanti.way import garanti_behind
from tests.stage.money_world import WAITS, pick
from tests.stage.nestpay.way import nestpay_behind
from tests.stage.oldbank import nameless
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import ADAPTER, old_bank_behind
from tests.stage.protocol_way import XML
from tests.stage.refund_books import given_back
from tests.stage.sweeper import sweep

# Two payments of one merchant may be refunded by equal parts, whatever their amounts.
PART = 2_000
# Without names one refund of a payment is at the bank at a time, and each silence may last a day.
MOST_DAYS = 30
AMOUNTS = (12_500, 12_500, 5_001)


class Door(NamedTuple):
    """A way to a bank.

    :param behind: puts the bank behind the installation.
    :param planned: lets the bank misbehave by itself, by a name of `MISBEHAVIOURS`.
    :param content_type: of requests that arrive late; empty if the door's process takes none.
    """

    name: str
    behind: Callable[[], AbstractContextManager[Any]]
    planned: Callable[[str], None]
    misbehaviours: tuple[str, ...]
    content_type: str = ""
    has_disputes: bool = False


def real_doors() -> dict[str, Door]:
    """Return the doors of real banks' protocols."""
    of_nestpay = (
        "timeout_reversed", "recorded_late", "host_timeout", "silent", "silent_before", "html",
        "duplicate", "not_settled", "settled",
    )  # fmt: skip
    of_garanti = (*of_nestpay, "contradiction", "wrong_answer_hash", "05")
    found = (
        Door("NestPay", nestpay_behind, misbehaviours.plan, of_nestpay, XML),
        Door("Garanti", garanti_behind, misbehaviours.plan, of_garanti, XML),
    )
    return {door.name: door for door in found}


def doors(old_bank: OldBank) -> dict[str, Door]:
    """Return the doors, each to a bank whose book is empty."""

    def old(adapter: str) -> AbstractContextManager[Any]:
        old_bank.reset()
        old_bank.refund_after(days=1)
        return old_bank_behind(old_bank, adapter=adapter)

    def plan(kind: str) -> None:
        # The bank reverses payments alone.
        old_bank.misbehave(kind, on="Sale" if kind == "timeout_reversed" else "*")

    of_old = ("timeout_reversed", "hang", "hang_before", "half", "html", "duplicate")
    found = (
        Door("sandbox", bank_in_process, lambda _kind: None, (), "application/json", True),
        *real_doors().values(),
        Door("old bank", lambda: old(ADAPTER), plan, of_old),
        Door("old bank without names", lambda: old(nameless.ADAPTER), plan, of_old),
    )
    return {door.name: door for door in found}


class DoorWorld:
    """One merchant whose payments all go by one door."""

    def __init__(self, door: Door, way: Any) -> None:
        self.door, self.way = door, way
        self.shop = ApiClient(open_merchant("Acme Store", website="https://acme.example"))
        terms = {"merchant": self.shop.merchant, "currency": "try"}
        NegativeLimit.objects.update_or_create(**terms, defaults={"amount": 10_000_000})
        begin_at_noon()

    # --- The merchant ---------------------------------------------------------------------------

    def pay(self, amount: int) -> None:
        self.shop.pay(amount=amount)

    def refund(self, number: int, size: str) -> bool:
        paid = PaymentIntent.objects.filter(status__in=("succeeded", "processing"))
        intent = pick(paid.order_by("created_at", "id"), number)
        if intent is None:
            return False
        amount = {"all": None, "part": PART, "half": max(1, intent.amount_refundable // 2)}[size]
        answer = self.shop.refund(intent.id, amount)
        assert answer.status in (200, 400, 409, 503), answer.body
        return bool(answer.status == 200)

    def cancel(self, number: int) -> bool:
        pending = Refund.objects.filter(status="pending").order_by("created_at", "id")
        refund = pick(pending, number)
        if refund is None:
            return False
        return bool(self.shop.post(f"/v1/refunds/{refund.id}/cancel").status == 200)

    # --- The bank -------------------------------------------------------------------------------

    @contextmanager
    def broken(self, fault: str | None) -> Iterator[None]:
        """Break the way to the bank for the length of the block."""
        self.way.fault = fault
        try:
            yield
        finally:
            self.way.fault = None

    def misbehave(self, number: int) -> str | None:
        """Let the bank itself misbehave at the next request that it fits; return how."""
        if not self.door.misbehaviours:
            return None
        kind = self.door.misbehaviours[number % len(self.door.misbehaviours)]
        self.door.planned(kind)
        return kind

    def arrive_late(self) -> bool:
        """Let what was lost on its way arrive now; the answers reach nobody."""
        lost, told = list(self.way.lost), self.door.content_type
        self.way.lost.clear()
        for method, path, content in lost if told else ():
            call_bank(method, path, content, told)
        return bool(lost and told)

    def dispute(self, number: int) -> bool:
        """Let a cardholder dispute a part, or the bank decide it, as its notices tell."""
        if not self.door.has_disputes:
            return False
        dispute = pick(BankDispute.objects.filter(state=DisputeState.OPEN), number)
        attempt = pick(Attempt.objects.filter(status="succeeded").order_by("created_at"), number)
        with suppress(decisions.Undecidable):
            if dispute is not None:
                (decisions.lose if number % 2 else decisions.win)(dispute.reference)
            elif attempt is not None:
                decisions.dispute(attempt.acquirer_reference, amount=None if number % 2 else PART)
            self.work()
            return True
        return False

    # --- Time -----------------------------------------------------------------------------------

    def pass_time(self, how: str) -> None:
        """Move the clock; over a minute or more what was on its way is lost for good."""
        with suppress(ValueError):  # The moment is past.
            if how == "to the second before the day ends":
                end_the_day_nearly(timedelta(seconds=1))
            elif how == "to the very end of the day":
                end_the_day()
            else:
                clock.advance(SPANS[how])
        if how != "seconds":
            self.way.lost.clear()

    def work(self) -> None:
        """Run the jobs that beat runs."""
        if self.door.has_disputes:
            Inbox.objects.update(held_until=None)
            notice_tasks.take_in()
        refund_tasks.send_waiting()
        sweep()

    def come_to_rest(self) -> None:
        """Let the bank be honest, and the jobs run until nothing is left for them to do."""
        self.way.lost.clear()
        self.way.fault = None
        misbehaviours.behave()
        for wait in (*WAITS, *repeat(WAITS[-1], MOST_DAYS)):
            self._decide_all()
            self.work()
            if not self._left():
                return
            clock.advance(wait)
        raise AssertionError(f"something never ends: {self._left()}")

    def _decide_all(self) -> None:
        for dispute in BankDispute.objects.filter(state=DisputeState.OPEN):
            decisions.win(dispute.reference)

    def _left(self) -> list[str]:
        return [
            f"{row!r} due {row.due_at}"
            for kind in kinds.KINDS.values()
            for row in kind.model._default_manager.filter(due_at__isnull=False)
            if not (isinstance(row, Refund) and row.is_waiting)
        ]

    # --- The books ------------------------------------------------------------------------------

    def assert_books_agree(self) -> int:
        """Compare the bank's book, the payments, the ledger and the audit, to the kuruş.

        A reversal of a payment that was refunded in part before is a person's: nothing is booked,
        and the audit has to name it.

        :returns: the number of such payments.
        """
        left = self._left_to_a_person()
        for attempt in Attempt.objects.all():
            if attempt.id not in left:
                self._assert_payment_agrees(attempt)
        assert LedgerEntry.objects.aggregate(sum=Sum("amount"))["sum"] in (0, None)
        if not left:
            assert_audit_is_clean(despite_unknown=True)
            return 0
        status, said = audit()
        references = Attempt.objects.filter(id__in=left).values_list(
            "acquirer_reference", flat=True
        )
        assert status == 1, said
        assert any(name in said for name in (*left, *references)), said
        return len(left)

    def _assert_payment_agrees(self, attempt: Attempt) -> None:
        if attempt.captured_minor:  # Otherwise the bank may have reversed what it took, unseen.
            given_back(attempt.intent_id)
        orders = bank_books.orders([attempt.acquirer_reference])
        assert len(orders) <= 1, orders
        took = sum(one.captured_amount - sum(one.given_back) for one in orders)
        took -= self._charged_back(attempt)
        entries = LedgerEntry.objects.filter(
            account__kind="acquirer", movement__charge_id=attempt.id
        )
        booked = -(entries.aggregate(sum=Sum("amount"))["sum"] or 0)
        assert booked == took, f"{attempt.id}: the ledger has {booked}, the bank {took}"

    def _charged_back(self, attempt: Attempt) -> int:
        of_order = {"dispute__authorization__reference": attempt.acquirer_reference}
        sums = [
            model.objects.filter(**of_order).aggregate(sum=Sum("amount"))["sum"] or 0
            for model in (Chargeback, Recovery)
        ]
        return sums[0] - sums[1]

    def _left_to_a_person(self) -> list[str]:
        cases = Case.objects.filter(kind=CaseKind.REVERSED_BY_BANK)
        booked = Refund.objects.filter(description=DESCRIPTION).values_list("attempt_id", flat=True)
        taken = Attempt.objects.filter(id__in=cases.values("attempt_id"), captured_minor__gte=1)
        return [one.id for one in taken if one.id not in booked]

    def ends(self) -> list[str]:
        """Return how things ended, to be counted."""
        refunds = Refund.objects.values_list("method", "status", "description")
        return [
            *(f"{method} {status}" for method, status, _ in refunds),
            *("reversal booked" for *_, text in refunds if text == DESCRIPTION),
            *(f"dispute {one}" for one in Dispute.objects.values_list("status", flat=True)),
        ]


SPANS = {
    "seconds": timedelta(seconds=6),
    "a minute": timedelta(seconds=70),
    "an hour": timedelta(hours=1, seconds=100),
    "days": timedelta(days=2),
}
TIMES = (*SPANS, "to the second before the day ends", "to the very end of the day")
