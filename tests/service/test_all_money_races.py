"""Money of one merchant that leaves, comes, goes back and becomes due, all at once.

Payouts by API and by schedule meet refunds, disputes, settlement runs and topups that are taken
back. Whatever their order, no payout leaves less than nothing behind, and all books agree.
"""

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from core import clock, context
from ledger import accounts
from ledger.book import payouts as payouts_in_the_book
from payouts import creation
from payouts.models import Payout
from tests.stage import money_books, money_world, transfer_books, transfers
from tests.stage.audited import assert_audit_is_clean
from tests.stage.lengths import chance, length, tried
from tests.stage.money_world import DISPUTED, GOOD, PRICES
from tests.stage.races import deadlocks, late
from tests.stage.threads import Meet, team
from tests.stage.transfer_world import ALL_JOBS, TransferWorld

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
    pytest.mark.timeout(3600),
    pytest.mark.proof(part="money"),
]

CONTESTANTS = 5
SPREAD_SECONDS = 0.05
SCHEDULE = {"interval": "daily", "installments": "monthly"}

Move = Callable[[TransferWorld, str | None, random.Random], Any]


def pay_out(part: int) -> Move:
    """Return a payout of a part of what is available as the request is made."""

    def move(world: TransferWorld, _payment: str | None, draws: random.Random) -> Any:
        amount = max(1, transfers.balance(world.shop.twin()) // part)
        destination = draws.choice((None, "test_bounced", "test_declined"))
        given = {"destination": destination} if destination else {}
        return ask(world, transfers.PAYOUTS, {"amount": amount, "currency": "try", **given})

    return move


def ask(world: TransferWorld, path: str, body: dict[str, Any]) -> Any:
    answer = world.shop.twin().post(path, body)
    assert answer.status in (200, 400, 409, 503), answer.body
    return answer["status"] if answer.status == 200 else answer.error["code"]


def refund(amount: int | None) -> Move:
    part = {} if amount is None else {"amount": amount}
    return lambda world, payment, _draws: ask(
        world, "/v1/refunds", {"payment_intent": payment, **part}
    )


def call_off(world: TransferWorld, _payment: str | None, _draws: random.Random) -> Any:
    pending = Payout.objects.filter(status="pending").order_by("-created_at").first()
    return ask(world, f"{transfers.PAYOUTS}/{pending.id}/cancel", {}) if pending else None


def dispute(world: TransferWorld, payment: str | None, draws: random.Random) -> None:
    world.complain(payment, draws.choice((None, 777)))
    with context.work():
        world.take_in()


def take_back(world: TransferWorld, _payment: str | None, draws: random.Random) -> None:
    world.take_back(draws.randrange(3))
    transfers.hear()


def job(name: str) -> Move:
    def move(world: TransferWorld, _payment: str | None, _draws: random.Random) -> None:
        with context.work():
            world.work(name)

    return move


MOVES: dict[str, Move] = {
    "pay out all": pay_out(1),
    "pay out all again": pay_out(1),
    "pay out a half": pay_out(2),
    "call a payout off": call_off,
    "refund all": refund(None),
    "refund a part": refund(3_000),
    "dispute": dispute,
    "a topup is taken back": take_back,
    **{name: job(name) for name in ALL_JOBS if name != "notices again"},
}


@pytest.fixture
def meet() -> Iterator[Meet]:
    with team(CONTESTANTS) as met:
        yield met


@pytest.fixture
def world() -> Iterator[TransferWorld]:
    with money_world.opened(TransferWorld) as world:
        assert isinstance(world, TransferWorld)
        world.open(negative_limit=300, parts=1)
        world.agree(PRICES[0])
        world.change_schedule(SCHEDULE)
        yield world


def scene(world: TransferWorld, draws: random.Random) -> str | None:
    """Let there be a payment, money of before that is due, and a topup that may be taken back."""
    world.pay(GOOD, 10_000)
    clock.advance(timedelta(days=draws.choice((1, 3))))
    payment = world.pay(draws.choice((GOOD, GOOD, DISPUTED)), 10_000)
    world.top_up(5_000, None)
    for name in ("telling the bank", "transfers' notices"):
        world.work(name)
    return payment


def play(world: TransferWorld, meet: Meet, turn: int, moves: dict[str, Move]) -> None:
    """Let some meet; no payout may leave less than nothing behind."""
    draws = chance("all money", turn)
    payment, names = scene(world, draws), draws.choices(sorted(moves), k=CONTESTANTS)

    told = meet([_late(moves[name], world, payment, draws.random()) for name in names])

    try:
        transfer_books.assert_nothing_is_overdrawn(world.shop)
        world.come_to_rest()
        transfer_books.assert_nothing_is_overdrawn(world.shop)
    except BaseException:
        print(f"turn {turn}: {dict(zip(names, told, strict=True))}")  # noqa: T201
        raise


def _late(move: Move, world: TransferWorld, payment: str | None, part: float) -> Any:
    draws = random.Random(part)  # noqa: S311
    return late(lambda: move(world, payment, draws), part * SPREAD_SECONDS)


@pytest.mark.dear("a merchant's money that five threads move out and in at once")
def test_all_books_agree_whatever_meets_as_money_leaves(world: TransferWorld, meet: Meet) -> None:
    rounds, deadlocks_before = length(short=6, full=30), deadlocks()

    for turn in range(rounds):
        play(world, meet, turn, MOVES)

    money_books.assert_right(world.shop, world.prices)
    world.decide_cases()
    transfer_books.assert_right(world.shop)
    assert_audit_is_clean()
    assert deadlocks() == deadlocks_before
    tried(rounds, "meetings over money that leaves")


@pytest.mark.planted
def test_the_races_find_a_payout_that_does_not_lock_the_account(
    world: TransferWorld, meet: Meet, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlocked = SimpleNamespace(ensure=accounts.ensure, lock=lambda *_pot: None)
    for module in (creation, payouts_in_the_book):
        monkeypatch.setattr(module, "accounts", unlocked)
    payouts_alone = {name: move for name, move in MOVES.items() if "pay out all" in name}

    with pytest.raises(AssertionError, match="payout"):
        _play_until_it_is_found(world, meet, payouts_alone)


def _play_until_it_is_found(world: TransferWorld, meet: Meet, moves: dict[str, Move]) -> None:
    for turn in range(20):
        play(world, meet, turn, moves)
