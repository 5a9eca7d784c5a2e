"""Write docs/states.md from the table of states."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from payments.intents.states import TABLE, AttemptStatus, Status

PATH = settings.BASE_DIR / "docs" / "states.md"

# The cause of each transition, a sentence for each row of the table.
CAUSES = {
    Status.REQUIRES_PAYMENT_METHOD: {
        Status.REQUIRES_ACTION: "A card was given, and its customer has to authenticate.",
        Status.PROCESSING: "A card was given, and the bank did not answer, or said “later”.",
        Status.REQUIRES_CAPTURE: "A card was given and authorised; `capture_method` is `manual`.",
        Status.SUCCEEDED: "A card was given and charged.",
        Status.REQUIRES_PAYMENT_METHOD: (
            "A card was given and declined, or its 3-D Secure could not begin, or the bank could"
            " not be reached."
        ),
        Status.CANCELED: "The merchant canceled it.",
    },
    Status.REQUIRES_CONFIRMATION: {
        Status.REQUIRES_ACTION: "It was confirmed, and the customer has to authenticate.",
        Status.PROCESSING: "It was confirmed, and the bank did not answer, or said “later”.",
        Status.REQUIRES_CAPTURE: "It was confirmed and authorised; `capture_method` is `manual`.",
        Status.SUCCEEDED: "It was confirmed and charged.",
        Status.REQUIRES_PAYMENT_METHOD: (
            "It was confirmed and declined, or its 3-D Secure could not begin, or the bank could"
            " not be reached."
        ),
        Status.CANCELED: "The merchant canceled it.",
    },
    Status.REQUIRES_ACTION: {
        Status.REQUIRES_ACTION: (
            "It was confirmed again, and the customer has to authenticate anew: `next_action` has"
            " another address."
        ),
        Status.PROCESSING: (
            "The customer authenticated, and the bank did not answer the authorisation; or it was"
            " confirmed again, and the bank did not say what became of the attempt before."
        ),
        Status.REQUIRES_CAPTURE: (
            "The customer authenticated, or it was confirmed again with another card, and the bank"
            " authorised; `capture_method` is `manual`."
        ),
        Status.SUCCEEDED: (
            "The customer authenticated, or it was confirmed again with another card, and the bank"
            " charged."
        ),
        Status.REQUIRES_PAYMENT_METHOD: (
            "The customer did not authenticate, or the bank declined all the same, or the customer"
            " did not come back within an hour; or it was confirmed again, and that failed."
        ),
        Status.CANCELED: "The merchant canceled it; nothing had been authorised.",
    },
    Status.PROCESSING: {
        Status.REQUIRES_CAPTURE: (
            "The bank says that it authorised; or that a capture, or a cancellation, that it did"
            " not answer was not done."
        ),
        Status.SUCCEEDED: "The bank says that it charged, or captured.",
        Status.REQUIRES_PAYMENT_METHOD: (
            "The bank says that it charged nothing; or it has released what it refused to capture."
        ),
        Status.CANCELED: (
            "The bank says that it has released what was authorised, or that it has expired."
        ),
    },
    Status.REQUIRES_CAPTURE: {
        Status.SUCCEEDED: "The merchant captured it, or a part of it.",
        Status.PROCESSING: "It was to be captured, or canceled, and the bank did not answer.",
        Status.REQUIRES_PAYMENT_METHOD: (
            "The bank refused the capture; what was authorised has been released."
        ),
        Status.CANCELED: "The merchant canceled it, or it was not captured within seven days.",
    },
}
ATTEMPTS = {
    AttemptStatus.PROCESSING: "The bank is being asked for the money, or has not said.",
    AttemptStatus.REQUIRES_ACTION: "The customer has to authenticate.",
    AttemptStatus.AUTHORIZED: "The bank keeps the money ready, to be captured or released.",
    AttemptStatus.SUCCEEDED: "The money was taken.",
    AttemptStatus.FAILED: (
        "Nothing was taken: declined, not authenticated, not reached, or its capture was refused."
    ),
    AttemptStatus.ABANDONED: "The customer did not come back from the bank within an hour.",
    AttemptStatus.CANCELED: (
        "Given up for another attempt, or with the payment, or expired before it was captured."
    ),
}
TOP = """\
# The states of a payment

Made by `manage.py write_states` from the table in `payments/intents/states.py`; change that. What
the states mean for a shop is told in [a payment's life](payments.md).
"""
LIST = """\
Every change there is, with the one event that tells it. The database refuses any other. A row that
leads to its own state is another attempt of the same payment. What changes no status (a new
description, say) tells no event.

| from | to | event | what happened |
|---|---|---|---|
"""
LIST_OF_ATTEMPTS = """\
## The states of an attempt

A payment has one attempt for each time that its bank was to be asked for money (`attempts`, oldest
first). At most one of them is open or successful.

| status | meaning |
|---|---|
"""


class Command(BaseCommand):
    help = "Write docs/states.md from the table in payments/intents/states.py."

    def handle(self, *_args: Any, **_options: Any) -> None:
        PATH.write_text(page())
        self.stdout.write(f"{PATH} has {len(TABLE)} changes.")


def page() -> str:
    """Return the text of docs/states.md.

    :raises KeyError: a change of the table, or a status of attempts, has no sentence here.
    """
    changes = [
        f"| `{before}` | `{after}` | `{event}` | {CAUSES[before][after]} |\n"
        for before, after, event in TABLE
    ]
    attempts = [f"| `{status}` | {ATTEMPTS[status]} |\n" for status in AttemptStatus]
    diagram = "".join(f"    {line}\n" for line in _diagram())
    parts = [
        TOP,
        f"```mermaid\nstateDiagram-v2\n{diagram}```\n",
        LIST + "".join(changes),
        LIST_OF_ATTEMPTS + "".join(attempts),
    ]
    return "\n".join(parts)


def _diagram() -> Iterator[str]:
    """Yield the lines of the diagram; an arrow's event is the one of the state it leads to."""
    for first in (Status.REQUIRES_PAYMENT_METHOD, Status.REQUIRES_CONFIRMATION):
        yield f"[*] --> {first}"
    yield from (f"{before} --> {after}" for before, after, _event in TABLE)
    left = {before for before, _after, _event in TABLE}
    yield from (f"{last} --> [*]" for last in Status if last not in left)
