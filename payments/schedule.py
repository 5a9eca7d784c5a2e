"""When an attempt becomes due, in the movable clock (contract 3)."""

from datetime import datetime, timedelta

from django.conf import settings

from core import clock
from payments.models import Attempt

# How long to wait before the first inquiry, the second, …; the last wait repeats.
INQUIRY_WAITS = [timedelta(seconds=s) for s in (10, 30, 120, 600, 3600, 21_600, 86_400)]
# "No record" counts once the request cannot be on its way to the bank any more.
NO_RECORD_COUNTS_AFTER = timedelta(seconds=60)
NO_RECORDS_NEEDED = 3
PAYER_HAS = timedelta(hours=1)
AUTHORIZATION_LIVES = timedelta(days=7)


def next_inquiry_at(attempt: Attempt, now: datetime) -> datetime:
    """Return when the bank is asked again, if it is asked now in vain."""
    return now + INQUIRY_WAITS[min(attempt.inquiry_count, len(INQUIRY_WAITS) - 1)]


def begin_asking(attempt: Attempt, now: datetime) -> None:
    """Note that the bank is asked for something new: the counts begin anew."""
    attempt.asked_at = attempt.due_at = now
    attempt.inquiry_count = attempt.no_record_count = 0


def count_no_record(attempt: Attempt) -> None:
    """Count that the bank knows of nothing, unless the request may be on its way still."""
    timed_out_at = attempt.asked_at + timedelta(seconds=settings.ACQUIRER_TIMEOUT_SECONDS)
    if clock.now() >= timed_out_at + NO_RECORD_COUNTS_AFTER:
        attempt.no_record_count += 1


def is_known_to_nobody(attempt: Attempt) -> bool:
    """Tell whether the bank has said often enough that it knows of nothing."""
    return attempt.no_record_count >= NO_RECORDS_NEEDED


def expires_at(attempt: Attempt) -> datetime:
    """Return when an authorised attempt can no longer be captured."""
    return attempt.closed_at + AUTHORIZATION_LIVES
