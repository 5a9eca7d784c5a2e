"""Refunds and disputes as a state machine that also draws the door, and how its bank misbehaves."""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.stage.door_world import AMOUNTS, TIMES, Door, DoorWorld
from tests.stage.money_machine import DATABASES, undone
from tests.stage.sweeper import on_one_thread_each

FAULTS = (None, None, None, "cut_after", "lost", "lost", "delay", "garble", "cut_before")
which = st.integers(min_value=0, max_value=11)


class Doors(RuleBasedStateMachine):
    """One merchant at one door, in a world that is undone at its end."""

    doors: ClassVar[Mapping[str, Door]] = {}
    fired: Counter[str] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.world: DoorWorld | None = None

    @initialize(number=which, amounts=st.lists(st.sampled_from(AMOUNTS), min_size=1, max_size=2))
    def begin(self, number: int, amounts: list[int]) -> None:
        for name in DATABASES:
            self.stack.enter_context(undone(name))
        door = list(self.doors.values())[number % len(self.doors)]
        way = self.stack.enter_context(door.behind())
        self.stack.enter_context(on_one_thread_each())
        self.world = DoorWorld(door, way)
        self.note(f"door: {door.name}")
        for amount in amounts:
            self.pay(amount, None)

    def teardown(self) -> None:
        with self.stack:
            if self.world is None:
                return
            self.world.come_to_rest()
            left = self.world.assert_books_agree()
            self.note("left to a person", left > 0)
            Doors.fired.update(f"end: {end}" for end in self.world.ends())

    def pay_at(self, amount: int, fault: str | None) -> None:
        assert self.world is not None
        with self.world.broken(fault):
            self.world.pay(amount)

    @rule(amount=st.sampled_from(AMOUNTS), fault=st.sampled_from(FAULTS))
    def pay(self, amount: int, fault: str | None) -> None:
        self.pay_at(amount, fault)
        self.note(f"pay, {fault or 'answered'}")

    @rule(
        number=which,
        size=st.sampled_from(("part", "part", "part", "half", "all")),
        fault=st.sampled_from(FAULTS),
    )
    def refund(self, number: int, size: str, fault: str | None) -> None:
        assert self.world is not None
        with self.world.broken(fault):
            done = self.world.refund(number, size)
        self.note(f"refund {size}, {fault or 'answered'}", done)

    @rule(number=which)
    def cancel(self, number: int) -> None:
        assert self.world is not None
        self.note("refund canceled", self.world.cancel(number))

    @rule(number=which)
    def dispute(self, number: int) -> None:
        assert self.world is not None
        self.note("dispute", self.world.dispute(number))

    @rule(number=which)
    def misbehave(self, number: int) -> None:
        assert self.world is not None
        kind = self.world.misbehave(number)
        self.note(f"bank: {kind}", kind is not None)

    @rule()
    def arrive_late(self) -> None:
        assert self.world is not None
        self.note("arrived late", self.world.arrive_late())

    @rule(how=st.sampled_from(TIMES), works=st.booleans())
    def time_passes(self, how: str, works: bool) -> None:
        assert self.world is not None
        self.world.pass_time(how)
        if works:
            self.world.work()
        self.note(how)

    @rule(fault=st.sampled_from(FAULTS))
    def work(self, fault: str | None) -> None:
        assert self.world is not None
        with self.world.broken(fault):
            self.world.work()

    def note(self, kind: str, happened: bool = True) -> None:
        if happened:
            Doors.fired[kind] += 1
