"""Deliveries made by a sender of the test's own, without a database."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from tests.stage.receivers import Receiver
from webhooks.delivery.http.sender import Sender
from webhooks.delivery.messages import Answer, Claimed, Lease
from webhooks.delivery.moments import Moment

BODY = '{"id": "evt_1",  "data": {"name": "Ayşe"}}'.encode()
SECRET = "whsec_0123456789abcdefghijABCDEFGHIJ01"


def delivery(url: str, **changes: Any) -> Claimed:
    facts = {
        "lease": Lease(1, uuid4()),
        "since": Moment.now(),
        "delivery_id": "whd_1",
        "merchant_id": "mer_1",
        "endpoint_id": "we_1",
        "event_id": "evt_1",
        "url": url,
        "attempt": 1,
        "planned_at": real_now(),
        "scheduled_at": real_now(),
        "is_resend": False,
        "is_degraded": False,
        "body": BODY,
        "secrets": (SECRET,),
    }
    return Claimed(**facts | changes)


def real_now() -> datetime:
    return datetime.now(UTC)


def send(
    *deliveries: Claimed,
    between: Callable[[], None] = lambda: None,
    may_go_on: Callable[[], bool] = lambda: True,
    **options: Any,
) -> list[Answer]:
    """Make the deliveries one after the other, by one sender.

    :param between: is called after each of them.
    :param may_go_on: ends the rest after that; what has come by then is seen before the next.
    """

    async def make() -> list[Answer]:
        answers = []
        async with Sender(now=real_now, **options) as sender:
            for one in deliveries:
                answers.append(await sender.post(one))
                between()
                while not may_go_on():
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.01)
        return answers

    return asyncio.run(make())


def post(*urls: str, **options: Any) -> list[Answer]:
    """Send to the addresses one after the other, as `send` does."""
    return send(*map(delivery, urls), **options)


def deliver(to: Receiver, settings: Any, **options: Any) -> Answer:
    """Send to a receiver that is a developer's own host."""
    settings.WEBHOOK_DEV_HOSTS = [to.host]
    return post(to.url, **options)[0]
