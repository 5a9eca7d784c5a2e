"""Payments in every state, and every door through which one may be changed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import product

from acquirers.outcomes import Answer as Says
from tests.stage.factories import GOOD_CARD, unconfirmed
from tests.stage.walks import NOT_SECURE, SECURE, Move, Walk, every_question_answered

Story = Callable[[Walk], Walk]

CAPTURE_FAILS, NEVER_KNOWN = "4000001100000066", "4000001100000058"
MANUAL = {"capture_method": "manual"}

# Payments in every state, and of each reason to be in it that the code treats on its own.
STARTS: dict[str, dict[str, Story]] = {
    "requires_payment_method": {
        "new": lambda w: w.create(),
        "card failed": lambda w: w.pay(**SECURE).come_back("Reject"),
        "abandoned, manual": lambda w: w.pay(**SECURE, **MANUAL).decide("Approve").sweep(3700),
    },
    "requires_confirmation": {
        "card given": lambda w: w.create(**unconfirmed()),
        "card given, manual": lambda w: w.create(**unconfirmed(**MANUAL)),
    },
    "requires_action": {
        "at the bank": lambda w: w.pay(**SECURE),
        "at the bank, manual": lambda w: w.pay(**SECURE, **MANUAL),
    },
    "processing": {
        "unanswered": lambda w: w.pay(NEVER_KNOWN, **SECURE).come_back(),
        "unanswered, manual": lambda w: w.pay(NEVER_KNOWN, **SECURE, **MANUAL).come_back(),
        "capture unanswered": lambda w: w.pay(**MANUAL).cut_off("lost").capture().reach_again(),
        "void unanswered": lambda w: w.pay(**MANUAL).cut_off("lost").cancel().reach_again(),
    },
    "requires_capture": {
        "authorised": lambda w: w.pay(**SECURE, **MANUAL).come_back(),
        "not to be captured": lambda w: w.pay(CAPTURE_FAILS, **MANUAL),
    },
    "succeeded": {
        "charged": lambda w: w.pay(**SECURE).come_back(),
        "captured in part": (
            lambda w: w.pay(**SECURE, **MANUAL).come_back().capture(amount_to_capture=1)
        ),
    },
    "canceled": {
        "before the bank": lambda w: w.pay(**SECURE).decide("Approve").cancel(),
        "released": lambda w: w.pay(**SECURE, **MANUAL).come_back().cancel(),
        "expired": lambda w: w.pay(**SECURE, **MANUAL).come_back().sweep(),
    },
}
TERMINAL = ("succeeded", "canceled")
WALKED = [(status, name) for status, starts in STARTS.items() for name in starts]
# One payment of each state, but all whose outcome is unknown: each is asked about otherwise.
FEW = [
    (status, name)
    for status, name in WALKED
    if status == "processing" or name == next(iter(STARTS[status]))
]

DOORS: dict[str, Story] = {
    "new description": lambda w: w.update(description="Tea"),
    "new amount": lambda w: w.update(amount=100),
    "confirm with a card": lambda w: w.confirm(GOOD_CARD, **NOT_SECURE),
    "confirm with 3-D Secure": lambda w: w.confirm(GOOD_CARD, **SECURE),
    "confirm": lambda w: w.confirm(),
    "capture": lambda w: w.capture(),
    "capture a part": lambda w: w.capture(amount_to_capture=1),
    "cancel": lambda w: w.cancel(),
    "come back": lambda w: w.come_back(),
    "sweep": lambda w: w.sweep(),
    "sweep thrice": lambda w: w.sweep(times=3),  # A "no record" is believed the third time.
}
UPDATES = ("new description", "new amount")
# Answers that the gateway may bring to any question; an approval may name the captured amount.
BANKS: dict[str, Callable[[], AbstractContextManager]] = {
    "honest": nullcontext,
    **{says.value: partial(every_question_answered, says) for says in Says},
    "captured": partial(every_question_answered, Says.APPROVED, captured=1),
}


def starting(walk: Walk, status: str) -> Walk:
    """Bring a payment into the state, for the first of the reasons to be in it."""
    [start, *_] = STARTS[status].values()
    return start(walk)


def rehearsed(walk: Walk, door: str) -> list[Move]:
    """Go through a door and come back to before; return the changes that it made."""
    began, known = walk.shown(), len(walk.moves())
    with walk.rehearsal():
        DOORS[door](walk)
        moves, shown = walk.moves()[known:], walk.shown()
        assert shown["status"] == (moves[-1].after if moves else began["status"])
        if door not in UPDATES:
            assert shown == (walk.told() if moves else began), "changed without an event"
        assert walk.was_answered_well(), walk.answered
    return moves


def tries(
    walk: Walk, *, starts: Iterable[tuple[str, str]], doors: Iterable[str], banks: Iterable[str]
) -> Iterator[tuple[tuple[str, ...], list[Move]]]:
    """Go through every door from every start, whatever the bank says; yield where and what."""
    for status, name in starts:
        with walk.rehearsal():
            assert STARTS[status][name](walk).status == status, name
            for door, bank in product(doors, banks):
                with BANKS[bank]():
                    yield (status, name, door, bank), rehearsed(walk, door)
