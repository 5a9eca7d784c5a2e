"""Messages between the lanes and the sender: free capacity, a claimed delivery, its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from webhooks.delivery.moments import Moment


class Capacity(NamedTuple):
    """The deliveries that one process can take up now.

    :param degraded_slots: the part of the slots that degraded endpoints may have: those that keep
        failing or take long to answer.
    :param under_way: the number of deliveries of each merchant that the process makes already.
    """

    slots: int
    degraded_slots: int
    under_way: Mapping[str, int]


class Lease(NamedTuple):
    """The right to send a lane's first delivery; each claim of the lane gets a lease of its own."""

    lane_id: int
    id: UUID


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that this process alone may make, until its lease is over.

    :param since: a moment at or before the beginning of the lease, so that this process never
        takes its lease for longer than it is.
    :param planned_at: in the movable clock, as `scheduled_at` is.
    :param body: the event's stored bytes, sent as they are.
    :param secrets: the endpoint's signing secrets, the newest first; empty if none could be opened.
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
    planned_at: datetime
    scheduled_at: datetime
    is_resend: bool
    is_degraded: bool
    body: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one attempt: the receiver's answer, or the reason why there is none.

    :param status: the status line's number; None when there was no answer.
    :param excerpt: the first of the answer's body, or why the answer could not be read; masked, at
        most 512 characters.
    :param error: None, or one of `ERRORS` (contract 2, Delivery attempt).
    :param attempted_at: in the movable clock.
    :param was_reached: false if our own network may have failed: the name was not found, no
        connection opened, or nothing came back over a connection that was kept open.
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

    @property
    def is_early(self) -> bool:
        """Return whether it was made before its time, as a resend does: it is none of the ten."""
        return self.attempted_at < self.claimed.scheduled_at

    @property
    def tries(self) -> int:
        """The attempts of the schedule up to this one, with it: 0…10."""
        return self.claimed.attempt - self.is_early


# In the order in which an attempt can meet them.
ERRORS = (
    "blocked_address", "dns_error", "connection_error", "tls_error", "timeout", "http_status",
)  # fmt: skip
