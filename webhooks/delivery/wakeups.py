"""Wake-ups: a hint to senders, through Redis, that a delivery is due; it may be lost."""

from contextlib import suppress

from django.db import connection, transaction

from core import redis

CHANNEL = "webhooks:wake"


def wake_after_commit() -> None:
    """Wake the senders once the transaction is committed; several calls in it send one wake-up."""
    # Django takes hooks off this list when their savepoint is rolled back: then the next call adds
    # the wake-up again.
    if not any(entry[1] is wake for entry in connection.run_on_commit):
        transaction.on_commit(wake)


def wake() -> None:
    """Publish a wake-up to every sender; without Redis senders look by themselves every second.

    Takes 100 ms at most, and no time while Redis is known to be away.
    """
    with suppress(redis.Away):
        redis.call(lambda client: client.publish(CHANNEL, ""))
