"""Celery's application with runs of the webhooks' task as long as the environment says.

`celery -A tests.stage.short_runs`; the log says `run_ended` at the end of each.
"""

import os

import django
import structlog

from config.celery import app

django.setup()  # Celery does it later, and the room's modules need it.

from webhooks import tasks  # noqa: E402
from webhooks.delivery.drain import Drain  # noqa: E402

__all__ = ["app"]

log = structlog.get_logger(__name__)
_run = Drain.run


def run_and_tell(drain: Drain, *, seconds: float | None) -> None:
    _run(drain, seconds=seconds)
    log.info("run_ended")


tasks.RUN_SECONDS = float(os.environ["RUN_SECONDS"])
Drain.run = run_and_tell  # type: ignore[method-assign]
