"""The times at which a row becomes due, in the movable clock (contract 3)."""

from datetime import datetime, timedelta

from django.conf import settings

from acquirers.conversation.models import InDoubt
from core import clock

# The waits before the first inquiry, the second, …; the last one repeats.
INQUIRY_WAITS = [timedelta(seconds=s) for s in (10, 30, 120, 600, 3600, 21_600, 86_400)]
# "No record" counts once the request cannot be on its way to the bank any more: the first one, the
# second and the third, after the time-out. Many questions of a moment are one piece of evidence.
NO_RECORDS_COUNT_AFTER = [timedelta(minutes=m) for m in (1, 5, 15)]
NO_RECORDS_NEEDED = len(NO_RECORDS_COUNT_AFTER)
# Banks close their day a little after its end.
AFTER_THE_DAY = timedelta(minutes=10)


def next_inquiry_at(row: InDoubt, now: datetime) -> datetime:
    """Return when the bank is asked again, if the inquiry at `now` brings no answer."""
    return now + INQUIRY_WAITS[min(row.inquiry_count, len(INQUIRY_WAITS) - 1)]


def begin_asking(row: InDoubt, now: datetime) -> None:
    """Note that the bank gets a new request now: the counts of inquiries begin at 0 again.

    Changes the row in memory, as all functions here do; the caller saves it.
    """
    row.asked_at = now
    ask_anew(row, now)


def ask_anew(row: InDoubt, now: datetime) -> None:
    """Let the bank be asked now how the request of before ended, and by the schedule from then on.

    Also of a row that has ended already.
    """
    row.due_at = now
    row.inquiry_count = row.no_record_count = 0


def begin_again(row: InDoubt, now: datetime) -> None:
    """Note that the bank gets the request now, so that "no record" counts from now on only.

    The waits between inquiries go on growing: the row may have been sent in vain before.
    """
    row.asked_at = now
    row.no_record_count = 0


def count_inquiry(row: InDoubt, now: datetime) -> None:
    """Count an inquiry that is about to be made, and note when the next one would be due.

    Written before the bank is asked: a row that a bug of ours keeps open comes back by the
    schedule, and does not take the others' turn.
    """
    row.inquiry_count += 1
    row.due_at = next_inquiry_at(row, now)


def ask_later(row: InDoubt) -> None:
    """Let the row become due when the bank is to be asked again."""
    row.due_at = next_inquiry_at(row, clock.now())


def look_after_day(row: InDoubt, ends_at: datetime | None) -> None:
    """Let the row become due ten minutes after the end of the bank's day.

    :param ends_at: None for a bank whose day has no end: the row waits as for an inquiry.
    """
    if ends_at is None:
        ask_later(row)
    else:
        row.due_at = ends_at + AFTER_THE_DAY


def ask_by(row: InDoubt, latest: datetime | None) -> None:
    """Let a row that is asked about later be asked about by then, if that is still to come."""
    if latest and row.due_at and clock.now() < latest < row.due_at:
        row.due_at = latest


def ask_daily(row: InDoubt, now: datetime) -> None:
    """Let the bank be asked a day from now, and then once a day: the longest wait repeats."""
    row.inquiry_count = max(row.inquiry_count, len(INQUIRY_WAITS))
    row.due_at = now + INQUIRY_WAITS[-1]


def look_at(row: InDoubt, at: datetime) -> None:
    """Let the row become due at a given time, such as the end of an authorisation."""
    row.due_at = at


def never_look(row: InDoubt) -> None:
    """Note that nothing of the row can become due any more."""
    row.due_at = None


def count_no_record(row: InDoubt, *, last_not_before: datetime | None = None) -> None:
    """Count an answer "no record", unless it comes too early to be one more piece of evidence.

    :param last_not_before: the last one that is needed comes from then on.
    """
    timed_out_at = row.asked_at + timedelta(seconds=settings.ACQUIRER_TIMEOUT_SECONDS)
    nth = min(row.no_record_count, NO_RECORDS_NEEDED - 1)
    if clock.now() < timed_out_at + NO_RECORDS_COUNT_AFTER[nth]:
        return
    row.no_record_count += 1
    if last_not_before and clock.now() < last_not_before:
        row.no_record_count = min(row.no_record_count, NO_RECORDS_NEEDED - 1)


def absence_is_confirmed(row: InDoubt) -> bool:
    """Return whether the bank has answered "no record" three times, late enough to be believed."""
    return row.no_record_count >= NO_RECORDS_NEEDED
