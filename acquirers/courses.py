"""The course of one request to a bank, timed where it is made."""

import time
from collections.abc import Mapping
from datetime import datetime

import structlog
from django.utils import timezone

from acquirers.outcomes import Exchange
from core.names import may_be_security_code
from core.secrets_in_text import hide_secrets

CODE_MAX, TEXT_MAX = 40, 200
NUMBERS_MAX, NUMBER_MAX = 16, 80

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

        The bank's texts are scrubbed and cut. Its numbers are kept as they are or not at all: a
        void or a refund sends them back, and a part of a number would name something else. One
        that is named like a security code is never kept.
        """
        return Exchange(
            sent_at=self.sent_at,
            seconds=time.monotonic() - self._began,
            code=_shown(code, CODE_MAX),
            text=_shown(text, TEXT_MAX),
            numbers=_kept(numbers or {}),
        )


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
    return hide_secrets(plain)[:longest] or None
