"""Requests that acquirers refuse before they ask a bank: a terminal's set-up is probably wrong.

They are counted in the terminal's row, over all processes. A request is judged where its answer
comes in, maybe in a thread without a connection, and counted in the transaction that applies it.
"""

from dataclasses import replace

import structlog
from django.db import connection

from acquirers.models import Terminal
from acquirers.outcomes import Answer, Judged, Outcome

ALERT_AFTER = 3
# Answers that say nothing of the set-up: the acquirer may not have seen the request.
UNTOLD = (Answer.NOT_SENT, Answer.UNKNOWN)
# A request that was taken writes only if the count is not 0 already.
COUNT = """
    UPDATE acquirers_terminal
    SET refused_in_a_row = CASE WHEN %(refused)s THEN refused_in_a_row + 1 ELSE 0 END
    WHERE id = %(id)s AND (%(refused)s OR refused_in_a_row > 0)
    RETURNING refused_in_a_row
"""

log = structlog.get_logger(__name__)


def watched(terminal: Terminal, outcome: Outcome) -> Outcome:
    """Return the outcome, with what it says about its terminal's set-up, if that is to be counted.

    :param terminal: as it was read for this request: a count of 0 is not reset once more.
    """
    if outcome.answer in UNTOLD:
        return outcome
    is_refused = outcome.answer is Answer.NOT_CHARGED and not outcome.blames_the_payment
    if not is_refused and not terminal.refused_in_a_row:
        return outcome
    return replace(outcome, judged=Judged(terminal.id, terminal.name, is_refused))


def count(outcome: Outcome) -> None:
    """Count the request of an outcome, and of those before it, in the caller's transaction.

    Every third refusal in a row on one terminal is an error in the log.
    """
    if outcome.after:
        count(outcome.after)
    judged = outcome.judged
    if judged is None:
        return
    refused = _counted(judged)
    if refused and refused % ALERT_AFTER == 0:
        log.error(
            "terminal_refused_requests",
            terminal=judged.terminal,
            bank_code=outcome.exchange.code,
            bank_text=outcome.exchange.text,
            in_a_row=refused,
        )


def _counted(judged: Judged) -> int:
    """Return the terminal's refused requests in a row, with this one; 0 after one that was taken.

    The row stays locked until the caller's transaction ends, after payment, attempt and row.
    """
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"id": judged.terminal_id, "refused": judged.is_refused})
        found = cursor.fetchone()
    return int(found[0]) if found else 0
