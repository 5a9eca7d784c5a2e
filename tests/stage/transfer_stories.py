"""Stories of money that leaves for the merchant's account, comes from it, or becomes due."""

from collections.abc import Iterator
from typing import cast

from tests.stage.money_stories import STORIES, Story
from tests.stage.money_world import GOOD, World
from tests.stage.transfer_world import TransferWorld


def _topped_up(world: TransferWorld, amount: int) -> None:
    """Let money come, so that there is something to pay out."""
    world.top_up(amount, None)
    world.work("telling the bank")
    world.work("transfers' notices")


def _payout_to(destination: str | None) -> Story:
    def story(given: World) -> Iterator[None]:
        world = cast("TransferWorld", given)
        _topped_up(world, 5_000)
        yield
        world.pay_out("half", destination)
        yield
        world.pass_time("a minute")
        world.work("sweep")
        yield
        world.pass_time("seconds")
        world.work("transfers' notices")

    return story


def called_off(given: World) -> Iterator[None]:
    world = cast("TransferWorld", given)
    _topped_up(world, 4_000)
    world.pay_out("all", None)
    yield
    world.change_payout(0, "cancel")


def by_schedule(given: World) -> Iterator[None]:
    world = cast("TransferWorld", given)
    world.pay(GOOD, 10_000, (500, 3))
    world.change_schedule({"interval": "daily", "minimum_amount": 0})
    yield
    for _ in range(4):  # One of four days in a row is a business day, if no feast is long.
        world.jump("to the next day")
        world.work("settlement looks")
        _topped_up(world, 100)
        world.work("payouts by schedule")
        yield


def topped_up(given: World) -> Iterator[None]:
    world = cast("TransferWorld", given)
    world.top_up(3_000, "test_never")
    yield
    world.send_money(0, "small letters")
    yield
    world.work("transfers' notices")


def not_what_it_waits_for(given: World) -> Iterator[None]:
    world = cast("TransferWorld", given)
    world.top_up(2_000, "test_never")
    world.send_money(0, "wrong amount")
    yield
    world.work("transfers' notices")


def taken_back(given: World) -> Iterator[None]:
    world = cast("TransferWorld", given)
    world.top_up(6_000, "test_reverse")
    world.work("telling the bank")
    world.work("transfers' notices")
    yield
    world.pay_out("half", None)
    world.pass_time("seconds")
    yield
    world.work("transfers' notices")


def withdrawn(given: World) -> Iterator[None]:
    world = cast("TransferWorld", given)
    world.top_up(1_000, "test_never")
    yield
    world.change_topup(0, "cancel")


# By the ending that each leads to, in the words of `transfer_books.endings`.
ENDINGS: dict[str, tuple[Story, ...]] = {
    "payout paid": (_payout_to(None), _payout_to("test_silent")),
    "payout failed": (_payout_to("test_no_account"), _payout_to("test_declined")),
    "payout returned": (_payout_to("test_bounced"),),
    "payout canceled": (called_off,),
    "payout by schedule": (by_schedule,),
    "topup succeeded": (topped_up,),
    "topup reversed": (taken_back,),
    "topup canceled": (withdrawn,),
    "a case": (not_what_it_waits_for,),
}
ALL_STORIES = (*STORIES, *(story for leading in ENDINGS.values() for story in leading))
