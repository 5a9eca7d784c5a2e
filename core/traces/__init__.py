"""Traces: each request, round and delivery, for OpenTelemetry; the one door to note their spans.

A span is noted when it is over, where the metrics count the same thing. Without an endpoint
(`config.settings.traces`) nothing is noted: a call looks at one flag. The library is loaded with
the sender alone (`core.traces.sender`).

A trace of a caller is never gone on with, and none is sent on to a bank or a receiver of webhooks.
"""

import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, Protocol

import structlog
from django.conf import settings
from django.utils.module_loading import import_string

from core import context
from core.heartbeat import ProcessKind
from core.scrub import scrub

# All that a span can have; OpenTelemetry's names, where it has one.
ATTRIBUTES = {
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
    "error": "error.type",
    "request_id": "pay.request_id",
    "waited_ms": "pay.waited_ms",
    "terminal": "pay.terminal",
    "rail": "pay.rail",
    "operation": "pay.operation",
    "result": "pay.result",
    "event_id": "pay.event_id",
    "delivery_id": "pay.delivery_id",
    "attempt": "pay.attempt",
}
# A round may ask a bank thousands of times; further calls are left out of its trace.
CALLS_MAX = 100

SpanKind = Literal["server", "client", "internal"]
Fact = str | int | None
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of work that is over.

    :param began_at: unix seconds of real time.
    :param facts: by names of `ATTRIBUTES`; None is left out.
    """

    name: str
    kind: SpanKind
    began_at: float
    seconds: float
    is_failed: bool
    facts: Mapping[str, Fact]

    def attributes(self) -> dict[str, str | int]:
        """Return the facts as they may leave: by the names of the list, after the scrubber.

        :raises KeyError: a fact's name is not in the list.
        """
        found = {ATTRIBUTES[name]: scrub(value) for name, value in self.facts.items()}
        return {name: value for name, value in found.items() if value is not None}


class Sender(Protocol):
    """The way to the collector; it never waits for it."""

    def send(self, root: Span, calls: Sequence[Span]) -> None: ...

    def end(self) -> None: ...


@dataclass(slots=True)
class _Trace:
    began_at: float
    calls: list[Span] = field(default_factory=list)


class _State:
    sender: Sender | None = None


state = _State()
_open: ContextVar[_Trace | None] = ContextVar("trace", default=None)


def begin(kind: ProcessKind) -> None:
    """Note spans from now on, if there is an endpoint; before any fork: the library is loaded."""
    if settings.TRACES:
        state.sender = import_string("core.traces.sender.SpanSender")(kind, **settings.TRACES)


def end() -> None:
    """Send what waits, for a few seconds at most, and note nothing from now on."""
    sender, state.sender = state.sender, None
    if sender:
        sender.end()


def is_on() -> bool:
    """Return whether this process notes spans."""
    return state.sender is not None


def open_trace() -> None:
    """Begin a trace: calls that end in this thread from now on are its own."""
    if state.sender is not None:
        _open.set(_Trace(time.time()))


def close_trace(name: str, kind: SpanKind, *, is_failed: bool, **facts: Fact) -> None:
    """Send the open trace, if there is one, with its calls."""
    trace = _open.get()
    if trace is None or state.sender is None:
        return
    _open.set(None)
    seconds = time.time() - trace.began_at
    _send(Span(name, kind, trace.began_at, seconds, is_failed, facts), trace.calls)


def note_call(name: str, *, seconds: float, is_failed: bool, **facts: Fact) -> None:
    """Note a call to another party that is just over, within the open trace or as one by itself."""
    if state.sender is None:
        return
    work, trace = context.current(), _open.get()
    own = {**facts, "request_id": work.request_id if work else None}
    span = Span(name, "client", time.time() - seconds, seconds, is_failed, own)
    if trace is None:
        _send(span, ())
    elif len(trace.calls) < CALLS_MAX:
        trace.calls.append(span)


def note_alone(span: Span) -> None:
    """Send a span that is a trace by itself."""
    if state.sender is not None:
        _send(span, ())


def _send(root: Span, calls: Sequence[Span]) -> None:
    try:
        if state.sender is not None:
            state.sender.send(root, calls)
    except Exception as problem:  # noqa: BLE001 - No payment fails because of a trace.
        state.sender = None
        log.error("traces_lost", reason=type(problem).__name__)
