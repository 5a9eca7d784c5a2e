"""beat beside workers that are away: its queues stay short, and no work is left out."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from celery import Celery
from celery.utils.imports import symbol_by_name
from redis import Redis

from config.beat import EVERY
from config.scheduler import LEADER, LEADS_SECONDS
from tests.stage.redis_places import OwnRedis, redis_at

DAILY = "merchants.tasks.log_audit_heads"
# All work but `drain` has a queue together; two messages for each piece of it.
TWO_ROUNDS = {"default": 2 * (len(EVERY) - 1), "webhooks": 2}
AWAY = timedelta(seconds=20)
# Beat asks for work up to 10 ms early, and looks again until it is due.
A_TICK = timedelta(milliseconds=5)


class Beat:
    """The service's beat, with a clock of its own at a Redis of its own."""

    def __init__(self, own: OwnRedis, directory: Path) -> None:
        app = Celery("beat", set_as_current=False)
        app.config_from_object("django.conf:settings", namespace="CELERY")
        app.conf.broker_url = own.url
        self.now = datetime.now(UTC)
        self.redis = Redis.from_url(own.url, socket_timeout=10)
        scheduler = symbol_by_name(app.conf.beat_scheduler)
        self.scheduler = scheduler(app, schedule_filename=str(directory / "schedule"))
        self.close = self.scheduler.close

    def walk(self, duration: timedelta) -> None:
        ends_at = self.now + duration
        while self.now < ends_at:
            self.now += max(timedelta(seconds=self.scheduler.tick()), A_TICK)

    def waiting(self) -> dict[str, int]:
        """Return the number of messages in each queue."""
        return {queue: self.redis.llen(queue) for queue in TWO_ROUNDS}

    def taken(self) -> list[str]:
        """Take all messages, as workers do that are back; return the names of their tasks."""
        messages = [raw for queue in TWO_ROUNDS for raw in self.redis.lrange(queue, 0, -1)]
        self.redis.delete(*TWO_ROUNDS)
        return [json.loads(raw)["headers"]["task"] for raw in messages]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[OwnRedis]:
    own = OwnRedis(tmp_path)
    with redis_at(own.url):
        yield own
    own.kill()


@pytest.fixture
def beat(own: OwnRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Beat]:
    with closing(Beat(own, tmp_path)) as beat:
        # Of all applications: an entry that was written down asks the present one.
        monkeypatch.setattr(Celery, "now", lambda _app: beat.now)
        yield beat


def test_of_two_beats_one_gives_work_and_the_other_takes_over(
    beat: Beat, own: OwnRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat.walk(timedelta(seconds=5))
    beat.redis.persist(LEADER)  # It lives, however busy this machine is.
    beat.taken()
    (tmp_path / "other").mkdir()
    with closing(Beat(own, tmp_path / "other")) as other:
        monkeypatch.setattr(Celery, "now", lambda _app: other.now)
        other.walk(timedelta(seconds=5))
        assert other.taken() == []

        beat.close()  # It leads no more.
        other.now += timedelta(days=1)
        other.walk(timedelta(seconds=5))

        assert other.taken().count(DAILY) == 1


def test_a_beat_that_died_leads_for_some_seconds_and_no_longer(
    beat: Beat,
) -> None:
    beat.walk(timedelta(seconds=5))

    assert 0 < beat.redis.ttl(LEADER) <= LEADS_SECONDS


def test_no_queue_that_nobody_reads_exceeds_two_rounds(beat: Beat) -> None:
    beat.walk(AWAY)

    assert beat.waiting() == TWO_ROUNDS


def test_work_of_once_a_day_waits_for_a_worker_that_is_away_longer(beat: Beat) -> None:
    beat.walk(AWAY)
    beat.now += timedelta(days=1)
    beat.walk(AWAY)
    assert beat.waiting() == TWO_ROUNDS
    taken = beat.taken()

    beat.walk(timedelta(seconds=5))

    assert (taken + beat.taken()).count(DAILY) == 1


def test_work_of_once_a_day_waits_for_redis_too(beat: Beat, own: OwnRedis) -> None:
    own.kill()
    beat.now += timedelta(days=1)
    beat.walk(timedelta(seconds=5))
    own.start()

    with redis_at(own.url):  # With a circuit that is closed.
        beat.walk(timedelta(seconds=5))

    assert beat.taken().count(DAILY) == 1


def test_queues_that_are_read_get_all_work_in_time(beat: Beat) -> None:
    taken = Counter[str]()
    for _ in range(20):
        beat.walk(timedelta(seconds=1))
        taken.update(beat.taken())

    asked = {task: (taken[task], int(20 / every)) for task, every in EVERY.items() if every <= 5}
    assert len(asked) > 10
    assert all(times >= expected - 1 for times, expected in asked.values()), asked
