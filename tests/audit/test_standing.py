"""`manage.py status`: each part is right in a healthy installation, and wrong beyond its limit."""

import time
from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError

from audit import standing
from audit.daily.models import DailyRun
from core import clock, ids, redis, rounds
from core.models import Process
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.undecided import silent_case

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

TASKS = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}


def process(kind: str, release: str = "0.1.0", ago: float = 0) -> Process:
    seen = timezone.now() - timedelta(seconds=ago)
    return Process.objects.create(
        id=ids.new("proc"), kind=kind, host="one", release=release, key_ids=["k"],
        primary_key_id="k", started_at=seen - timedelta(hours=3), seen_at=seen,
    )  # fmt: skip


@pytest.fixture
def healthy() -> None:
    Process.objects.all().delete()
    for kind in standing.WANTED:
        process(kind)
    for task in TASKS:
        rounds.note(task)
    DailyRun.objects.create(
        job="audit", day=timezone.now().date(), number=1, status="done",
        begun_at=timezone.now(), ended_at=timezone.now(),
    )  # fmt: skip


def told() -> tuple[dict[str, str], list[str]]:
    """Return each part's text, and the parts that are wrong."""
    lines = list(standing.lines())
    return {line.part: line.text for line in lines}, [line.part for line in lines if line.is_wrong]


def test_a_healthy_installation_has_nothing_wrong(healthy: None) -> None:
    parts, wrong = told()

    assert wrong == []
    assert parts["web"] == "1 of release 0.1.0, the oldest for 3 h"
    assert parts["rounds"] == f"{len(TASKS)} tasks, each in its time"
    said = StringIO()
    call_command("status", stdout=said)
    assert said.getvalue().count("\nok ") == len(parts) - 1


def _no_worker() -> None:
    Process.objects.filter(kind="worker").update(seen_at=timezone.now() - timedelta(seconds=90))


def _two_beats() -> None:
    process("beat", "0.2.0")


def _a_late_round() -> None:
    redis.client().hset(rounds.KEY, "ledger.tasks.settle_due", f"{time.time() - 200:.0f}")


def _no_round() -> None:
    redis.client().hdel(rounds.KEY, "audit.daily.tasks.run_due")


def _findings() -> None:
    DailyRun.objects.update(findings=1)


def _an_old_audit() -> None:
    DailyRun.objects.update(ended_at=timezone.now() - timedelta(days=3))


PLANTED: dict[str, tuple[Callable[[], None], str, str]] = {
    "a worker that died": (_no_worker, "worker", "none was seen within a minute"),
    "two beats": (
        _two_beats, "beat", "2 of release 0.1.0 and 0.2.0, the oldest for 3 h: stop all but one",
    ),
    "a late round": (_a_late_round, "ledger.tasks.settle_due", "the last round was 3 min ago"),
    "no round": (_no_round, "audit.daily.tasks.run_due", "no round is known"),
    "findings": (_findings, "audit", "no clean one is known"),
    "an old audit": (_an_old_audit, "audit", "the last clean one was 3 d ago"),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
def test_each_fault_is_told_and_nothing_else(healthy: None, fault: str) -> None:
    plant, part, text = PLANTED[fault]
    plant()

    parts, wrong = told()

    assert (wrong, parts[part]) == ([part], text)
    with pytest.raises(SystemExit):
        call_command("status", stdout=StringIO())


def test_a_redis_that_is_away_is_told(healthy: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_arguments: object) -> None:
        raise RedisError

    monkeypatch.setattr(Redis, "hgetall", away)

    assert told()[1] == ["rounds"]


def test_a_delivery_that_is_due_for_long_is_told(healthy: None, acme: ApiClient) -> None:
    acme.post("/v1/webhook_endpoints", {"url": "https://acme.example/x", "enabled_events": ["*"]})
    acme.post("/v1/customers", {"name": "Ada"})
    assert told()[1] == []

    clock.advance(timedelta(minutes=3))

    parts, wrong = told()
    assert (wrong, parts["deliveries"]) == (["deliveries"], "the oldest is due for 3 min")


def test_an_outcome_that_is_unknown_for_long_is_told(
    healthy: None, acme: ApiClient, bank: BankTransport
) -> None:
    silent_case(acme)

    clock.advance(timedelta(minutes=1))

    parts, wrong = told()
    assert "unknown outcomes" in wrong
    assert parts["unknown outcomes"] == "the oldest is unknown for 61 min"
