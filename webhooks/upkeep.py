"""The chores of a sender: finish stops and replays of endpoints, and send notices by mail."""

from webhooks import notices, replay, stopping
from webhooks.delivery.chores import Chore

TIDY_EVERY_SECONDS = 1.0
MAIL_EVERY_SECONDS = 5.0


def tidy_up() -> int:
    """Cancel and replay the next deliveries at changed endpoints; return how many they were."""
    return stopping.stop_pending() + replay.advance()


def chores() -> tuple[Chore, ...]:
    """Return the chores of every process that delivers webhooks."""
    return (
        Chore("tidying", tidy_up, TIDY_EVERY_SECONDS),
        Chore("mail", notices.send_due, MAIL_EVERY_SECONDS),
    )
