"""The bank's answers: which asker may apply them, and when "no record" is believed."""

from dataclasses import replace
from datetime import datetime

from acquirers.conversation import leases, schedule
from acquirers.conversation.models import InDoubt
from acquirers.outcomes import NEVER_SENT, Answer, Outcome

# These answers are facts about the reference: any process may apply them. Silence and our own
# conclusions, such as "not sent", are about one request: only the lease's holder may apply them.
BANKS_WORD = (
    Answer.APPROVED, Answer.DECLINED, Answer.SETTLED, Answer.VOIDED, Answer.LAPSED,
)  # fmt: skip


def counts(outcome: Outcome, *, asked: InDoubt, locked: InDoubt) -> bool:
    """Return whether the asker may apply the answer to the row, which is open and locked.

    The bank's answer counts from every asker; silence and "not sent" from the lease's holder only.
    """
    return outcome.answer in BANKS_WORD or not leases.is_overtaken(asked, locked)


def believed(row: InDoubt, outcome: Outcome, *, not_before: datetime | None = None) -> Outcome:
    """Return the answer; UNKNOWN in place of a "no record" that is not to be believed yet.

    Counts a "no record" in the locked row, in memory; the caller saves it.

    :param not_before: until then no "no record" suffices, and one more is needed from then on.
    """
    if outcome.answer is not Answer.NO_RECORD:
        return outcome
    schedule.count_no_record(row, last_not_before=not_before)
    is_sure = schedule.absence_is_confirmed(row)
    return outcome if is_sure else replace(outcome, answer=Answer.UNKNOWN)


def in_doubt(outcome: Outcome) -> Outcome:
    """Return the answer to a request sent again: if this one never arrived, the first may have."""
    return replace(outcome, answer=Answer.UNKNOWN) if outcome.answer in NEVER_SENT else outcome
