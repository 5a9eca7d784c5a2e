"""Ends of attempts that took nothing, by whatever way."""

from acquirers.conversation import schedule
from events import transitions
from payments.intents import non_secure
from payments.intents.models import Attempt
from payments.intents.states import ATTEMPTS, AttemptStatus


def end_unpaid(attempt: Attempt, status: AttemptStatus) -> None:
    """Give a locked attempt its last status, in memory, and the day's limit its money back.

    In the transaction in which the caller saves the attempt. The bank is no longer asked about it.

    :param status: one of `states.UNPAID`.
    """
    transitions.change(attempt, status, table=ATTEMPTS)
    schedule.never_look(attempt)
    non_secure.take_off(attempt)
