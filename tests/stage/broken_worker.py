"""`deliver_webhooks` with one of its guards taken out, to show that the chaos test sees it."""

import os
import sys

import django


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


if __name__ == "__main__":
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    from webhooks.delivery import fairness, lanes  # noqa: PLC0415

    break_it(os.environ["WITHOUT"])
    call_command(*sys.argv[1:])
