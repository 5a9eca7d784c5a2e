"""Money as a state machine: whatever happens in whatever order, each kuruş is somewhere, once.

Each example is a world of its own (`tests.stage.money_world`), undone at its end. It ends at rest:
the bank is honest again, the jobs have run until nothing is left to do, and all books agree
(`tests.stage.money_books`, and the audit).
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any, ClassVar

from django.db import connections, transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from core import clock
from events.models import Event
from payments.disputes.models import Dispute
from payments.refunds.models import Refund
from tests.stage import money_books, money_world
from tests.stage.audited import assert_audit_is_clean
from tests.stage.faulty_bank import FAULTS
from tests.stage.money_stories import ENDINGS, STORIES, Story
from tests.stage.money_world import (
    AMOUNTS,
    BEAT,
    BOUNDARIES,
    CARDS,
    EVIDENCE,
    JOBS,
    PLANS,
    PRICES,
    SPANS,
    Terms,
    World,
)

DATABASES = ("default", "bank")
which = st.integers(min_value=0, max_value=11)
SIZES = ("all", "half", "all", "third", "one", "the rest", "too much")


class Money(RuleBasedStateMachine):
    """One merchant, and all who move money to it and back."""

    world_of: type[World] = World
    # The stories of each example; the first one leads to an ending.
    endings: ClassVar[dict[str, tuple[Story, ...]]] = ENDINGS
    leads_to = "void"
    fired: Counter[str] = Counter()
    # How many examples came to each ending.
    reached: Counter[str] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        for name in DATABASES:
            self.stack.enter_context(undone(name))
        self.world = self.stack.enter_context(money_world.opened(self.world_of))
        self.stories: list[Iterator[None]] = []

    def teardown(self) -> None:
        with self.stack:
            self.tell_to_the_end()
            self.world.come_to_rest()
            self.assert_books_agree()
            self.let_all_end()
            self.assert_books_agree()
            self.count()

    # --- What happens ---------------------------------------------------------------------------

    @initialize(
        negative_limit=st.sampled_from((0, 0, 300, 3_000)),
        price=st.sampled_from(PRICES),
        parts=st.sampled_from((1, 1, 3)),
        number=which,
        others=st.lists(st.sampled_from(STORIES), min_size=1, max_size=2),
    )
    def begin(
        self,
        negative_limit: int,
        price: Terms,
        parts: int,
        number: int,
        others: list[Story],
    ) -> None:
        self.world.open(negative_limit=negative_limit, parts=parts)
        self.world.agree(price)
        leading = self.endings[self.leads_to]
        stories = [leading[number % len(leading)], *others]
        self.stories = [story(self.world) for story in stories]

    @rule(numbers=st.lists(which, min_size=1, max_size=3))
    def go_on(self, numbers: list[int]) -> None:
        """Tell some of the stories a step further."""
        for number in numbers:
            if self.stories:
                self.note("a step of a story")
                self.tell(self.stories[number % len(self.stories)])

    def tell(self, story: Iterator[None]) -> None:
        if next(story, self) is self:
            self.stories.remove(story)

    @rule(
        card=st.sampled_from(CARDS),
        amount=st.sampled_from(AMOUNTS),
        plan=st.sampled_from(PLANS),
        manual=st.sampled_from((False, False, True)),
    )
    def pay(self, card: str, amount: int, plan: tuple[int, int], manual: bool) -> None:
        self.world.pay(card, amount, plan, manual=manual)
        self.note("pay")

    @rule(number=which, how=st.sampled_from(("all", "part", "cancel")))
    def operate(self, number: int, how: str) -> None:
        self.note(f"capture {how}", self.world.operate(number, how))

    @rule(
        number=which,
        size=st.sampled_from(SIZES),
        dies_at=st.sampled_from((None, None, None, *BOUNDARIES)),
    )
    def refund(self, number: int, size: str, dies_at: str | None) -> None:
        done = self.world.refund_some(number, size, dies_at=dies_at)
        self.note(f"refund {size}", done)
        self.note(f"death: {dies_at}", done and dies_at is not None)

    @rule(number=which, other=which)
    def decide(self, number: int, other: int) -> None:
        how = self.world.decide(number, other)
        self.note(f"bank: {how}", how is not None)

    @rule(
        number=which,
        how=st.sampled_from(("submit", "submit", "draft", "close", "cancel", "describe")),
        end=st.sampled_from(EVIDENCE),
    )
    def answer(self, number: int, how: str, end: str) -> None:
        if how in ("cancel", "describe"):
            self.note(f"refund: {how}", self.world.change_refund(number, how))
        else:
            self.note(f"dispute: {how}", self.world.answer_some(number, how, end))

    @rule(number=which)
    def retry(self, number: int) -> None:
        self.note("retry", self.world.retry(number))

    @rule(
        how=st.sampled_from((*SPANS, "seconds", "to the end of the day", "over the end of the day"))
    )
    def time_passes(self, how: str) -> None:
        self.note(how)
        self.world.pass_time(how)

    @rule(jobs=st.lists(st.sampled_from((*JOBS, "notices", "beat")), min_size=1, max_size=3))
    def work(self, jobs: list[str]) -> None:
        for job in jobs:
            self.note(job)
            for one in BEAT if job == "beat" else (job,):
                self.world.work(one)

    @rule(number=which, how=st.sampled_from(("again", "late", "die", "again")))
    def disturb(self, number: int, how: str) -> None:
        """Tell a notice again, let lost requests arrive, or let a poller die."""
        if how == "again":
            self.note("told again", self.world.tell_again(number))
        elif how == "late":
            self.note("arrived late", bool(self.world.bank.lost))
            self.world.bank.arrives_late()
        else:
            self.world.work("notices", dies_in_it=True)

    @rule(faults=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=3))
    def break_the_way(self, faults: list[str]) -> None:
        self.world.bank.faults = faults

    # --- The end --------------------------------------------------------------------------------

    def tell_to_the_end(self) -> None:
        """Tell the stories to their ends, turn by turn; the way may still be broken."""
        while self.stories:
            for story in list(self.stories):
                self.tell(story)

    def let_all_end(self) -> None:
        """Let the due dates pass, and the time for which a refund waits for funds."""
        for days in (11, 20):
            clock.advance(timedelta(days=days))
            self.world.settle()
            self.world.come_to_rest()

    def assert_books_agree(self) -> None:
        for name in DATABASES:
            _check_constraints(name)
        money_books.assert_right(self.world.shop, self.world.prices)
        assert_audit_is_clean()

    # --- Words ----------------------------------------------------------------------------------

    def note(self, kind: str, happened: bool = True) -> None:
        if happened:
            Money.fired[kind] += 1

    def count(self) -> None:
        """Count the endings that the example came to."""
        Money.reached.update({name for name in self.ended() if name})
        Money.fired.update(f"way: {fault}" for fault in self.world.bank.met)

    def ended(self) -> list[str]:
        """Return the endings that the example came to."""
        return _endings()


def _endings() -> list[str]:
    refunds, disputes = Refund.objects.all(), Dispute.objects.all()
    told = [event["data"] for event in _bodies("refund.")]
    return [
        "void" if refunds.filter(method="void", status="succeeded").exists() else "",
        *("void become refund" for data in told if data["previous_attributes"].get("method")),
        *("waiting for funds" for data in told if _waits(data)),
        *("bounced" for data in told if data["previous_attributes"].get("status") == "succeeded"),
        *(f"refund {status}" for status in refunds.values_list("status", flat=True)),
        *(f"failed: {why}" for why in refunds.values_list("failure_reason", flat=True) if why),
        *disputes.values_list("status", flat=True),
        *("regained" for event in _bodies("dispute.closed") if _is_regained(event["data"])),
        *("escalated" for event in _bodies("dispute.updated") if _is_escalated(event["data"])),
    ]


def _bodies(prefix: str) -> list[dict[str, Any]]:
    rows = Event.objects.filter(type__startswith=prefix).values_list("body", flat=True)
    return [json.loads(bytes(body)) for body in rows]


def _waits(data: dict[str, Any]) -> bool:
    return "insufficient_funds" in (
        data["object"]["pending_reason"],
        data["previous_attributes"].get("pending_reason"),
    )


def _is_regained(data: dict[str, Any]) -> bool:
    return data["previous_attributes"].get("status") == "lost"


def _is_escalated(data: dict[str, Any]) -> bool:
    former = data["previous_attributes"].get("status") or ""
    return former.startswith("warning_") and data["object"]["status"] == "needs_response"


@contextmanager
def undone(name: str) -> Iterator[None]:
    """Open a transaction on a database, and undo it at the end of the block."""
    example = transaction.atomic(using=name)
    # As the test's own transaction: what opens one of its own may do so in it.
    example._from_testcase = True
    with example:
        try:
            yield
        finally:
            transaction.set_rollback(True, using=name)


def _check_constraints(name: str) -> None:
    """Check now what is deferred to the end of a transaction, which no example comes to."""
    with connections[name].cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
