"""A use case that was overtaken before its lock decides on the locked row, or is refused.

Every use case is stopped before each of its locks, while another one runs from its beginning to
its end. A few such encounters are in every run, all in the proof. In the gate a start has every
fourth use case, and one encounter at each moment of it; the next start has the next ones.
One who leaves no trace is followed by the next: all of them met the same.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection

from acquirers.conversation import leases
from core import clock
from core.models import Clock
from payments.intents.models import Attempt, Modification
from payments.refunds.models import Refund
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.encounters import DOORS, LATE, PATH, STARTS, TRACED, WEEK, Door, Payment
from tests.stage.lengths import chance, length, tried
from tests.stage.overtaking import Road, versions_of
from tests.stage.refund_books import given_back
from tests.stage.stories import assert_charged_at_most_once, assert_one_event_per_change
from tests.stage.sweeper import leases_run_out, on_one_thread_each, sweep_after

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
    # A test plays all use cases, one after the other, at their every moment.
    pytest.mark.timeout(600),
]

OTHERS = {**DOORS, **LATE}
# A "no record" is believed the third time.
INQUIRIES_MAX = 8
# At each moment of a use case it is overtaken by so many others.
OTHERS_MET = length(short=1, full=len(OTHERS))
DECIDED = ("lock_timeout", "payment_intent_unexpected_state", "idempotency_key_in_use",
           "parameter_missing", "capture_expired", "cancel_failed", "amount_too_large",
           "payment_already_refunded", "refund_unexpected_state")  # fmt: skip


@pytest.fixture
def road() -> Iterator[Road]:
    road = Road()
    with on_one_thread_each():
        yield road
    road.close()


def test_a_stored_cards_confirm_never_sends_another_card(
    acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    payment = STARTS["stored card"](acme)
    other = DOORS["confirm securely"]

    with road.overtaken(0, lambda: other(acme, payment)):
        answer = acme.post(f"{PATH}/{payment.id}/confirm")

    assert answer.refusal == (409, "lock_timeout", None)
    shown = acme.payment(payment.id)
    assert (shown["status"], acme.pending()) == ("requires_action", 0)
    assert_agrees_with_its_card(Attempt.objects.get())


def test_a_retry_finds_the_refund_that_another_ended_before_its_lease(
    acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    refunded = STARTS["dead refund"](acme)

    with road.overtaken(0, lambda: sweep_after(WEEK)):
        answer = DOORS["send again"](acme, refunded)

    assert road.passed[0] == "before the lease"
    # Nothing is sent again to a bank without names of refunds, until "no record" is believed.
    expected = ("succeeded", 5_000) if bank.repeats else ("pending", 0)
    at_the_bank = given_back(refunded.id).at_the_bank
    assert (answer.status, answer["status"], at_the_bank) == (200, *expected)
    sweep_to_the_end()
    assert given_back(refunded.id).at_the_bank == 5_000


def assert_agrees_with_its_card(attempt: Attempt) -> None:
    sealed = attempt.sealed_card
    assert (attempt.card["bin"], attempt.card["last4"]) == (sealed.bin, sealed.last4)


def assert_holds_what_was_promised(payment_id: str) -> None:
    sweep_to_the_end()
    assert_charged_at_most_once(payment_id)
    given_back(payment_id)
    assert_one_event_per_change(payment_id)
    for attempt in Attempt.objects.filter(intent_id=payment_id).select_related("sealed_card"):
        assert_agrees_with_its_card(attempt)
        if attempt.three_d_secure_requested == "required" and attempt.captured_minor:
            assert attempt.authenticated_at is not None


def sweep_to_the_end() -> None:
    """Let the sweeper finish all that is open, so that the next encounter has its moments alone."""
    leases_run_out()
    for _ in range(INQUIRIES_MAX):
        if not is_anything_due():
            break
        sweep_after(WEEK)
    assert not is_anything_due()
    # A few hundred encounters would come to the end of the clock.
    Clock.objects.all().delete()
    clock.advance(timedelta(0))  # A bank with a clock of its own hears of it.


def is_anything_due() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(IS_ANYTHING_DUE)
        return cursor.fetchone()[0]


# Building it as a query takes longer than reading the rows.
IS_ANYTHING_DUE = "SELECT " + " OR ".join(  # noqa: S608
    f"EXISTS (SELECT FROM {model._meta.db_table} WHERE due_at IS NOT NULL)"
    for model in (Attempt, Modification, Refund)
)


def how(answer: Any) -> str:
    """Return how a use case ended; it may be refused, and never fail."""
    if answer is None:
        return "done"
    if answer.status in (200, 302):
        return str(answer.status)
    assert answer.error["code"] in DECIDED, answer.error
    return answer.error["code"]


def all_moments(
    acme: ApiClient, road: Road, start: str, doors: Mapping[str, Door] = DOORS
) -> dict[str, list[str]]:
    """Return the moments at which each use case can be overtaken."""
    found = {}
    for name, door in doors.items():
        payment = STARTS[start](acme)
        with road.overtaken(None):
            how(door(acme, payment))
        sweep_to_the_end()
        found[name] = road.passed
    return found


class Encounter:
    """One use case that is overtaken, at one of its moments, by others until one leaves a trace.

    `ended` tells how each of those ended that it met.
    """

    def __init__(self, acme: ApiClient, road: Road, start: str) -> None:
        self.ended: dict[str, str] = {}
        self._acme, self._road, self._start = acme, road, start

    def play(self, door: str, at: int, others: Iterable[str]) -> Counter[str]:
        """Let the others come one after the other; return how both ended, of each that was met."""
        payment = STARTS[self._start](self._acme)
        with self._road.overtaken(at, lambda: self._let_come(payment, others)):
            told = how(DOORS[door](self._acme, payment))
        assert_holds_what_was_promised(payment.id)
        assert self.ended, "nobody was met"
        return Counter(f"{told} | {ended}" for ended in self.ended.values())

    def _let_come(self, payment: Payment, others: Iterable[str]) -> None:
        before = self._traces(payment)
        for other in others:
            self.ended[other] = "failed"
            self.ended[other] = how(OTHERS[other](self._acme, payment))
            if other in TRACED or self._traces(payment) != before:
                break

    def _traces(self, payment: Payment) -> tuple[int, list[tuple[str, str]]]:
        return self._road.asked, versions_of(payment.id)


def meet(
    acme: ApiClient,
    road: Road,
    start: str,
    moments: Mapping[str, list[str]],
    *,
    others: Collection[str],
    moment: str = "",
) -> int:
    """Let each use case be overtaken by others, at every moment that counts.

    Return how many encounters there were.

    :param moments: of each use case from this start, by its name.
    """
    endings: Counter[str] = Counter()
    broken: list[str] = []
    for door, named in moments.items():
        chosen = [at for at, name in enumerate(named) if moment in name]
        for at, waiting in encounters(chosen, others, chance(start, door)):
            while waiting:
                met = Encounter(acme, road, start)
                try:
                    endings += met.play(door, at, waiting)
                except AssertionError as promise:
                    those = ", ".join(met.ended)
                    broken.append(f"{door}, {named[at]}: {those}: {promise}")
                del waiting[: max(1, len(met.ended))]
    print(f"\n{start}: {endings.total()} encounters, {dict(endings)}")  # noqa: T201
    assert not broken, "\n".join(broken)
    assert endings.total() > 0
    assert_audit_is_clean()
    return endings.total()


def encounters(
    moments: Iterable[int], others: Collection[str], draws: Random
) -> Iterator[tuple[int, list[str]]]:
    """Yield each moment, with those who come at it."""
    for at in moments:
        # Before its first moment a use case holds nothing that could run out.
        able = sorted(name for name in others if at or name not in LATE)
        yield at, draws.sample(able, min(OTHERS_MET, len(able)))


def doors_of(start: str) -> dict[str, Door]:
    """Return the use cases that are stopped in payments that begin so."""
    turn = [*STARTS].index(start)
    dealt = [name for place, name in enumerate(DOORS) if (place + turn) % 4 == 0]
    return {name: DOORS[name] for name in length(short=dealt, full=[*DOORS])}


@pytest.mark.proof(part="races")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("start", STARTS)
def test_every_use_case_may_overtake_every_other(
    start: str, acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    moments = all_moments(acme, road, start, doors_of(start))

    count = meet(acme, road, start, moments, others=OTHERS)

    tried(count, "encounters")


@pytest.mark.dear("every use case is stopped at each of its moments")
@pytest.mark.parametrize("start", ["stored card", "payer away"])
def test_another_card_may_overtake_every_use_case(
    start: str, acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    moments = all_moments(acme, road, start)
    meet(acme, road, start, moments, others=["confirm securely"], moment="lock")


def test_only_one_at_a_time_asks_the_bank_about_a_payer_who_is_away(
    acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    payment, told = STARTS["payer away"](acme), []
    others = [DOORS["confirm another card"], DOORS["sweep after an hour"]]

    with road.overtaken(1, lambda: told.extend(how(other(acme, payment)) for other in others)):
        DOORS["confirm another card"](acme, payment)

    assert road.passed[:2] == ["before the lease", "before the bank"]
    assert told == ["lock_timeout", "done"]
    assert bank.inquiries_seen() == 1


def test_a_lease_that_another_took_over_is_not_given_back(
    acme: ApiClient, bank: BankTransport
) -> None:
    STARTS["payer away"](acme)
    attempt = Attempt.objects.get()
    with leases.held(attempt):
        leases_run_out()
        theirs = leases.take(attempt)

    assert Attempt.objects.get().lease_until == theirs.lease_until
