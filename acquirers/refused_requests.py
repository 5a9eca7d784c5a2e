"""Requests that acquirers refuse before they ask a bank: a terminal's set-up is probably wrong."""

from collections import Counter
from threading import Lock

import structlog

from acquirers.models import Terminal
from acquirers.outcomes import Answer, Outcome

ALERT_AFTER = 3
# Answers that say nothing of the set-up: the acquirer may not have seen the request.
UNTOLD = (Answer.NOT_SENT, Answer.UNKNOWN)

log = structlog.get_logger(__name__)
_in_a_row: Counter[str] = Counter()
_lock = Lock()


def watched(terminal: Terminal, outcome: Outcome) -> Outcome:
    """Return the outcome; every third refusal in a row on one terminal is an error in the log."""
    if outcome.answer in UNTOLD:
        return outcome
    with _lock:
        is_refused = outcome.answer is Answer.NOT_CHARGED and not outcome.blames_the_payment
        _in_a_row[terminal.id] = _in_a_row[terminal.id] + 1 if is_refused else 0
        count = _in_a_row[terminal.id]
    if count and count % ALERT_AFTER == 0:
        log.error(
            "terminal_refused_requests",
            terminal=terminal.name,
            bank_code=outcome.exchange.code,
            bank_text=outcome.exchange.text,
            in_a_row=count,
        )
    return outcome
