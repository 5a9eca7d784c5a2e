"""Delivering by Celery: a worker of its own, one process, `--pool solo`.

beat asks for a run every second; while one lasts, two requests for the next wait in the queue.
Deliveries that are under way at the end of a run go on in the next one, a moment later.
"""

from contextlib import suppress
from functools import cache

from celery import shared_task
from celery.signals import worker_process_shutdown, worker_shutdown, worker_shutting_down

from core import context
from webhooks import retention, upkeep
from webhooks.delivery.drain import AlreadyDraining, Drain

# Between two runs the worker acknowledges the message of the first, and reads commands.
RUN_SECONDS = 30.0


@shared_task
def drain() -> None:
    with suppress(AlreadyDraining):
        _ours().run(seconds=RUN_SECONDS)


@shared_task
def forget_old() -> None:
    with context.work():
        retention.forget_old()


@cache
def _ours() -> Drain:
    return Drain(upkeep.chores())


@worker_shutting_down.connect
def stop_soon(**_options: object) -> None:
    """End the run: this is called by the signal's handler, in the middle of it."""
    if _ours.cache_info().currsize:
        _ours().stop()


@worker_shutdown.connect
@worker_process_shutdown.connect
def give_back(**_options: object) -> None:
    if _ours.cache_info().currsize:
        _ours().close()
        _ours.cache_clear()
