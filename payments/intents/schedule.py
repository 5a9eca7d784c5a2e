"""The times at which an attempt becomes due, in the movable clock (contract 3)."""

from datetime import datetime, timedelta

from django.conf import settings

from core import clock
from payments.intents.models import Attempt

# The waits before the first inquiry, the second, …; the last one repeats.
INQUIRY_WAITS = [timedelta(seconds=s) for s in (10, 30, 120, 600, 3600, 21_600, 86_400)]
# "No record" counts once the request cannot be on its way to the bank any more.
NO_RECORD_COUNTS_AFTER = timedelta(seconds=60)
NO_RECORDS_NEEDED = 3
PAYER_HAS = timedelta(hours=1)
AUTHORIZATION_LIVES = timedelta(days=7)


def next_inquiry_at(attempt: Attempt, now: datetime) -> datetime:
    """Return when the bank is asked again, if the inquiry at `now` brings no answer."""
    return now + INQUIRY_WAITS[min(attempt.inquiry_count, len(INQUIRY_WAITS) - 1)]


def begin_asking(attempt: Attempt, now: datetime) -> None:
    """Note that the bank gets a new request now: the counts of inquiries begin at 0 again.

    Changes the row in memory; the caller saves it.
    """
    attempt.asked_at = attempt.due_at = now
    attempt.inquiry_count = attempt.no_record_count = 0


def count_no_record(attempt: Attempt) -> None:
    """Count an answer "no record", unless the request may still be on its way to the bank.

    Changes the row in memory; the caller saves it.
    """
    timed_out_at = attempt.asked_at + timedelta(seconds=settings.ACQUIRER_TIMEOUT_SECONDS)
    if clock.now() >= timed_out_at + NO_RECORD_COUNTS_AFTER:
        attempt.no_record_count += 1


def absence_is_confirmed(attempt: Attempt) -> bool:
    """Tell whether the bank has answered "no record" three times, late enough to be believed."""
    return attempt.no_record_count >= NO_RECORDS_NEEDED


def expires_at(attempt: Attempt) -> datetime:
    """Return the end of an authorisation, 7 days after it was given; a capture is refused then."""
    assert attempt.closed_at is not None  # An authorised attempt is no open one.
    return attempt.closed_at + AUTHORIZATION_LIVES
