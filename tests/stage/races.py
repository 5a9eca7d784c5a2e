"""Requests, payers and sweepers that meet over one payment: who they are, and rounds of them."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.test import override_settings

from acquirers.conversation import sweeper
from core import clock, context
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, confirmation, three_d_secure
from tests.stage.lengths import chance
from tests.stage.stories import assert_charged_at_most_once, assert_one_event_per_change
from tests.stage.threads import Meet, team
from tests.stage.threeds import bring

PATH = "/v1/payment_intents"
# By how much the contestants miss each other at most, and how long the bank takes: a request
# takes about as long, so that each of its moments is met now and then. These times are drawn and
# not waited for: what is tried is every order of the contestants' steps, which no fact names.
SPREAD_SECONDS = 0.05
BANK_SECONDS = (0.0, 0.01, 0.03)
CONTESTANTS_MAX = 3

# Takes part once, and says what it was told.
Contestant = Callable[[], str]


class Meeting(NamedTuple):
    """A payment, and those who want something of it at the same time."""

    payment_id: str
    contestants: Sequence[Contestant]


class Race(NamedTuple):
    """How to arrange a meeting, and every way in which it may end.

    An ending is what each contestant was told, and the payment's last status. Without its
    lease a request at the bank does not keep the sweeper from asking too.

    :ivar more_at_real_doors: endings of the doors of NestPay and Garanti alone.
    """

    arrange: Callable[[ApiClient], Meeting]
    endings: set[tuple[str, ...]]
    lease_seconds: float = 60.0
    more_at_real_doors: frozenset[tuple[str, ...]] = frozenset()

    @property
    def name(self) -> str:
        return self.arrange.__name__


class Ended(NamedTuple):
    """How a round ended: what the contestants were told, and what the payment went through."""

    told: tuple[str, ...]
    statuses: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' | '.join(self.told)}: {' → '.join(self.statuses)}"


def run(race: Race, client: ApiClient, bank: BankTransport, rounds: int) -> Counter[Ended]:
    """Run rounds of a race and judge each; return how they ended."""
    with team(CONTESTANTS_MAX) as meet, override_settings(REQUEST_LEASE_SECONDS=race.lease_seconds):
        return Counter(_round(race, client, bank, meet, turn) for turn in range(rounds))


def _round(race: Race, client: ApiClient, bank: BankTransport, meet: Meet, turn: int) -> Ended:
    bank.pause_seconds = 0.0
    payment_id, contestants = race.arrange(client)
    draws = chance(race.name, turn)
    bank.pause_seconds = draws.choice(BANK_SECONDS)

    told = meet([late(one, draws.uniform(0, SPREAD_SECONDS)) for one in contestants])

    assert_charged_at_most_once(payment_id)
    ended = Ended(tuple(told), tuple(assert_one_event_per_change(payment_id)))
    right = race.endings if bank.repeats else race.endings | race.more_at_real_doors
    assert (*told, ended.statuses[-1]) in right, str(ended)
    return ended


def late(contestant: Contestant, seconds: float) -> Contestant:
    def call() -> str:
        time.sleep(seconds)
        return contestant()

    return call


def deadlocks() -> int:
    """Return how often the database had to end somebody's wait, since it was created."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        [(count,)] = cursor.fetchall()
    return count


# --- Who takes part ---------------------------------------------------------------------------


def asking(
    client: ApiClient, payment_id: str, action: str, body: dict[str, Any] | None = None
) -> Contestant:
    """A merchant's request, with an idempotency key of its own."""
    twin = client.twin()

    def call() -> str:
        key = f"{action} {id(twin)} {payment_id}"
        answer = twin.post(f"{PATH}/{payment_id}/{action}", body, idempotency_key=key)
        said = answer["status"] if answer.status == 200 else answer.error["code"]
        return f"{answer.status} {said}"

    return call


def confirming(client: ApiClient, payment_id: str, number: str = GOOD_CARD) -> Contestant:
    """A confirmation with a card, and without 3-D Secure."""
    body = confirmation(number, **three_d_secure("none"))
    return asking(client, payment_id, "confirm", body)


def returning(fields: dict[str, str]) -> Contestant:
    """The payer's browser, with the bank's answer."""
    return lambda: str(bring(fields).status)


def sweeping(*, times: int = 1, not_before: datetime | None = None) -> Contestant:
    """The sweeper, run after run; it tells whether there was anything to ask about."""

    def call() -> str:
        if not_before:  # The moment itself is what it meets.
            time.sleep(max(0.0, (not_before - clock.now()).total_seconds()))
        asked = 0
        for _ in range(times):
            with context.work():
                asked += sweeper.sweep(job="races")
        return "asked" if asked else "idle"

    return call
