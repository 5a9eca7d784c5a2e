"""Figures of the whole installation as metrics: each one moves with what it shows."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest

from audit import gauges
from audit.daily.models import DailyRun
from audit.gauges import Gauges
from core import clock, ids, redis, rounds
from core.models import Process
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.hooks import created
from tests.stage.scrapes import Scrape, read, revealing, value
from tests.stage.transfers import DELAY, pay_out, rich, sent
from tests.stage.undecided import silent_case
from webhooks.models import Endpoint, Lane

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


def look() -> Scrape:
    registry = CollectorRegistry()
    registry.register(Gauges())
    return read(generate_latest(registry).decode())


def process(kind: str, **facts: Any) -> Process:
    now = timezone.now()
    return Process.objects.create(
        id=ids.new("proc"), kind=kind, host="one",
        **{"release": "0.1.0", "key_ids": ["k1"], "primary_key_id": "k1", "started_at": now,
           "seen_at": now} | facts,
    )  # fmt: skip


def test_processes_are_counted_by_kind_release_and_key() -> None:
    process("web")
    process("web", release="0.2.0", primary_key_id="k2")
    process("beat", seen_at=timezone.now() - timedelta(minutes=2))

    found = look()

    assert value(found, "pay_processes", kind="web") == 2
    assert value(found, "pay_processes", kind="beat") == 0
    assert value(found, "pay_processes_of_release", release="0.2.0") == 1
    assert value(found, "pay_processes_of_key", key="k1") == 1


def test_deliveries_that_wait_are_counted_and_aged(acme: ApiClient, bank: BankTransport) -> None:
    created(acme)
    acme.pay()
    Lane.objects.update(due_at=clock.now() - timedelta(seconds=90))

    found = look()

    assert value(found, "pay_webhook_lanes") >= 1
    assert 90 <= value(found, "pay_webhook_due_seconds") < 300
    assert value(found, "pay_webhook_endpoints", status="enabled") == 1
    assert revealing(found) == []


def test_endpoints_that_fail_are_counted(acme: ApiClient) -> None:
    created(acme)
    Endpoint.objects.update(status="failing")

    assert value(look(), "pay_webhook_endpoints", status="failing") == 1


def test_unknown_outcomes_and_cases_are_aged(acme: ApiClient, bank: BankTransport) -> None:
    silent_case(acme)

    found = look()

    assert value(found, "pay_unknown_outcome_seconds") > 0
    assert value(found, "pay_cases_open", kind="unknown_outcome") == 1
    assert value(found, "pay_case_oldest_seconds", kind="unknown_outcome") > 0


def test_payouts_that_are_due_are_aged_until_they_leave(
    acme: ApiClient, bank: BankTransport
) -> None:
    payout = pay_out(rich(acme))
    assert value(look(), "pay_payout_due_seconds") == 0

    clock.advance(timedelta(seconds=DELAY + 90))
    assert 90 <= value(look(), "pay_payout_due_seconds") < 300

    sent(payout["id"])
    assert value(look(), "pay_payout_due_seconds") == 0


def test_the_clock_of_a_sandbox_is_shown_and_the_databases_agrees() -> None:
    clock.advance(timedelta(hours=1))

    found = look()

    assert value(found, "pay_clock_moved_seconds") == 3600
    assert abs(value(found, "pay_clock_difference_seconds")) < 5


def test_rounds_are_shown_with_their_schedule() -> None:
    rounds.note("ledger.tasks.settle_due")

    found = look()

    assert 0 <= value(found, "pay_task_round_seconds", task="ledger.tasks.settle_due") < 60
    assert value(found, "pay_task_every_seconds", task="ledger.tasks.settle_due") == 2


def test_the_last_clean_audit_is_aged() -> None:
    ended = timezone.now() - timedelta(hours=3)
    DailyRun.objects.create(
        job="audit", day=ended.date(), number=1, status="done", begun_at=ended, ended_at=ended
    )

    assert 10_800 <= value(look(), "pay_clean_audit_seconds") < 11_000


def test_a_lost_redis_takes_the_rounds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_command: Any) -> Any:
        raise redis.Away

    monkeypatch.setattr(redis, "call", away)

    found = look()

    assert value(found, "pay_figures_up", source="redis") == 0
    assert value(found, "pay_figures_up", source="database") == 1
    assert not [series for series in found if series.name == "pay_task_round_seconds"]


def test_a_database_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang() -> gauges.Families:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(600)")
        yield from ()

    monkeypatch.setattr(gauges, "_waiting", hang)
    monkeypatch.setattr(gauges, "STATEMENT_BOUND", "SET LOCAL statement_timeout = '50ms'")

    found = look()

    assert value(found, "pay_figures_up", source="database") == 0
    assert not [series for series in found if series.name == "pay_processes"]


def test_a_look_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def write() -> gauges.Families:
        process("web")
        yield from ()

    monkeypatch.setattr(gauges, "_waiting", write)

    assert value(look(), "pay_figures_up", source="database") == 0
    assert Process.objects.count() == 0


def test_questions_at_once_cost_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(gauges, "_look", lambda: iter(looks.append(1) or []))
    collector = Gauges()

    for _ in range(10):
        collector.collect()

    assert looks == [1]
