"""What passes between the lanes and the sender: a delivery to make, and how it went."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from webhooks.moments import Moment


class Lease(NamedTuple):
    """The right to deliver what is first in a lane; one lane has many, one after the other."""

    lane_id: int
    id: UUID


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that this process alone may make, until its lease is over.

    :param since: a moment no later than the beginning of the lease, so that ours never seems
        to last longer than it does.
    :param body: the event's stored bytes, sent as they are.
    :param secrets: what to sign with, the newest first.
    :param is_degraded: the endpoint has failed several times in a row, or takes long to answer.
    """

    lease: Lease
    since: Moment
    delivery_id: str
    merchant_id: str
    endpoint_id: str
    event_id: str
    url: str
    attempt: int
    is_resend: bool
    is_degraded: bool
    body: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """How one attempt went.

    :param status: the status line's number; None when there was no answer.
    :param excerpt: the first of the answer's body, masked, at most 512 characters.
    :param error: None, or one of `ERRORS` (contract 2, Delivery attempt).
    :param attempted_at: in the movable clock.
    :param was_reached: false where our own network may be what failed: no name, no
        connection, or a connection of old that gave no sign any more.
    """

    claimed: Claimed
    status: int | None
    excerpt: str | None
    error: str | None
    attempted_at: datetime
    duration_ms: int
    was_reached: bool = True

    @property
    def is_success(self) -> bool:
        return self.error is None


# In the order in which a delivery meets them.
ERRORS = (
    "blocked_address", "dns_error", "connection_error", "tls_error", "timeout", "http_status",
)  # fmt: skip
