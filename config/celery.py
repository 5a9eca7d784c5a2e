"""The Celery application: workers and beat."""

import atexit
import os
import signal
from typing import Any

import structlog
from celery import Celery, Task, bootsteps
from celery.signals import (
    beat_init,
    setup_logging,
    task_failure,
    task_prerun,
    task_success,
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
)
from django.core.exceptions import ImproperlyConfigured

from acquirers import require_adapters
from config import broker
from core import heartbeat, installation, reloads, rounds, traces
from core.heartbeat import ProcessKind
from core.keyring import KeyRingError
from core.memory import keep_what_is_loaded
from core.metrics import Counter, Label
from core.metrics import address as metrics_address
from core.postgresql.waits import require_bounded_waits
from core.release import require_borne_schema
from vault import peers
from vault.checks import require_keys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Django's checks are those of `manage.py check`: here every worker would load all pages for them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

ROUNDS = Counter(
    "pay_task_rounds_total",
    "Rounds of beat's tasks.",
    task=Label(),
    result=Label("succeeded", "failed"),
)


class HeldWithCopy(Task):  # type: ignore[misc]  # Celery has no types.
    """A task that does nothing in a held copy: its message may be older than the restore."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.request.called_directly and installation.look():
            return None
        return super().__call__(*args, **kwargs)


class NoReload(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types.
    """A step of a worker's start, after the one by which Celery lets SIGHUP start it again."""

    def start(self, _worker: Any) -> None:
        reloads.refuse_from_now_on()


log = structlog.get_logger(__name__)

broker.use_for_redis()
app = Celery("config", task_cls=HeldWithCopy)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(NoReload)


@setup_logging.connect
def keep_our_logging(**_options: object) -> None:
    """Being connected is all: without a receiver, Celery adds unscrubbed handlers of its own."""


@worker_init.connect
def begin_worker(sender: Any, **_options: object) -> None:
    """Begin a worker; one that takes webhooks alone is a sender of them."""
    takes_webhooks_alone = set(sender.app.amqp.queues.consume_from) == {"webhooks"}
    _begin("sender" if takes_webhooks_alone else "worker")


@beat_init.connect
def begin_beat(**_options: object) -> None:
    """Begin beat, which SIGQUIT ends as SIGTERM does: Celery leaves SIGQUIT to the kernel."""
    signal.signal(signal.SIGQUIT, signal.getsignal(signal.SIGTERM))
    reloads.refuse_from_now_on()
    atexit.register(log.info, "beat_stopped")  # After the end of its heartbeat.
    _begin("beat")
    # One process alone asks the database for figures of the whole installation.
    metrics_address.serve(*metrics_address.SOURCES.values())


@worker_ready.connect
def show_metrics(**_options: object) -> None:
    metrics_address.serve()


@worker_process_init.connect
def keep_child(**_options: object) -> None:
    """Let SIGHUP end no child of a worker, for it may come to a whole group of processes.

    Nothing else is possible: the children's library ends them at each signal that is not ignored.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@worker_process_shutdown.connect
def send_last_traces(**_options: object) -> None:
    """Send what waits: a forked child of Celery's ends without calling what `atexit` knows."""
    traces.end()


@task_prerun.connect
def open_trace(**_options: object) -> None:
    traces.open_trace()


@task_success.connect
def note_round(sender: Any, **_options: object) -> None:
    """Note that a task has ended well, for `manage.py status`."""
    rounds.note(sender.name)
    ROUNDS.count(sender.name, "succeeded")
    traces.close_trace(sender.name, "internal", is_failed=False, result="succeeded")


@task_failure.connect
def note_failed_round(sender: Any, **_options: object) -> None:
    ROUNDS.count(sender.name, "failed")
    traces.close_trace(sender.name, "internal", is_failed=True, result="failed")


def _begin(kind: ProcessKind) -> None:
    """End a process without keys, adapters or bounded waits; Celery forgets other exceptions."""
    try:
        require_bounded_waits()
        require_borne_schema()
        require_keys()
        require_adapters()
        peers.join(kind)
    except (ImproperlyConfigured, KeyRingError) as error:
        raise SystemExit(str(error)) from error
    keep_what_is_loaded()
    heartbeat.begin()
    metrics_address.begin(kind)
    traces.begin(kind)
