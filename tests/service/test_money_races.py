"""Money that several processes move at once: refunds, disputes, bounces, settlement and jobs.

Each round is a merchant of its own, in real transactions. In the end all books agree.
"""

import random
from collections.abc import Callable, Iterator

import pytest

from core import context
from ledger import accounts
from payments.refunds.models import Refund
from tests.stage import money_books, money_world
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import bank_in_process
from tests.stage.lengths import chance, length, tried
from tests.stage.money_world import (
    DISPUTED,
    GOOD,
    INQUIRED,
    LOSING,
    PRICES,
    WINNING,
    Terms,
    World,
)
from tests.stage.races import deadlocks, late
from tests.stage.threads import Meet, team

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
    pytest.mark.timeout(3600),
]

SPREAD_SECONDS = 0.05
BANK_SECONDS = (0.0, 0.01, 0.03)
CONTESTANTS = 5
CAPTURED = 10_500

# A payment as it is when they meet.
Scene = Callable[[World], str | None]
# Takes part once, and says what was done.
Move = Callable[[World, str | None, random.Random], object]


def paid(world: World) -> str | None:
    return world.pay(GOOD, 10_000, (500, 3))


def refunded_half(world: World) -> str | None:
    payment = paid(world)
    world.refund(payment, CAPTURED // 2)
    return payment


def settled(world: World) -> str | None:
    payment = refunded_half(world)
    world.pass_time("days")
    world.settle()
    return payment


def disputed(world: World) -> str | None:
    payment = world.pay(DISPUTED, 10_000, (500, 3))
    world.pass_time("seconds")
    world.take_in()
    return payment


def disputed_unheard(world: World) -> str | None:
    payment = world.pay(DISPUTED, 10_000, (500, 3))
    world.pass_time("seconds")
    return payment


def inquired(world: World) -> str | None:
    payment = world.pay(INQUIRED, 10_000, (500, 3))
    world.pass_time("seconds")
    world.take_in()
    return payment


def waiting(world: World) -> str | None:
    payment = refunded_half(world)
    world.refund(payment)
    return payment


def nearly_midnight(world: World) -> str | None:
    payment = paid(world)
    world.pass_time("to the end of the day")
    return payment


SCENES: tuple[Scene, ...] = (
    paid, refunded_half, settled, disputed, disputed_unheard, inquired, waiting, nearly_midnight,
)  # fmt: skip


def ask(path: str, body: dict[str, object]) -> Move:
    """Return a request of the merchant's, twice with the same key."""

    def move(world: World, payment: str | None, draws: random.Random) -> object:
        client, key = world.shop.twin(), str(draws.random())
        told = {"payment_intent": payment, **body} if path == "/v1/refunds" else body
        answers = [client.post(path, told, idempotency_key=key) for _ in range(2)]
        assert all(one.status in (200, 400, 409, 503) for one in answers), answers[-1].body
        return answers[0].status

    return move


def job(name: str) -> Move:
    def move(world: World, _payment: str | None, _draws: random.Random) -> object:
        with context.work():
            money_world.JOBS[name](world)
        return None

    return move


MOVES: dict[str, Move] = {
    "refund all": ask("/v1/refunds", {}),
    "refund a third": ask("/v1/refunds", {"amount": CAPTURED // 3}),
    "refund a half": ask("/v1/refunds", {"amount": CAPTURED // 2}),
    "bounce": lambda world, payment, _draws: world.bounce(payment),
    "dispute": lambda world, payment, draws: world.complain(payment, draws.choice((None, 777))),
    **{
        how: lambda world, payment, _draws, how=how: world.at_the_bank(how, payment)
        for how in ("win", "lose", "regain", "escalate", "end")
    },
    "submit a winner": lambda world, payment, _draws: world.answer(payment, WINNING),
    "submit a loser": lambda world, payment, _draws: world.answer(payment, LOSING),
    "close": lambda world, payment, _draws: world.close(payment),
    "midnight": lambda world, _payment, _draws: world.pass_time("over the end of the day"),
    **{name: job(name) for name in money_world.JOBS},
}


@pytest.fixture
def meet() -> Iterator[Meet]:
    with team(CONTESTANTS) as met:
        yield met


def play(meet: Meet, turn: int) -> str:
    """Let some meet over a merchant's payment; return what they did. All books agree in the end."""
    draws = chance("money", turn)
    with money_world.opened() as world:
        world.open(negative_limit=draws.choice((0, 300)), parts=draws.choice((1, 3)))
        world.agree(draws.choice(PRICES))
        scene, names = draws.choice(SCENES), draws.choices(sorted(MOVES), k=CONTESTANTS)
        payment = scene(world)
        world.bank.pause_seconds = draws.choice(BANK_SECONDS)

        told = meet([_late(MOVES[name], world, payment, draws.random()) for name in names])

        world.bank.pause_seconds = 0.0
        said = f"{scene.__name__}: {dict(zip(names, told, strict=True))}"
        try:
            world.come_to_rest()
            money_books.assert_right(world.shop, world.prices)
        except BaseException:
            print(f"turn {turn}: {said}")  # noqa: T201
            raise
        return said


def _late(move: Move, world: World, payment: str | None, part: float) -> Callable[[], object]:
    draws = random.Random(part)  # noqa: S311
    return late(lambda: move(world, payment, draws), part * SPREAD_SECONDS)


def audit() -> None:
    """Let the audit compare the books of all merchants that there were."""
    with bank_in_process():
        assert_audit_is_clean()


@pytest.mark.proof(part="money")
@pytest.mark.dear("merchants whose money five threads move at once, round after round")
def test_all_books_agree_whoever_meets_over_money(meet: Meet) -> None:
    rounds, deadlocks_before = length(short=12, full=80), deadlocks()

    for turn in range(rounds):
        play(meet, turn)

    audit()
    assert deadlocks() == deadlocks_before
    tried(rounds, "meetings over money")


# --- The lock of a merchant's account -----------------------------------------------------------


def refunds_of_one_merchant(meet: Meet, turn: int) -> None:
    """Refund payments of one merchant at once, for which its funds suffice one by one."""
    draws = chance("funds", turn)
    with money_world.opened() as world:
        world.open(negative_limit=0, parts=1)
        world.agree(Terms(5_000))
        payments = [world.pay(GOOD, 10_000) for _ in range(CONTESTANTS)]
        world.pass_time("over the end of the day")
        move = MOVES["refund all"]

        meet([_late(move, world, payment, draws.random() / 3) for payment in payments])

        # Half of each payment went to fees: the funds suffice for two refunds.
        assert Refund.objects.filter(intent__in=payments, status="succeeded").count() == 2
        money_books.assert_right(world.shop, world.prices)


@pytest.mark.proof(part="money")
@pytest.mark.dear("five payments of a merchant that are refunded at once, round after round")
def test_refunds_at_once_never_take_more_than_the_merchant_has(meet: Meet) -> None:
    rounds = length(short=3, full=25)

    for turn in range(rounds):
        refunds_of_one_merchant(meet, turn)

    audit()
    tried(rounds, "merchants whose funds do not suffice")


@pytest.mark.proof(part="money")
@pytest.mark.planted
def test_the_races_find_an_account_that_nobody_locks(
    meet: Meet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "lock", lambda _merchant_id, _currency: None)

    with pytest.raises(AssertionError):
        _play_until_it_is_found(meet)


def _play_until_it_is_found(meet: Meet) -> None:
    for turn in range(20):
        refunds_of_one_merchant(meet, turn)
