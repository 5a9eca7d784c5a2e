"""The current request or job: its id, its time budget in seconds, its clock.

Banks, locks and logs read it from here, so that no function passes it on.
"""

import getpass
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from core import ids

REQUEST_BUDGET_SECONDS = 45.0


class ActorKind(StrEnum):
    """The doors by which work comes in (contract: Audit log)."""

    USER = "user"
    OPERATOR = "operator"
    API_KEY = "api_key"
    COMMAND = "command"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """The one in whose name work is done; the audit log keeps it.

    :param id: of the person or the key; the name of the command or job.
    :param name: for people who read the log: an e-mail address, the login name of a command's user.
    """

    kind: ActorKind
    id: str | None = None
    name: str | None = None


# The service itself. A door that knows better says so (`act_as`).
SYSTEM = Actor(ActorKind.SYSTEM)


@dataclass(slots=True)
class Work:
    """One request or one job run."""

    request_id: str
    began: float  # As `time.monotonic`, like the deadline.
    deadline: float
    begun_at: datetime  # Real time.
    actor: Actor = SYSTEM
    address: str | None = None  # Of the client; None for jobs and commands.
    clock_offset_seconds: float | None = None
    facts: dict[str, str] = field(default_factory=dict)  # For the access log: merchant, key.
    is_request: bool = False  # Of a client, who waits for it in a thread of the web process.
    changes_something: bool = False  # A client's request that may do more than read.
    is_irrevocable: bool = False
    has_asked_others: bool = False  # Their answer has to be written down, however late.
    idempotency_claim: Any = None  # Of api.idempotency, for as long as this work lasts.
    payer_browser: str | None = None  # Of a press on a payment page (`payments.payer.browsers`).
    refusal: str | None = None  # The code of the error that it is answered by.
    body: Any = field(default=None, repr=False)  # As parsed, its card lifted out.
    last_change: tuple[str, str] | None = None  # Merchant and object that changed last.
    sequences: dict[tuple[str, str], int] = field(default_factory=dict)  # Of their last events.
    afterwards: list[Callable[[], None]] = field(default_factory=list, repr=False)


_current: ContextVar[Work | None] = ContextVar("work", default=None)


def begin(budget_seconds: float = REQUEST_BUDGET_SECONDS, *, since: float | None = None) -> Work:
    """Start a new piece of work with its own `req_` id and deadline (real time).

    :param since: when its budget began (`time.monotonic`); by default it begins now.
    """
    began = time.monotonic() if since is None else since
    work = Work(
        request_id=ids.new("req"),
        began=began,
        deadline=began + budget_seconds,
        begun_at=datetime.now(UTC),
    )
    _current.set(work)
    return work


def end() -> None:
    """Forget the current work; what follows its answer may be given up."""
    if work := _current.get():
        work.has_asked_others = False
    _current.set(None)


@contextmanager
def work() -> Iterator[Work]:
    """Run the block as a piece of work of its own (jobs and commands).

    Within other work it is done in the name of the same actor.
    """
    outer = _current.get()
    token = _current.set(None)
    try:
        inner = begin()
        if outer:
            inner.actor, inner.address = outer.actor, outer.address
        yield inner
    finally:
        _current.reset(token)


@contextmanager
def resumed(work: Work) -> Iterator[None]:
    """Run the block as more of a piece of work that was ended (what follows an answer)."""
    token = _current.set(work)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Work | None:
    """Return the current work, or None outside of any."""
    return _current.get()


def act_as(kind: ActorKind, actor_id: str, name: str | None = None) -> None:
    """Say in whose name the current work is done; each door says it once, where work begins."""
    if work := _current.get():
        work.actor = Actor(kind, actor_id, name)


def actor() -> Actor:
    """Return in whose name the current work is done; the service's own outside of any."""
    work = _current.get()
    return work.actor if work else SYSTEM


def login_name() -> str | None:
    """Return the machine's user; None for a container's, who may have no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def address() -> str | None:
    """Return the address that the current work came from, None if it is no request."""
    work = _current.get()
    return work.address if work else None


def request_id() -> str:
    """Return the `req_` id of the current work; a fresh one outside of any.

    An event's `request_id` is never null (contract 2).
    """
    work = _current.get()
    return work.request_id if work else ids.new("req")


def is_request() -> bool:
    """Return whether the current work is a client's request, and no job or command."""
    work = _current.get()
    return work is not None and work.is_request


def note_refusal(code: str) -> None:
    """Remember the code of the error that the current work is answered by."""
    if work := _current.get():
        work.refusal = code


def when_answered(call: Callable[[], None]) -> None:
    """Make a call when the answer to the current request has left; at once outside of any.

    The request's transactions are over by then, and so may be its process: for what may be lost.
    """
    work = _current.get()
    if work and work.is_request:
        work.afterwards.append(call)
    else:
        call()


def note_change(merchant_id: str, object_id: str, *, sequence: int | None = None) -> None:
    """Remember merchant and object that the current work has just changed.

    :param sequence: of the change's event, if it has one; both may still be undone.
    """
    if work := _current.get():
        work.last_change = merchant_id, object_id
        if sequence:
            work.sequences[work.last_change] = sequence


def last_sequence(merchant_id: str, object_id: str) -> int | None:
    """Return the sequence of the last event that the current work recorded of an object."""
    work = _current.get()
    return work.sequences.get((merchant_id, object_id)) if work else None


def mark_irrevocable() -> None:
    """Note that from here on an attempt exists and money may move, even if the request fails.

    No failure of ours may be answered by a 4xx or 503, which say that nothing happened.
    """
    if work := _current.get():
        work.is_irrevocable = True


def is_irrevocable() -> bool:
    """Return whether the current work has come so far that money may have moved."""
    work = _current.get()
    return work is not None and work.is_irrevocable


def remaining_seconds() -> float:
    """Return what is left of the time budget; the full budget outside of any work."""
    work = _current.get()
    return work.deadline - time.monotonic() if work else REQUEST_BUDGET_SECONDS


def spent_seconds() -> float:
    """Return for how long the current work has been done; 0 outside of any."""
    work = _current.get()
    return time.monotonic() - work.began if work else 0.0
