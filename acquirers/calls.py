"""Calls of adapters to their banks: once, within the time budget, and honest about doubt."""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from ipaddress import ip_address
from typing import TypeVar

import structlog
from django.conf import settings
from django.utils import timezone

from acquirers import wire
from acquirers.models import Terminal
from acquirers.outcomes import Answer, Exchange, Finding, Outcome, Standing
from acquirers.terminals import CredentialsUnreadable
from core import context
from core.names import may_be_security_code
from core.secrets_in_text import hide_secrets

# The caller may be a request that still has work to do, so an inquiry gets at most 10 s of its
# budget.
INQUIRY_SECONDS = 10.0
TIMEOUT = "timeout_seconds"
CODE_MAX, TEXT_MAX = 40, 200
NUMBERS_MAX, NUMBER_MAX = 16, 80
MAY_BE_ADDRESS = re.compile(r"[0-9A-Fa-f:.]*[0-9A-Fa-f:]")

log = structlog.get_logger(__name__)


class Course:
    """A request that is on its way; an adapter begins one right before it sends."""

    def __init__(self) -> None:
        self.sent_at: datetime = timezone.now()
        self._began = time.monotonic()

    def ended(
        self,
        *,
        code: str | None = None,
        text: str | None = None,
        numbers: Mapping[str, str | None] | None = None,
    ) -> Exchange:
        """Return the exchange now that the answer is here, or that this side gave up.

        The bank's texts are scrubbed, of network addresses too, and cut. Its numbers are kept as
        they are or not at all: a void or a refund sends them back, and a part of a number would
        name something else. One that is named like a security code is never kept.
        """
        return Exchange(
            sent_at=self.sent_at,
            seconds=time.monotonic() - self._began,
            code=_shown(code, CODE_MAX),
            text=_shown(text, TEXT_MAX),
            numbers=_kept(numbers or {}),
        )


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


def _kept(numbers: Mapping[str, str | None]) -> dict[str, str]:
    told = {name: value for name, value in numbers.items() if value}
    fit = {
        name: value
        for name, value in told.items()
        if _is_fit(value) and not may_be_security_code(name)
    }
    if unfit := told.keys() - fit.keys():
        log.error("bank_numbers_left_out", names=sorted(unfit))
    return dict(list(fit.items())[:NUMBERS_MAX])


def _is_fit(number: str) -> bool:
    """Return whether it can be a bank's number: short, printable, no cardholder's secret."""
    is_plain = number.isascii() and number.isprintable() and len(number) <= NUMBER_MAX
    return is_plain and hide_secrets(number) == number


def _shown(text: str | None, longest: int) -> str | None:
    if not text:
        return None
    # PostgreSQL takes no NUL, and no half of a surrogate pair.
    plain = text.replace("\x00", "").encode("utf-8", "replace").decode()
    return hide_secrets(_without_addresses(plain))[:longest] or None


def _without_addresses(text: str) -> str:
    """Return a bank's text without network addresses: a payer's is kept in no row."""
    return MAY_BE_ADDRESS.sub(lambda found: _hidden_address(found[0]), text)


def _hidden_address(text: str) -> str:
    # A sign before an address, as in `IP:192.0.2.1`, is taken for a part of it.
    for part in (text, text.lstrip(":")):
        with suppress(ValueError):
            ip_address(part)
            return text.removesuffix(part) + "[address]"
    return text
