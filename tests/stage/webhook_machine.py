"""Deliveries as a state machine: whatever happens in whatever order, I9 holds.

What is checked is what a receiver sees, and nobody else's word is taken for it but one: that
an event was missed, which only one that was at risk may be.
"""

import dataclasses
from collections import Counter, defaultdict
from datetime import timedelta

from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from core import clock
from events.models import Event
from tests.stage.factories import EndpointFactory, MerchantFactory
from tests.stage.webhook_world import (
    claim,
    disable,
    enable,
    leases_run_out,
    ok,
    refused,
    replay_missed,
    resend_event,
    tell,
    tidy_up,
)
from webhooks import replay, stopping
from webhooks.delivery import fairness, lanes
from webhooks.delivery.messages import Claimed
from webhooks.models import Delivery, Endpoint, Lane

OBJECTS = ("cus_1", "cus_2")
ENDINGS = ("2xx", "5xx", "crash", "release", "2xx", "tenth failure", "5xx")
SOON = (*ENDINGS, "go on", "go on", "go on")
CHANGES = {
    "enabled": ("disable", "replay while enabled"),
    "disabled": ("enable with replay", "enable"),
    "failing": ("enable with replay", "enable", "disable"),
}
KINDS = {
    "emit", "claim", "lease expiry", "late finish", "time passes", "resend", "tidy up",
    *ENDINGS, *(how for possible in CHANGES.values() for how in possible),
}  # fmt: skip
which = st.integers(min_value=0, max_value=11)

Stream = tuple[str, str]  # Endpoint and object.


class Deliveries(RuleBasedStateMachine):
    """One merchant, two endpoints, two objects; each example is undone at its end."""

    fired: Counter[str] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.example = transaction.atomic()
        # As the test's own transaction: what opens one of its own may do so in it.
        self.example._from_testcase = True
        self.example.__enter__()
        fairness._round.after = ""
        self.merchant = MerchantFactory()
        self.endpoints = [EndpointFactory(merchant=self.merchant) for _ in range(2)]
        self.told: dict[str, list[Event]] = {name: [] for name in OBJECTS}
        self.events: dict[str, Event] = {}  # Those told, which never change, by their id.
        self.held: list[Claimed] = []
        self.late: list[Claimed] = []
        self.under_way: dict[Stream, Claimed] = {}
        self.sent: dict[Stream, list[int]] = defaultdict(list)
        self.received: dict[Stream, set[int]] = defaultdict(set)
        self.at_risk: dict[Stream, set[int]] = defaultdict(set)

    def teardown(self) -> None:
        try:
            self.drain()
            self.assert_nothing_is_lost()
        finally:
            transaction.set_rollback(True)
            self.example.__exit__(None, None, None)

    # --- What happens ---------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        for number in range(4):
            self.tell(number)

    @rule(number=which)
    def emit(self, number: int) -> None:
        self.note("emit")
        self.tell(number)

    @rule(slots=st.integers(min_value=1, max_value=4), hows=st.lists(st.sampled_from(SOON)))
    def claim(self, slots: int, hows: list[str]) -> None:
        """Claim some, and end some of them at once."""
        self.take(claim(slots=slots), "claim")
        for how in hows[: len(self.held)]:
            if how != "go on":
                self.finish_one(-1, how)

    # Few rules with many ways each: an example leaves some rules out altogether.
    # No rule depends on what the database has: who is claimed first among equals is luck, and
    # what is drawn must still be the same.
    @rule(number=which, how=st.sampled_from(ENDINGS))
    def end(self, number: int, how: str) -> None:
        if self.held:
            self.finish_one(number, how)

    def finish_one(self, number: int, how: str) -> None:
        if how == "crash":
            self.note(how)
            self.held.pop(number % len(self.held))
            return
        one = self.end_of(self.held, number)
        is_last = how == "tenth failure" and not one.is_resend
        self.note("5xx" if how == "tenth failure" and not is_last else how)
        if how == "release":
            lanes.release([one])
        elif how == "2xx":
            self.hear(one)
            lanes.finish([ok(one)])
        else:
            lanes.finish([refused(self.made_the_tenth(one) if is_last else one)])

    @rule(is_taken_over=st.booleans())
    def leases_run_out(self, is_taken_over: bool) -> None:
        if not self.under_way:
            return
        self.note("lease expiry")
        leases_run_out()
        self.late += self.held
        self.held, self.under_way = [], {}
        if is_taken_over:
            self.take(claim(), "claim")

    @rule(number=which, is_success=st.booleans())
    def answer_late(self, number: int, is_success: bool) -> None:
        if not self.late:
            return
        self.note("late finish")
        one = self.late.pop(number % len(self.late))
        if is_success:
            self.hear(one)
        lanes.finish([ok(one) if is_success else refused(one)])
        self.take(claim(), "claim")

    @rule()
    def time_passes(self) -> None:
        self.note("time passes")
        clock.advance(timedelta(hours=25))

    @rule(number=which, other=which)
    def change(self, number: int, other: int) -> None:
        """Do one of what can be done with an endpoint as it is."""
        endpoint = self.endpoint(number)
        possible = CHANGES[endpoint.status]
        how = possible[other % len(possible)]
        self.note(how)
        if how == "disable":
            disable(endpoint)
            self.risk(endpoint)
            return
        if how in ("enable", "enable with replay"):
            enable(endpoint)
        if how != "enable":
            replay_missed(endpoint)

    @rule(number=which, other=which)
    def resend(self, number: int, other: int) -> None:
        events = [event for name in OBJECTS for event in self.told[name]]
        endpoint = self.endpoint(number)
        if events and endpoint.status != "disabled":
            self.note("resend")
            resend_event(events[other % len(events)], endpoint)

    @rule()
    def tidy_up(self) -> None:
        self.note("tidy up")
        stopping.stop_pending()
        replay.advance()

    # --- What must hold -------------------------------------------------------------------------

    def take(self, claimed: list[Claimed], kind: str) -> None:
        if claimed:
            self.note(kind)
        for one in claimed:
            self.held.append(one)
            endpoint = self.endpoint_of(one)
            assert endpoint.status != "disabled"
            if not one.is_resend:
                assert (endpoint.status, endpoint.replay_xid) == ("enabled", None)
                self.send_in_order(one)

    def send_in_order(self, one: Claimed) -> None:
        stream, sequence = self.stream_of(one)
        assert stream not in self.under_way, "two of one object are under way at once"
        missed = self.missed(stream)
        assert missed <= self.at_risk[stream], "missed without having been at risk"
        owed = {event.sequence for event in self.told[stream[1]]} - missed - self.received[stream]
        assert not [earlier for earlier in owed if earlier < sequence], "an earlier one is owed"
        last = max(self.sent[stream][-1:], default=0)
        trigger = Delivery.objects.get(id=one.delivery_id).trigger
        assert sequence >= last or trigger == "replay", "an older one is repeated"
        self.under_way[stream] = one
        self.sent[stream].append(sequence)

    def drain(self) -> None:
        """Let everything work again: enabled, replayed, and every answer a 2xx."""
        leases_run_out()
        self.held, self.under_way = [], {}
        for endpoint in self.endpoints:
            if self.fresh(endpoint).status != "enabled":
                enable(endpoint)
            replay_missed(endpoint)
        tidy_up()
        while Lane.objects.exists():
            clock.advance(timedelta(hours=25))
            claimed = claim()
            assert claimed, "something is stranded"
            self.take(claimed, "drained")
            self.held, self.under_way = [], {}
            for one in claimed:
                self.hear(one)
            lanes.finish([ok(one) for one in claimed])

    def assert_nothing_is_lost(self) -> None:
        for endpoint in self.endpoints:
            for name, events in self.told.items():
                stream = endpoint.id, name
                told = [event.sequence for event in events]
                assert self.received[stream] == set(told), "an event is lost"
                assert self.sent[stream][-1:] == told[-1:], "the last one is not the newest"
        assert not Delivery.objects.filter(is_missed=True).exists()

    # --- Steps ----------------------------------------------------------------------------------

    def tell(self, number: int) -> None:
        name = OBJECTS[number % len(OBJECTS)]
        tell(self.merchant, name)
        event = Event.objects.filter(aggregate_id=name).latest("sequence")
        self.told[name].append(event)
        self.events[event.id] = event
        for endpoint in self.endpoints:
            if self.fresh(endpoint).status != "enabled":
                self.at_risk[endpoint.id, name].add(event.sequence)

    def made_the_tenth(self, one: Claimed) -> Claimed:
        Delivery.objects.filter(id=one.delivery_id).update(attempt=10)
        self.risk(self.endpoint_of(one))
        return dataclasses.replace(one, attempt=10)

    # --- Words ----------------------------------------------------------------------------------

    def note(self, kind: str) -> None:
        type(self).fired[kind] += 1

    def fresh(self, endpoint: Endpoint) -> Endpoint:
        return Endpoint.objects.get(id=endpoint.id)

    def endpoint(self, number: int) -> Endpoint:
        return self.fresh(self.endpoints[number % len(self.endpoints)])

    def endpoint_of(self, one: Claimed) -> Endpoint:
        return Endpoint.objects.get(id=one.endpoint_id)

    def stream_of(self, one: Claimed) -> tuple[Stream, int]:
        event = self.events[one.event_id]
        return (one.endpoint_id, event.aggregate_id), event.sequence

    def end_of(self, some: list[Claimed], number: int) -> Claimed:
        one = some.pop(number % len(some))
        if not one.is_resend:
            del self.under_way[self.stream_of(one)[0]]
        return one

    def hear(self, one: Claimed) -> None:
        stream, sequence = self.stream_of(one)
        self.received[stream].add(sequence)

    def missed(self, stream: Stream) -> set[int]:
        rows = Delivery.objects.filter(
            endpoint_id=stream[0], aggregate_id=stream[1], is_missed=True
        )
        return set(rows.values_list("sequence", flat=True))

    def risk(self, endpoint: Endpoint) -> None:
        for name, events in self.told.items():
            self.at_risk[endpoint.id, name] |= {event.sequence for event in events}
