"""The course of one request to a bank, timed where it is made."""

import time
from collections.abc import Mapping
from datetime import datetime

from django.utils import timezone

from acquirers.outcomes import Exchange
from core.secrets_in_text import hide_secrets

CODE_MAX, TEXT_MAX = 40, 200


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

        The bank's words are scrubbed and cut; numbers that the bank did not tell are left out.
        """
        return Exchange(
            sent_at=self.sent_at,
            seconds=time.monotonic() - self._began,
            code=_shown(code, CODE_MAX),
            text=_shown(text, TEXT_MAX),
            numbers={name: value for name, value in (numbers or {}).items() if value},
        )


def _shown(text: str | None, longest: int) -> str | None:
    if not text:
        return None
    # PostgreSQL takes no NUL, and no half of a surrogate pair.
    plain = text.replace("\x00", "").encode("utf-8", "replace").decode()
    return hide_secrets(plain)[:longest] or None
