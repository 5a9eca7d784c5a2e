"""Rounds of beat's work: when each piece last ended well, for who watches the installation.

In Redis, for a round may come each second, and none of it has to last: lost, it is known again with
the next round. Only the last time counts, so two workers need not agree.
"""

import time
from typing import Any

from core import redis

KEY = "rounds"


def note(task: str) -> None:
    """Note that a round of a task has ended well now; without Redis nothing is noted."""
    try:
        redis.call(lambda client: client.hset(KEY, task, f"{time.time():.0f}"))
    except redis.Away:
        return


def seconds_ago() -> dict[str, float]:
    """Return how long ago each task's last round ended.

    :raises redis.Away: Redis did not answer.
    """
    noted: dict[Any, Any] = redis.call(lambda client: client.hgetall(KEY))
    now = time.time()
    return {task.decode(): max(0.0, now - float(at)) for task, at in noted.items()}
