"""`deliver_webhooks` with one of its guards taken out, to show that the chaos test sees it."""

import os
import sys

import django
from django.conf import settings

from tests.stage.webhook_workers import LEASE_SECONDS


def without(text: str, guard: str, instead: str = "") -> str:
    assert guard in text, "the guard is written another way now"
    return text.replace(guard, instead)


def break_it(guard: str) -> None:
    if guard == "fence":
        lanes.LOCK = without(lanes.LOCK, "AND lane.lease_id = mine.lease_id")
    elif guard == "order":
        lanes.HEADS = without(lanes.HEADS, "ORDER BY sequence", "ORDER BY sequence DESC")
    elif guard == "lease":
        # Not at all, and nobody would ever get to write anything down.
        fairness.LEASE = without(fairness.LEASE, "'1 second'", "'50 milliseconds'")


def end_idle_transactions_soon() -> None:
    """Let PostgreSQL end a transaction that stands still after a lease's time, not a minute.

    It holds the locks of its lanes, and nobody can take them over before.
    """
    name, seconds = "idle_in_transaction_session_timeout", f"{LEASE_SECONDS}s"
    settings.BOUNDED_WAITS[name] = seconds
    for database in settings.DATABASES.values():
        database["OPTIONS"]["options"] += f" -c {name}={seconds}"


if __name__ == "__main__":
    end_idle_transactions_soon()
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    from webhooks.delivery import fairness, lanes  # noqa: PLC0415

    break_it(os.environ["WITHOUT"])
    call_command(*sys.argv[1:])
