"""`manage.py status`: each part is right in a healthy installation, and wrong beyond its limit."""

import time
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import settings as service
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError

from audit import standing
from audit.daily.models import DailyRun
from core import clock, ids, installation, redis, rounds
from core.installation import PLACE
from core.models import Installation, Mark, Process
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.undecided import silent_case
from tests.stage.webhook_world import claim_all, leases_run_out, tell

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

TASKS = {entry["task"] for entry in service.CELERY_BEAT_SCHEDULE.values()}


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


def test_all_shows_each_process_and_the_last_round_of_each_task(healthy: None) -> None:
    process("web", "0.2.0")
    process("web", "0.1.0", ago=90)  # It has died.
    redis.client().hset(rounds.KEY, "ledger.tasks.settle_due", f"{time.time() - 200:.0f}")
    redis.client().hdel(rounds.KEY, "webhooks.tasks.drain")
    said = StringIO()

    with pytest.raises(SystemExit):
        call_command("status", "--all", stdout=said)

    details = [line.strip() for line in said.getvalue().splitlines() if line.startswith(" ")]
    assert len(details) == 5 + len(TASKS)
    assert details.count("web: release 0.1.0 on one for 3 h") == 1
    assert "web: release 0.2.0 on one for 3 h" in details
    settled = "ledger.tasks.settle_due: the last round was 3 min ago, one is due each 2 s"
    assert settled in details
    assert "webhooks.tasks.drain: no round is known, one is due each 1 s" in details


@pytest.mark.parametrize(("minutes", "wrong"), [(1, []), (16, ["audit"])])
def test_a_new_installation_waits_for_its_first_rounds_and_audit(
    healthy: None, minutes: int, wrong: list[str]
) -> None:
    redis.client().delete(rounds.KEY)
    DailyRun.objects.all().delete()
    began = timezone.now() - timedelta(minutes=minutes)
    Process.objects.filter(kind="beat").update(started_at=began)

    parts, found = told()

    assert [part for part in found if part not in TASKS] == wrong
    assert bool(set(found) & TASKS) == (minutes > 2)
    assert parts["audit"] == (
        "no clean one is known" if wrong else "the first one comes within minutes"
    )


def test_a_first_audit_that_runs_is_still_to_come(healthy: None) -> None:
    DailyRun.objects.update(status="running", ended_at=None)
    Process.objects.filter(kind="beat").update(started_at=timezone.now())

    parts, _found = told()

    assert parts["audit"] == "the first one comes within minutes"


def _no_worker() -> None:
    Process.objects.filter(kind="worker").update(seen_at=timezone.now() - timedelta(seconds=90))


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
    "a late round": (_a_late_round, "ledger.tasks.settle_due", "the last round was 3 min ago"),
    "no round": (_no_round, "audit.daily.tasks.run_due", "no round is known"),
    "findings": (_findings, "audit", "no clean one is known"),
    "an old audit": (_an_old_audit, "audit", "the last clean one was 3 d ago"),
}  # fmt: skip


def test_a_second_beat_is_as_normal_as_a_second_worker(healthy: None) -> None:
    process("beat", "0.2.0")

    parts, wrong = told()

    assert (parts["beat"], wrong) == ("2 of release 0.1.0 and 0.2.0, the oldest for 3 h", [])


@pytest.mark.parametrize("fault", PLANTED)
def test_each_fault_is_told_and_nothing_else(healthy: None, fault: str) -> None:
    plant, part, text = PLANTED[fault]
    plant()

    parts, wrong = told()

    assert (wrong, parts[part]) == ([part], text)
    with pytest.raises(SystemExit):
        call_command("status", stdout=StringIO())


def test_an_installation_that_trusts_standbys_which_no_commit_waits_for_is_told(
    healthy: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SYNCHRONOUS_STANDBYS", True)
    parts, wrong = told()
    assert wrong == ["installation"]
    assert "no commit waits" in parts["installation"]

    monkeypatch.setattr(installation, "WAITS", "true")

    assert told()[1] == []


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
    assert wrong == ["deliveries"]
    assert parts["deliveries"] == "the oldest has waited 3 min for a sender"


def test_deliveries_that_wait_for_a_slow_receiver_are_right(healthy: None) -> None:
    endpoint = EndpointFactory(failures_in_a_row=5)
    for number in range(3):
        tell(endpoint.merchant, f"cus_{number}")
    clock.advance(timedelta(minutes=3))
    assert len(claim_all()) == 2
    assert told()[1] == []

    leases_run_out()

    assert told()[1] == ["deliveries"]


def test_an_outcome_that_is_unknown_for_long_is_told(
    healthy: None, acme: ApiClient, bank: BankTransport
) -> None:
    silent_case(acme)

    clock.advance(timedelta(minutes=1))

    parts, wrong = told()
    assert "unknown outcomes" in wrong
    assert parts["unknown outcomes"] == "the oldest is unknown for 61 min"


# --- Backups ----------------------------------------------------------------------------------


def installed(*, days: int) -> None:
    Installation.objects.create(identity="one", place="here")
    Mark.objects.create(number="1", made_at=timezone.now() - timedelta(days=days))
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE core_installation SET place = {PLACE}")  # noqa: S608


def reported(*options: str) -> str:
    said = StringIO()
    call_command("backup_made", *options, stdout=said)
    return said.getvalue()


def test_the_age_of_the_newest_backup_is_told(healthy: None) -> None:
    installed(days=9)
    now = timezone.now()

    reported("--at", (now - timedelta(hours=51)).isoformat())
    parts, wrong = told()
    assert (wrong, parts["backup"]) == (["backup"], "the newest is of 2 d ago")

    reported()
    said = reported("--at", (now - timedelta(days=5)).isoformat())  # An older one changes nothing.
    parts, wrong = told()
    assert (wrong, parts["backup"]) == ([], "the newest is of 0 s ago")
    assert said.startswith(f"The newest backup is of {timezone.now():%Y-%m-%d}")


@pytest.mark.parametrize(("days", "wrong"), [(1, []), (3, ["backup"])])
def test_a_live_installation_that_never_reported_a_backup_is_told(
    healthy: None, days: int, wrong: list[str], settings: Any
) -> None:
    installed(days=days)
    assert told()[1] == []

    settings.LIVEMODE = True

    assert told()[1] == wrong


def test_a_backup_to_come_or_before_any_beat_is_refused(healthy: None) -> None:
    with pytest.raises(CommandError):
        reported()
    installed(days=1)
    for wrong in ("yesterday", "2027-03-12T02:30:00", "2999-01-01T00:00:00Z"):
        with pytest.raises(CommandError):
            reported("--at", wrong)
    assert Installation.objects.get().backup_made_at is None


def test_a_held_copy_is_told(healthy: None) -> None:
    assert told()[0]["installation"] == "open"
    Installation.objects.create(
        identity="one", place="elsewhere", held_at=timezone.now(), held_reason="A test."
    )

    parts, wrong = told()

    assert wrong == ["installation"]
    assert parts["installation"].startswith("held as a copy: A test. Run:")
