"""The sweeper and the sandbox's clock, as the tests drive them."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Any, Self
from unittest.mock import patch

from django.utils import timezone

from acquirers.conversation import leases, sweeper
from core import clock
from merchants.models import IdempotencyKey
from payments.charging import tasks
from payments.intents.models import Attempt, Modification
from payments.refunds.models import Refund
from payouts.models import Payout


class OneThread:
    """An executor that runs everything where it is: inside the test's transaction."""

    def __init__(self, _workers: int) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future:
        done: Future = Future()
        done.set_result(call(*arguments))
        return done


def on_one_thread_each() -> AbstractContextManager:
    """Let sweepers ask the bank in their own thread: the in-process bank uses its connections."""
    return patch.object(sweeper, "ThreadPoolExecutor", OneThread)


def sweep() -> None:
    """Run the sweeper once, as beat does every two seconds."""
    with on_one_thread_each():
        tasks.resolve_unknown()


def sweep_after(seconds: float) -> None:
    """Move the sandbox's clock, then run the sweeper once."""
    clock.advance(timedelta(seconds=seconds))
    sweep()


def leases_run_out() -> None:
    """Let the real time pass for which a dead request keeps others from its work."""
    past = timezone.now() - timedelta(seconds=1)
    IdempotencyKey.objects.update(lease_until=past)
    for rows in (Attempt.objects, Modification.objects, Refund.objects, Payout.objects):
        rows.filter(lease_until__isnull=False).update(lease_until=past)


class Died(BaseException):
    """The process is gone: nothing handles this, and nothing tidies up."""


@contextmanager
def dies(module: Any, name: str, *, afterwards: bool = False) -> Iterator[None]:
    """Let the process die when it calls a function, or as soon as that has done its work."""
    real = getattr(module, name)

    def last_words(*arguments: Any, **options: Any) -> Any:
        if afterwards:
            real(*arguments, **options)
        raise Died

    # A dead process gives no lease back.
    with patch.object(module, name, last_words), patch.object(leases, "give_back"):
        yield
