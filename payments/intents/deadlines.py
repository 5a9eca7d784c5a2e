"""The deadlines of payers and authorisations, in the movable clock (contract 3)."""

from datetime import datetime, timedelta

from payments.intents.models import Attempt

PAYER_HAS = timedelta(hours=1)
AUTHORIZATION_LIVES = timedelta(days=7)


def expires_at(attempt: Attempt) -> datetime:
    """Return the end of an authorisation, 7 days after it was given; a capture is refused then."""
    assert attempt.closed_at is not None  # An authorised attempt is no open one.
    return attempt.closed_at + AUTHORIZATION_LIVES
