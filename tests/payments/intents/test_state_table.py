"""The whole table of states, walked through the doors of merchants, payers, bank and sweeper."""

from collections.abc import Iterable
from itertools import chain, product
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from events.transitions import UnlistedTransition
from payments.intents import transition
from payments.intents.models import PaymentIntent
from payments.intents.states import PAYMENTS, PaymentStatus
from tests.stage.bank_transport import BankTransport
from tests.stage.both_banks import SANDBOX
from tests.stage.client import ApiClient
from tests.stage.doors import (
    BANKS,
    CAPTURE_FAILS,
    DOORS,
    FEW,
    MANUAL,
    STARTS,
    TERMINAL,
    UPDATES,
    WALKED,
    Story,
    rehearsed,
    starting,
    tries,
)
from tests.stage.factories import DEBIT_CARD, DECLINED_CARD, GOOD_CARD, RETURN_URL, unconfirmed
from tests.stage.lengths import length, tried
from tests.stage.walks import SECURE, Move, Walk, assert_tells_its_change

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

CHARGED, NOT_CHARGED = "4000001100000017", "4000001100000025"
FROM_DEBIT = unconfirmed(DEBIT_CARD, return_url=RETURN_URL)
UNDECIDED = ("requires_action", "processing", "requires_capture")
# The proof tries these too: the actions' table below covers them, or they only cost time.
SHORT = [door for door in DOORS if door not in (*UPDATES, "capture a part", "sweep thrice")]

# For each row of the table a payment that goes this way last, at an honest bank.
WAYS: dict[str, dict[str, Story]] = {
    "requires_payment_method": {
        "requires_action": lambda w: w.create().confirm(GOOD_CARD, **SECURE),
        "processing": lambda w: w.create().confirm(CHARGED),
        "requires_capture": lambda w: w.create(**MANUAL).confirm(GOOD_CARD),
        "succeeded": lambda w: w.create().confirm(GOOD_CARD),
        "requires_payment_method": lambda w: w.create().confirm(DECLINED_CARD),
        "canceled": lambda w: w.create().cancel(),
    },
    "requires_confirmation": {
        "requires_action": lambda w: w.create(**FROM_DEBIT).confirm(),
        "processing": lambda w: w.create(**unconfirmed(CHARGED)).confirm(),
        "requires_capture": lambda w: w.create(**unconfirmed(**MANUAL)).confirm(),
        "succeeded": lambda w: w.create(**unconfirmed()).confirm(),
        "requires_payment_method": lambda w: w.create(**unconfirmed(DECLINED_CARD)).confirm(),
        "canceled": lambda w: w.create(**unconfirmed()).cancel(),
    },
    "requires_action": {
        "requires_action": lambda w: w.pay(**SECURE).confirm(GOOD_CARD, **SECURE),
        "processing": lambda w: w.pay(**SECURE).come_back("Don't answer"),
        "requires_capture": lambda w: w.pay(**SECURE, **MANUAL).come_back(),
        "succeeded": lambda w: w.pay(**SECURE).come_back(),
        "requires_payment_method": lambda w: w.pay(**SECURE).come_back("Reject"),
        "canceled": lambda w: w.pay(**SECURE).cancel(),
    },
    "processing": {
        "requires_capture": lambda w: w.pay(CHARGED, **MANUAL).sweep(10),
        "succeeded": lambda w: w.pay(CHARGED).sweep(10),
        "requires_payment_method": lambda w: w.pay(NOT_CHARGED).sweep(10),
        "canceled": lambda w: w.pay(**MANUAL).cut_off("cut_after").cancel().reach_again().sweep(10),
    },
    "requires_capture": {
        "succeeded": lambda w: w.pay(**MANUAL).capture(),
        "processing": lambda w: w.pay(**MANUAL).cut_off("lost").capture().reach_again(),
        "requires_payment_method": lambda w: w.pay(CAPTURE_FAILS, **MANUAL).capture(),
        "canceled": lambda w: w.pay(**MANUAL).cancel(),
    },
}

PAIRS = list(product(PaymentStatus, PaymentStatus))
TABLE = [Move(*listed[:3]) for listed in PAYMENTS.changes]
UNLISTED = [pair for pair in PAIRS if pair not in PAYMENTS.pairs]


@pytest.fixture
def walk(acme: ApiClient, bank: BankTransport) -> Walk:
    return Walk(acme, bank)


# --- What the table lists ---------------------------------------------------------------------


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(("before", "after", "event"), TABLE)
def test_a_change_of_the_table_happens(before: str, after: str, event: str, walk: Walk) -> None:
    WAYS[before][after](walk)

    assert walk.moves()[-1] == (before, after, event)
    assert (walk.status, walk.told()) == (after, walk.shown())


def test_a_status_is_always_told_by_the_same_event() -> None:
    told = {(after, event.removeprefix("payment_intent.")) for _before, after, event in TABLE}

    assert told == {
        ("requires_action", "requires_action"),
        ("processing", "processing"),
        ("requires_capture", "amount_capturable_updated"),
        ("succeeded", "succeeded"),
        ("requires_payment_method", "payment_failed"),
        ("canceled", "canceled"),
    }


def test_every_way_is_one_of_the_table() -> None:
    ways = {(before, after) for before, leading in WAYS.items() for after in leading}

    assert ways == PAYMENTS.pairs


# --- And what it does not ---------------------------------------------------------------------


def assert_only_listed(told: Iterable[tuple[tuple[str, ...], list[Move]]]) -> int:
    """Hold stories against the table; return how many there were."""
    stories = list(told)
    wrong = [story for story in stories if not set(story[1]) <= set(TABLE)]
    seen = {move for _story, moves in stories for move in moves}
    tally = f"{len(seen)} of {len(TABLE)} listed changes, {len(wrong)} not of the table"
    print(f"{len(stories)} tries: {tally}; {len(UNLISTED)} pairs must not be")  # noqa: T201
    assert stories
    assert seen
    assert not wrong
    return len(stories)


def test_no_door_leads_where_the_table_does_not(walk: Walk) -> None:
    assert_only_listed(tries(walk, starts=FEW, doors=SHORT, banks=["honest"]))


@pytest.mark.dear("each answer of a bank is tried from each status that the sweeper asks about")
def test_whatever_the_bank_says_the_sweeper_keeps_to_the_table(walk: Walk) -> None:
    due = [start for start in FEW if start[0] in UNDECIDED]

    assert_only_listed(tries(walk, starts=due, doors=["sweep"], banks=BANKS))


@pytest.mark.proof(part="walks")
@pytest.mark.timeout(900)
def test_whatever_the_bank_says_every_door_keeps_to_the_table(walk: Walk, door: str) -> None:
    # A bank's answer matters where the outcome is open; the test of the honest bank has all starts.
    few = [start for start in FEW if start[0] in UNDECIDED]
    if door != SANDBOX:  # The old bank is a process, and each try writes its book anew.
        few = [(one, next(iter(STARTS[one]))) for one in UNDECIDED]
    starts, doors = length(short=few, full=WALKED), length(short=SHORT, full=DOORS)

    # In the gate a start meets every second answer, and the next start the others.
    told = chain.from_iterable(
        tries(
            walk,
            starts=[start],
            doors=doors,
            banks=length(short=[*BANKS][turn % 2 :: 2], full=BANKS),
        )
        for turn, start in enumerate(starts)
    )

    tried(assert_only_listed(told), "tries of doors")


@pytest.mark.every_case("each state, and each answer of a bank")
@pytest.mark.parametrize("status", TERMINAL)
def test_what_is_over_stays_as_it_is(status: str, walk: Walk) -> None:
    starting(walk, status)
    before, asked = walk.shown(), len(walk.bank.seen)

    for through in DOORS.values():
        through(walk)

    assert walk.shown() == {**before, "description": "Tea"}
    assert len(walk.bank.seen) == asked


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("before", PaymentStatus)
def test_the_one_door_and_the_database_refuse_the_other_pairs(before: str, walk: Walk) -> None:
    row = PaymentIntent.objects.filter(id=starting(walk, before).payment_id)

    for _before, after in (pair for pair in UNLISTED if pair[0] == before):
        with pytest.raises(UnlistedTransition):
            transition.move(row.get(), after, walk.shown(), request_id="req_1")
        if after != before:  # Otherwise there is no change to refuse.
            with pytest.raises(IntegrityError, match="does not move"), transaction.atomic():
                row.update(status=after)

    assert walk.told() == walk.shown()


def test_the_pairs_are_all_there_are() -> None:
    assert (len(PAIRS), len(TABLE), len(UNLISTED)) == (49, 26, 23)


# --- The checks above can fail ----------------------------------------------------------------


@pytest.mark.parametrize(
    "bug",
    [
        Move("succeeded", "canceled", "payment_intent.canceled"),
        Move("processing", "succeeded", "payment_intent.payment_failed"),
    ],
)
def test_a_change_that_is_not_listed_is_noticed(bug: Move) -> None:
    with pytest.raises(AssertionError):
        assert_only_listed([(("somewhere",), [bug])])


@pytest.mark.parametrize(
    "bug", [{"description": "Coffee"}, {"status": "succeeded", "captured_minor": 1}]
)
def test_a_change_without_an_event_is_noticed(
    bug: dict[str, Any], walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk.pay(**MANUAL)
    rows = PaymentIntent.objects.filter(id=walk.payment_id)
    monkeypatch.setitem(DOORS, "bug", lambda w: rows.update(amount_capturable=0, **bug) and w)

    with pytest.raises(AssertionError):
        rehearsed(walk, "bug")


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"status": "requires_action", "card": None},
        {"status": "requires_action", "amount": 1, "nested": {"a": 1}},
        {"status": "requires_action", "amount": 1, "nested": {"a": 2, "b": 2}},
        {"status": "requires_action", "amount": 1, "nested": {"a": 2}, "was": None},
        {"status": "requires_action", "amount": 1, "nested": {"a": 2}, "was": 1, "kept": 5},
    ],
)
def test_an_event_that_tells_too_little_or_too_much_is_noticed(told: dict[str, Any]) -> None:
    former = {"status": "requires_action", "nested": {"a": 2, "b": 2}, "was": 1, "kept": 5}
    now = {"status": "succeeded", "nested": {"a": 1, "b": 2}, "amount": 1, "kept": 5}
    right = {"status": "requires_action", "nested": {"a": 2}, "was": 1, "amount": None}
    assert_tells_its_change(former, {"object": now, "previous_attributes": right})

    with pytest.raises(AssertionError):
        assert_tells_its_change(former, {"object": now, "previous_attributes": told})
