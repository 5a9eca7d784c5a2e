"""The chores of a sender: finish stops and replays of endpoints, and send notices by mail."""

from core import installation
from webhooks import notices, replay, stopping
from webhooks.delivery.chores import Chore

TIDY_EVERY_SECONDS = 1.0
MAIL_EVERY_SECONDS = 5.0


def tidy_up() -> int:
    """Cancel and replay the next deliveries at changed endpoints; return how many they were."""
    if installation.known_to_be_held():
        return 0
    return stopping.stop_pending() + replay.advance()


def send_mails() -> int:
    """Send the notices by mail that are due; return how many they were."""
    return 0 if installation.known_to_be_held() else notices.send_due()


def chores() -> tuple[Chore, ...]:
    """Return the chores of every process that delivers webhooks."""
    return (
        Chore("tidying", tidy_up, TIDY_EVERY_SECONDS),
        Chore("mail", send_mails, MAIL_EVERY_SECONDS),
    )
