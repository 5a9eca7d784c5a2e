"""Stories of money that goes back: each leads to one ending, if nobody comes between its steps.

A story is told step by step, and goes on whatever the answers were: the state machine of money
tells several at once, breaks the way to the bank, lets time pass and processes die between them.
"""

from collections.abc import Callable, Iterator

from tests.stage.money_world import (
    DISPUTED,
    GOOD,
    INQUIRED,
    LOSING,
    REFUND_FAILS_LATER,
    REFUND_PENDS,
    TURKISH,
    WINNING,
    Terms,
    World,
)

DEAR = Terms(2_000)
Story = Callable[[World], Iterator[None]]


def voided(world: World) -> Iterator[None]:
    payment = world.pay(GOOD, 10_000, (500, 3))
    yield
    world.refund(payment)


def settled_already(world: World) -> Iterator[None]:
    payment = world.pay(REFUND_PENDS, 12_345)
    yield
    world.refund(payment)
    yield
    world.pass_time("seconds")
    world.work("sweep")


def refused_later(world: World) -> Iterator[None]:
    payment = world.pay(REFUND_FAILS_LATER, 777, (777, 2))
    world.refund(payment)
    yield
    world.pass_time("seconds")
    world.work("sweep")


def void_over_midnight(world: World) -> Iterator[None]:
    payment = world.pay(GOOD, 7_777, (777, 2))
    yield
    world.pass_time("to the end of the day")
    world.refund(payment, dies_at="row committed")
    world.pass_time("over the end of the day")
    yield
    world.work("sweep")


def bounced(world: World) -> Iterator[None]:
    payment = world.pay(TURKISH, 10_000, (500, 3))
    yield
    world.refund(payment, 5_001)
    yield
    world.bounce(payment)
    yield
    world.work("notices")


def lost(world: World) -> Iterator[None]:
    payment = world.pay(GOOD, 9_999, (777, 2))
    yield
    world.complain(payment)
    yield
    world.work("notices")
    world.answer(payment, LOSING)
    world.work("sweep")
    yield
    world.pass_time("seconds")
    world.work("notices")


def given_up(world: World) -> Iterator[None]:
    payment = world.pay(DISPUTED, 5_000)
    world.pass_time("seconds")
    yield
    world.work("notices")
    yield
    world.close(payment)


def overdue(world: World) -> Iterator[None]:
    payment = world.pay(DISPUTED, 4_321, (500, 3))
    world.refund(payment, 321)
    world.pass_time("seconds")
    world.work("notices")
    yield
    world.pass_time("the due date")
    yield
    world.work("due dates")


def won(world: World) -> Iterator[None]:
    payment = world.pay(GOOD, 8_000, (500, 3))
    world.complain(payment, 4_000)
    yield
    world.work("notices")
    world.answer(payment, WINNING)
    yield
    world.work("sweep")
    world.pass_time("seconds")
    yield
    world.work("notices")


def won_after_all(world: World) -> Iterator[None]:
    payment = world.pay(GOOD, 3_333, (777, 2))
    world.complain(payment)
    world.work("notices")
    yield
    world.at_the_bank("lose", payment)
    world.work("notices")
    yield
    world.at_the_bank("regain", payment)


def escalated(world: World) -> Iterator[None]:
    payment = world.pay(INQUIRED, 6_000, (500, 3))
    world.pass_time("seconds")
    world.work("notices")
    yield
    world.refund(payment, 1_000)
    world.close(payment)
    yield
    world.at_the_bank("escalate", payment)


def refused_behind_a_dispute(world: World) -> Iterator[None]:
    payment = world.pay(TURKISH, 9_000, (777, 2))
    world.refund(payment, 6_001, dies_at="row committed")
    yield
    world.complain(payment)  # About all: the bank knows of no refund.
    world.work("notices")
    yield
    world.work("sweep")  # The bank has nothing left to give back.


def waits(world: World) -> Iterator[None]:
    # Its fee alone is more than what other stories leave.
    world.agree(DEAR)
    payment = world.pay(GOOD, 200_000)
    world.refund(payment, 1)
    yield
    world.refund(payment)
    yield
    world.pay(GOOD, 30_000)
    world.work("waiting")


def waits_and_is_disputed(world: World) -> Iterator[None]:
    world.agree(DEAR)
    payment = world.pay(TURKISH, 200_000, (500, 3))
    world.refund(payment, 4_000)
    world.refund(payment)
    yield
    world.complain(payment)
    yield
    world.work("notices")


# By the ending that each leads to; every proof of money must come to all of them.
ENDINGS: dict[str, tuple[Story, ...]] = {
    "void": (voided,),
    "void become refund": (settled_already, refused_later, void_over_midnight),
    "bounced": (bounced,),
    "lost": (lost, given_up, overdue),
    "won": (won, won_after_all),
    "waiting for funds": (waits, waits_and_is_disputed),
}
STORIES = (
    *(story for leading in ENDINGS.values() for story in leading),
    escalated,
    refused_behind_a_dispute,
)
