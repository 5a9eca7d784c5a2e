"""The codes of card issuers, ISO 8583: they mean the same at every bank.

A code that is not listed proves nothing: the bank has to be asked.
"""

from typing import NamedTuple

from acquirers.declines import AUTHENTICATION_REQUIRED, BY_RESPONSE_CODE
from acquirers.outcomes import Answer, Reason


class Meaning(NamedTuple):
    """The answer that a code stands for, and the reason, where the code itself does not say it."""

    answer: Answer
    reason: Reason | None = None


UNKNOWN = Meaning(Answer.UNKNOWN)
APPROVED = "00"
REFUSALS = frozenset({
    *BY_RESPONSE_CODE,
    "01", "03", "04", "06", "07", "13", "15", "33", "36", "37", "52", "53", "55", "59", "61", "62",
    "63", "75", "78",
})  # fmt: skip
DEMANDS = frozenset(
    code for code, decline in BY_RESPONSE_CODE.items() if decline is AUTHENTICATION_REQUIRED
)


def of_decline(code: str) -> Meaning:
    """Return the meaning of an issuer's no."""
    if code in DEMANDS:
        return Meaning(Answer.AUTHENTICATION_REQUIRED)
    return Meaning(Answer.DECLINED) if code in REFUSALS else UNKNOWN
