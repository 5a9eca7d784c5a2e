"""A world in which money goes to a merchant and back: shop, bank, cardholders, jobs, time.

One merchant, whose payments may have surcharge and be settled in several parts; the test bank in
this process, behind a way that breaks as it is told to. Each step takes numbers, and chooses by
them among what is possible as things stand: so a state machine may draw them blindly.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from unittest.mock import patch
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.utils import timezone

import acquirers
from acquirers.conversation import kinds, settling
from acquirers.models import Terminal
from acquirers.noticed import NoticesUnreadable
from acquirers.notices import applying, polling, storing
from acquirers.notices import tasks as notice_tasks
from acquirers.notices.models import Inbox
from core import clock, context
from core.rest import expansion
from ledger import calendar, settlement
from ledger.models import Price
from merchants.models import IdempotencyKey, NegativeLimit
from payments.charging import installments
from payments.charging.installments import ChosenPlan
from payments.disputes import tasks as dispute_tasks
from payments.disputes.models import Dispute
from payments.disputes.states import DisputeStatus
from payments.intents.models import Attempt, PaymentIntent
from payments.refunds import asking
from payments.refunds import tasks as refund_tasks
from payments.refunds.models import Refund
from payments.refunds.states import RefundStatus
from testbank import decisions
from testbank.models import Authorization, Notice, NoticeCounter
from testbank.models import Dispute as BankDispute
from testbank.models import Refund as BankRefund
from testbank.states import DisputeState, RefundState
from tests.stage.bank_days import begin_at_noon, end_the_day, end_the_day_nearly
from tests.stage.bank_transport import bank_in_process
from tests.stage.client import ApiClient
from tests.stage.factories import open_merchant, payment
from tests.stage.faulty_bank import FaultyBank
from tests.stage.sweeper import Died, dies, on_one_thread_each, sweep


class Terms(NamedTuple):
    """The price of a charge: hundredths of a per cent, and minor units."""

    bps: int
    fixed: int = 25
    returns_fee: bool = False


GOOD, TURKISH = "4242424242424242", "5528790000000008"
DISPUTED, INQUIRED = "4000000000000259", "4000000000001976"
REFUND_PENDS, REFUND_FAILS_LATER = "4000000000007726", "4000000000005126"
REFUND_REFUSED, CAPTURE_REFUSED = "4000001100000074", "4000001100000066"
SILENT, LATE = "4000001100000017", "4000001100000033"
CARDS = (
    GOOD, GOOD, TURKISH, DISPUTED, INQUIRED, INQUIRED, REFUND_PENDS, REFUND_FAILS_LATER,
    REFUND_REFUSED, CAPTURE_REFUSED, SILENT, LATE,
)  # fmt: skip
AMOUNTS = (10_000, 12_345, 99, 10_000, 7_777, 1)
# In hundredths of a per cent of the amount, and their count.
PLANS = ((0, 1), (500, 3), (777, 2), (0, 1))
WINNING, LOSING, OTHER = "winning_evidence", "losing_evidence", "It was delivered."
EVIDENCE = (WINNING, LOSING, OTHER)

PRICES = (Terms(250), Terms(250, returns_fee=True), Terms(2_000), Terms(777, 3, returns_fee=True))

# Where the process dies that refunds: the function that is not reached, or is reached last.
BOUNDARIES: dict[str, tuple[Any, str, bool]] = {
    "row committed": (settling, "pursue", False),
    "bank asked": (asking.KIND, "ask", True),
    "bank answered": (settling, "apply_with_retry", False),
    "settled": (settling, "apply_with_retry", True),
    "before the answer": (expansion, "expand", False),
}


class Post(NamedTuple):
    """A request that a merchant may send again with the same key."""

    path: str
    body: dict[str, Any]
    key: str


class World:
    """The merchant `shop`, the bank, and everything that may happen to money."""

    def __init__(self, bank: FaultyBank) -> None:
        self.bank = bank
        self.shop = ApiClient(open_merchant("Acme Store", website="https://acme.example"))
        self.posts: list[Post] = []
        # By key, the id of the object that the request was answered with.
        self.made: dict[str, str] = {}
        self.plan, self.parts = ChosenPlan(1, 0), 1
        self.prices: list[tuple[datetime, Terms]] = []

    def open(self, *, negative_limit: int, parts: int) -> None:
        """Agree on the merchant's limit, and begin a day."""
        terms = {"merchant": self.shop.merchant, "currency": "try"}
        NegativeLimit.objects.update_or_create(**terms, defaults={"amount": negative_limit})
        self.parts = parts
        begin_at_noon()

    def agree(self, price: Terms) -> None:
        """Agree on the price of all charges from now on."""
        self.prices.append((clock.now(), price))
        terms = {"merchant": self.shop.merchant, "currency": "try"}
        Price.objects.update_or_create(**terms, defaults=price._asdict())

    # --- The merchant ---------------------------------------------------------------------------

    def pay(
        self, number: str, amount: int, plan: tuple[int, int] = (0, 1), *, manual: bool = False
    ) -> str | None:
        """Charge a card; return the payment's id, None if its request was not answered."""
        bps, count = plan
        self.plan = ChosenPlan(count, amount * bps // 10_000)
        method = "manual" if manual else "automatic"
        return self.post(
            "/v1/payment_intents", payment(number, amount=amount, capture_method=method)
        )

    def operate(self, number: int, how: str) -> bool:
        """Capture or cancel one of the payments that await it."""
        waiting = PaymentIntent.objects.filter(status="requires_capture").order_by("created_at")
        intent = pick(waiting, number)
        if intent is None:
            return False
        door = "cancel" if how == "cancel" else "capture"
        # Payments in installments are captured whole.
        is_part = how == "part" and intent.amount_capturable > 1 and not intent.surcharge
        body = {"amount_to_capture": intent.amount_capturable // 2} if is_part else {}
        self.post(f"/v1/payment_intents/{intent.id}/{door}", body)
        return True

    def refund_some(self, number: int, size: str, *, dies_at: str | None = None) -> bool:
        """Refund a part of one of the payments, or all that is left."""
        paid = PaymentIntent.objects.filter(status__in=("succeeded", "processing"))
        intent = pick(paid.order_by("created_at"), number)
        if intent is None:
            return False
        self.refund(intent.id, _part(intent, size), dies_at=dies_at)
        return True

    def refund(
        self, payment_id: str | None, amount: int | None = None, *, dies_at: str | None = None
    ) -> str | None:
        """Refund a payment or a part of it; the request may die on its way."""
        part = {} if amount is None else {"amount": amount}
        body = {"payment_intent": payment_id or "pi_unknown", **part}
        return self.post("/v1/refunds", body, dies_at=dies_at)

    def change_refund(self, number: int, how: str) -> bool:
        pending = Refund.objects.filter(status=RefundStatus.PENDING).order_by("created_at")
        refund = pick(pending, number)
        if refund is None:
            return False
        door = "/cancel" if how == "cancel" else ""
        body = {} if door else {"metadata": {"n": str(number)}}
        self.post(f"/v1/refunds/{refund.id}{door}", body)
        return True

    def answer_some(self, number: int, how: str, text: str) -> bool:
        """Answer one of the disputes that await it: `submit`, `draft` or `close`."""
        dispute = pick(_awaiting().order_by("created_at"), number)
        if dispute is None:
            return False
        if how == "close":
            self.close(dispute.intent_id)
        else:
            self.answer(dispute.intent_id, text, submit=how == "submit")
        return True

    def answer(self, payment_id: str | None, text: str, *, submit: bool = True) -> None:
        """Give evidence in the payment's disputes that await it."""
        body = {"evidence": {"uncategorized_text": text}, "submit": submit}
        for dispute in _awaiting().filter(intent_id=payment_id):
            self.post(f"/v1/disputes/{dispute.id}", body)

    def close(self, payment_id: str | None) -> None:
        for dispute in _awaiting().filter(intent_id=payment_id):
            self.post(f"/v1/disputes/{dispute.id}/close", {})

    def post(self, path: str, body: dict[str, Any], *, dies_at: str | None = None) -> str | None:
        """Send a request with a key of its own; it is the merchant's to send it again."""
        post = Post(path, body, secrets.token_hex(16))
        self.posts.append(post)
        return self.send(post, dies_at=dies_at)

    def retry(self, number: int) -> bool:
        """Send an earlier request again with its key; whatever died is dead by now."""
        if not self.posts:
            return False
        self.leases_run_out()
        self.send(self.posts[-1 - number % len(self.posts)])
        return True

    def send(self, post: Post, *, dies_at: str | None = None) -> str | None:
        """Send a request; return the id of the object that it is answered with."""
        with dying(dies_at):
            answer = self.shop.post(post.path, post.body, idempotency_key=post.key)
            # 503: the bank was not reached, and nothing was begun.
            assert answer.status in (200, 400, 404, 409, 503), answer.body
            if answer.status == 200:
                assert self.made.setdefault(post.key, answer["id"]) == answer["id"]
                return str(answer["id"])
        return None

    # --- The bank -------------------------------------------------------------------------------

    def decide(self, number: int, other: int) -> str | None:
        """Let a person at the bank decide one of what can be decided; return what."""
        possible = self._decidable()
        if not possible:
            return None
        how = sorted(possible)[other % len(possible)]
        reference = possible[how][number % len(possible[how])]
        with suppress(decisions.Undecidable):
            _decide(how, reference, number)
            return how
        return None

    def _decidable(self) -> dict[str, list[str]]:
        charged = Authorization.objects.filter(captured_amount__gt=0, state="authorized")
        orders = [row.reference for row in charged.order_by("pk") if row.available_amount]
        disputes = BankDispute.objects.order_by("pk")
        found = {
            how: [row.reference for row in disputes.filter(state__in=states)]
            for how, states in DECIDABLE.items()
        }
        repaid = BankRefund.objects.filter(state=RefundState.REFUNDED).order_by("pk")
        found["bounce"] = [row.reference for row in repaid]
        found["dispute"] = found["inquiry"] = orders
        return {how: references for how, references in found.items() if references}

    def complain(self, payment_id: str | None, amount: int | None = None) -> None:
        """Let the cardholder dispute a payment, or a part of it."""
        for order in _orders(payment_id):
            with suppress(decisions.Undecidable):
                decisions.dispute(order.reference, amount=amount)

    def bounce(self, payment_id: str | None) -> None:
        """Let the payment's refunds come back."""
        rows = BankRefund.objects.filter(authorization__in=_orders(payment_id))
        for refund in rows.filter(state=RefundState.REFUNDED):
            with suppress(decisions.Undecidable):
                decisions.bounce(refund.reference)

    def at_the_bank(self, how: str, payment_id: str | None) -> None:
        """Let a person at the bank decide the payment's disputes."""
        rows = BankDispute.objects.filter(authorization__in=_orders(payment_id))
        for dispute in rows.filter(state__in=DECIDABLE[how]):
            with suppress(decisions.Undecidable):
                _decide(how, dispute.reference, 0)

    def tell_again(self, number: int) -> bool:
        """Let the bank tell the last news of an object once more, under a new number."""
        newest: dict[object, Notice] = {}
        for notice in Notice.objects.order_by("number"):
            newest[notice.dispute_id or ("refund", notice.refund_id)] = notice
        again = pick(list(newest.values()), number)
        if again is None:
            return False
        counter = NoticeCounter.objects.get()
        counter.last += 1
        counter.save()
        again.pk, again.number = None, counter.last
        again.save(force_insert=True)
        return True

    # --- Jobs and time --------------------------------------------------------------------------

    def work(self, job: str, *, dies_in_it: bool = False) -> None:
        """Run one of the jobs that beat runs."""
        with dying("a notice applied" if dies_in_it else None):
            JOBS[job](self)

    def repeat_notices(self) -> None:
        """Read all of the bank's notices from the beginning, as a poller that lost its place."""
        terminal = Terminal.objects.get()
        with suppress(NoticesUnreadable):
            for after in range(0, storing.last_number(terminal) + 1, polling.PAGE):
                bank = acquirers.at(terminal)
                storing.store(terminal, bank.notices(terminal, after=after, limit=polling.PAGE))
        self.take_in()

    def take_in(self) -> None:
        Inbox.objects.update(held_until=None)  # The real time of a failure's wait has passed.
        notice_tasks.take_in()

    def settle(self) -> None:
        merchant = self.shop.merchant
        today = clock.now().astimezone(ZoneInfo(merchant.timezone)).date()
        settlement.settle(merchant, "try", on=today)

    def leases_run_out(self) -> None:
        """Let the real time pass for which a dead process keeps others from its work."""
        past = timezone.now() - timedelta(seconds=1)
        IdempotencyKey.objects.update(lease_until=past)
        for kind in kinds.KINDS.values():
            rows = kind.model._default_manager.filter(lease_until__isnull=False)
            rows.update(lease_until=past)
        Inbox.objects.update(held_until=None)

    def pass_time(self, how: str) -> None:
        """Move the clock; over a minute or more whatever was on its way is lost for good."""
        if how == "to the end of the day":
            with suppress(ValueError):  # It is there already.
                end_the_day_nearly(timedelta(seconds=1))
        elif how == "over the end of the day":
            with suppress(ValueError):  # Another process has done it this moment.
                end_the_day()
        else:
            clock.advance(SPANS[how])
        if how != "seconds":
            self.bank.lost.clear()

    def come_to_rest(self) -> None:
        """Lift all faults, and let the jobs run until nothing is left for them to do."""
        self.bank.faults.clear()
        self.bank.lost.clear()
        self.leases_run_out()
        for wait in WAITS:
            self.beat()
            if not self.left():
                return
            clock.advance(wait)
        self.beat()
        assert not self.left(), f"something never ends: {self.left()}"

    def beat(self) -> None:
        for job in BEAT:
            self.work(job)

    def left(self) -> list[str]:
        """Return what is left to be done, as far as nobody's decision is awaited."""
        in_doubt = [
            f"{row!r} due {row.due_at}"
            for kind in kinds.KINDS.values()
            for row in kind.model._default_manager.filter(due_at__isnull=False)
            if not _waits_for_a_date(row)
        ]
        notices = applying.Notice.objects.filter(applied_at=None)
        untold = Notice.objects.filter(number__gt=storing.last_number(Terminal.objects.get()))
        overdue = Dispute.objects.filter(
            status__in=("needs_response", "warning_needs_response"),
            evidence_due_by__lte=clock.now(),
        )
        return [*in_doubt, *map(repr, (*notices, *untold, *overdue))]


def _waits_for_a_date(row: Any) -> bool:
    """Tell whether a row is due only because something ends then: an authorisation, a wait."""
    is_held = isinstance(row, Attempt) and row.status == "authorized"
    return is_held or (isinstance(row, Refund) and row.is_waiting)


DECIDABLE = {
    "win": [DisputeState.OPEN],
    "lose": [DisputeState.OPEN],
    "regain": [DisputeState.LOST, DisputeState.ACCEPTED],
    "end": [DisputeState.INQUIRY],
    "escalate": [DisputeState.INQUIRY, DisputeState.CLOSED],
}
JOBS: dict[str, Callable[[World], Any]] = {
    "sweep": lambda _world: sweep(),
    "notices": lambda world: world.take_in(),
    "due dates": lambda _world: dispute_tasks.close_overdue(),
    "waiting": lambda _world: refund_tasks.send_waiting(),
    "settlement": lambda world: world.settle(),
    "notices again": lambda world: world.repeat_notices(),
}
# The waits in which all that is in doubt comes to its end: three times "no record", and more.
WAITS = [timedelta(seconds=s) for s in (6, 70, 200, 900, 4000, 22_000, 90_000, 90_000, 90_000)]
BEAT = ("notices", "due dates", "waiting", "sweep")
SPANS = {
    "seconds": timedelta(seconds=6),
    "a minute": timedelta(seconds=70),
    "hours": timedelta(hours=3),
    "days": timedelta(days=2),
    "the due date": timedelta(days=10, seconds=1),
}


def _awaiting() -> QuerySet[Dispute]:
    """Return the disputes and inquiries that await their merchant's answer."""
    awaited = (DisputeStatus.NEEDS_RESPONSE, DisputeStatus.WARNING_NEEDS_RESPONSE)
    return Dispute.objects.filter(status__in=awaited)


def _orders(payment_id: str | None) -> QuerySet[Authorization]:
    """Return what the bank has of a payment."""
    attempts = Attempt.objects.filter(intent_id=payment_id)
    references = list(attempts.values_list("acquirer_reference", flat=True))
    return Authorization.objects.filter(reference__in=references)


def pick(rows: Any, number: int) -> Any:
    """Return the row of a number, counted round and round; None if there is none."""
    found = list(rows)
    return found[number % len(found)] if found else None


def _part(intent: PaymentIntent, size: str) -> int | None:
    left = intent.amount_refundable
    return {
        "all": None,
        "half": max(1, left // 2),
        "third": max(1, left // 3),
        "one": 1,
        "the rest": max(1, left),
        "too much": left + 1,
    }[size]


def _decide(how: str, reference: str, number: int) -> None:
    if how in ("dispute", "inquiry"):
        left = Authorization.objects.get(reference=reference).available_amount
        amount = max(1, left // 2) if number % 2 else None
        getattr(decisions, how)(reference, amount=amount)
    else:
        getattr(decisions, how.partition(" ")[0])(reference)


@contextmanager
def dying(boundary: str | None) -> Iterator[None]:
    """Let the process die at the boundary, if one is named and the block comes there."""
    places = {**BOUNDARIES, "a notice applied": (applying.NOTICES, "apply", True)}
    with dies(*places[boundary][:2], afterwards=places[boundary][2]) if boundary else nullcontext():
        try:
            yield
        except Died:
            context.end()


@contextmanager
def opened(world_of: Callable[[FaultyBank], World] = World) -> Iterator[World]:
    """Open a world: the caller has a transaction on each database, and undoes it afterwards."""
    bank = FaultyBank()
    with ExitStack() as stack:
        stack.enter_context(bank_in_process(bank))
        stack.enter_context(on_one_thread_each())
        world = world_of(bank)
        dates = calendar.value_dates
        stack.enter_context(patch.object(installments, "plan_of", lambda *_asked: world.plan))
        stack.enter_context(
            patch.object(
                calendar,
                "value_dates",
                lambda day, *, parts=1, **terms: dates(day, parts=max(parts, world.parts), **terms),
            )
        )
        yield world
