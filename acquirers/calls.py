"""Calls of adapters to their banks: once, within the time budget, and honest about doubt."""

from collections.abc import Callable
from typing import TypeVar

from django.conf import settings

from acquirers import wire
from acquirers.courses import Course
from acquirers.models import Terminal
from acquirers.outcomes import Answer, Finding, Outcome, Standing
from acquirers.terminals import CredentialsUnreadable
from core import context

# The caller may be a request that still has work to do, so an inquiry gets at most 10 s of its
# budget.
INQUIRY_SECONDS = 10.0
TIMEOUT = "timeout_seconds"

Received = TypeVar("Received")
# Sends within so many seconds; raises `wire.NotSent` or `wire.NoAnswer`.
Send = Callable[[float], Received]


def patience_seconds(terminal: Terminal | None = None) -> float:
    """Return how long a bank is waited for: the terminal's time-out, or the installation's."""
    own = terminal.shown_values.get(TIMEOUT) if terminal else None
    most = float(own) if own else settings.ACQUIRER_TIMEOUT_SECONDS
    return min(most, context.remaining_seconds())


def change(
    terminal: Terminal,
    send: Send[Received],
    read: Callable[[Received, Course], Outcome],
) -> Outcome:
    """Send one request that changes something at the bank, and read its answer."""
    seconds = patience_seconds(terminal)
    if seconds <= 0:
        return Outcome(Answer.NOT_SENT)
    course = Course()
    try:
        received = send(seconds)
    except (wire.NotSent, CredentialsUnreadable):
        return Outcome(Answer.NOT_SENT)
    except wire.NoAnswer:
        return Outcome(Answer.UNKNOWN, exchange=course.ended())
    return read(received, course)


def ask(
    terminal: Terminal,
    send: Send[Received],
    read: Callable[[Received, Course], Standing],
) -> Standing:
    """Send one inquiry, which changes nothing at the bank, and read its answer."""
    seconds = min(INQUIRY_SECONDS, patience_seconds(terminal))
    if seconds <= 0:
        return Standing(Finding.UNKNOWN)
    course = Course()
    try:
        received = send(seconds)
    except CredentialsUnreadable:
        return Standing(Finding.UNKNOWN)
    except (wire.NotSent, wire.NoAnswer):
        return Standing(Finding.UNKNOWN, exchange=course.ended())
    return read(received, course)
