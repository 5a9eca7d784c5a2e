"""Kinds of rows in doubt: each has slots of its own, so that one delays no other."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection, connections
from pytest_django import DjangoAssertNumQueries

from acquirers.conversation import sweeper
from acquirers.outcomes import Answer, Outcome
from core import clock, context
from payments.bank import attempts, modifications
from payments.intents.models import Modification
from payments.refunds import asking
from payments.refunds.models import Refund
from tests.stage.factories import AttemptFactory

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

PATIENCE_SECONDS = 60
MANY = 10_000
SLOTS = {
    "attempt": attempts.KIND.slots,
    "modification": modifications.KIND.slots,
    "refund": asking.KIND.slots,
}
UNKNOWN = Outcome(Answer.UNKNOWN)


def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds; a hang ends after a minute."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < ends_at, "it does not come to hold"
        time.sleep(0.01)


class SilentBank:
    """A bank that answers no inquiry until the test lets it; it counts those it has, by kind."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.may_answer = Event()

    def hears(self, kind: str) -> Any:
        def ask(_row: Any) -> Outcome:
            self.asked[kind] += 1
            assert self.may_answer.wait(PATIENCE_SECONDS), "the test forgot the bank"
            return UNKNOWN

        return ask

    def await_asked(self, kind: str, times: int) -> None:
        until(lambda: self.asked[kind] >= times)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> SilentBank:
    bank = SilentBank()
    monkeypatch.setattr(attempts.KIND, "ask", bank.hears("attempt"))
    monkeypatch.setattr(modifications.KIND, "ask", bank.hears("modification"))
    monkeypatch.setattr(asking.KIND, "ask", bank.hears("refund"))
    return bank


@pytest.fixture
def sweeping(silent: SilentBank) -> Iterator[Thread]:
    """One run of the sweeper beside the test; it ends once the bank may answer."""

    def run() -> None:
        try:
            with context.work():
                sweeper.sweep(job="payments.intents.tasks.resolve_unknown")
        finally:
            connections.close_all()

    thread = Thread(target=run)
    yield thread
    # The run need not ask about all that are left.
    Modification.objects.update(due_at=None)
    Refund.objects.update(due_at=None)
    silent.may_answer.set()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def silent_reversals(count: int) -> None:
    """Write down so many reversals, each of an attempt of its own, which are due at once."""
    copied = AttemptFactory(status="failed", closed_at=clock.now(), due_at=None)
    with connection.cursor() as cursor:
        cursor.execute(COPY_ATTEMPT, [count, copied.id])
        cursor.execute(REVERSE_ALL, [copied.id])


COPY_ATTEMPT = """
    INSERT INTO intents_attempt
    SELECT (jsonb_populate_record(a, jsonb_build_object(
        'id', 'att_' || n, 'acquirer_reference', 'ref_' || n))).*
    FROM intents_attempt a, generate_series(1, %s) n WHERE a.id = %s
"""
REVERSE_ALL = """
    INSERT INTO intents_modification (
        id, merchant_id, attempt_id, kind, status, request_id, created_at, asked_at, due_at,
        inquiry_count, no_record_count)
    SELECT 'mod_' || id, merchant_id, id, 'reverse', 'processing', 'req_1', created_at, asked_at,
        created_at, 0, 0
    FROM intents_attempt WHERE id <> %s
"""


def silent_refunds(count: int) -> None:
    """Write down so many refunds of one payment, which are due at once."""
    now = clock.now()
    paid = AttemptFactory(
        status="succeeded", captured_minor=12500, captured_at=now, closed_at=now, due_at=None
    )
    with connection.cursor() as cursor:
        cursor.execute(REFUND_BY_ONE, [count, paid.id])


REFUND_BY_ONE = """
    INSERT INTO refunds_refund (
        id, merchant_id, intent_id, attempt_id, acquirer_reference, amount, currency, status,
        method, pending_reason, metadata, request_id, sent_at, created_at, asked_at, due_at,
        inquiry_count, no_record_count)
    SELECT 're_' || n, merchant_id, intent_id, id, 'refund_' || n, 1, currency, 'pending',
        'refund', 'processing', '{}', 'req_1', created_at, created_at, asked_at, created_at, 0, 0
    FROM intents_attempt, generate_series(1, %s) n WHERE id = %s
"""


@pytest.mark.dear("10,000 rows that are due at once")
def test_ten_thousand_silent_refunds_delay_no_authorisation(
    silent: SilentBank, sweeping: Thread
) -> None:
    silent_refunds(MANY)
    sweeping.start()
    silent.await_asked("refund", SLOTS["refund"])
    assert silent.asked["attempt"] == 0

    AttemptFactory()

    silent.await_asked("attempt", 1)  # In the round that is under way: nobody was answered yet.
    assert silent.asked == {"attempt": 1, "refund": SLOTS["refund"]}
    print(f"{Refund.objects.count()} refunds due")  # noqa: T201


@pytest.mark.dear("10,000 rows that are due at once")
def test_ten_thousand_silent_modifications_delay_no_authorisation(
    silent: SilentBank, sweeping: Thread
) -> None:
    silent_reversals(MANY)
    sweeping.start()
    silent.await_asked("modification", SLOTS["modification"])
    assert silent.asked["attempt"] == 0

    AttemptFactory()

    silent.await_asked("attempt", 1)  # In the round that is under way: nobody was answered yet.
    assert silent.asked == {"attempt": 1, "modification": SLOTS["modification"]}
    print(f"{Modification.objects.count()} modifications due")  # noqa: T201


@pytest.mark.parametrize("kind", SLOTS)
def test_a_kind_has_no_more_rows_at_the_bank_than_its_slots(
    kind: str, silent: SilentBank, sweeping: Thread
) -> None:
    silent_reversals(3 * max(SLOTS.values()))
    silent_refunds(3 * max(SLOTS.values()))
    for _ in range(3 * max(SLOTS.values())):
        AttemptFactory()

    sweeping.start()
    for each, slots in SLOTS.items():
        silent.await_asked(each, slots)

    assert silent.asked[kind] == SLOTS[kind]


def test_a_run_whose_time_is_over_delays_no_other_kind(
    silent: SilentBank, sweeping: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent_reversals(3 * SLOTS["modification"])
    monkeypatch.setattr(sweeper, "SWEEP_SECONDS", 0)  # Over once it has begun to ask.
    look, first = sweeper._Run._open_kinds, [True]

    def in_time_once(run: sweeper._Run, busy: Counter[Any]) -> list[Any]:
        return list(run._kinds) if first and first.pop() else look(run, busy)

    monkeypatch.setattr(sweeper._Run, "_open_kinds", in_time_once)
    sweeping.start()
    silent.await_asked("modification", SLOTS["modification"])

    AttemptFactory()

    silent.await_asked("attempt", 1)
    assert silent.asked["modification"] == SLOTS["modification"]


def test_the_check_sees_a_kind_without_slots(
    silent: SilentBank, sweeping: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Counter[str]()
    look = sweeper._lease_due

    def counted(kind: Any, count: int) -> list[Any]:
        looks[type(kind).__name__] += 1
        return look(kind, count)

    monkeypatch.setattr(sweeper, "_lease_due", counted)
    monkeypatch.setattr(sweeper, "LOOK_AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(sweeper, "KINDS", {"modification": modifications.KIND})
    silent_reversals(3 * SLOTS["modification"])
    sweeping.start()
    silent.await_asked("modification", SLOTS["modification"])

    AttemptFactory()
    seen = looks["Modifications"]
    until(lambda: looks["Modifications"] >= seen + 3)

    assert silent.asked["attempt"] == 0


def test_a_run_that_finds_nothing_looks_once_for_all_kinds(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(2):  # The clock's offset, and the look.
        assert not sweeper.sweep(job="payments.intents.tasks.resolve_unknown")
