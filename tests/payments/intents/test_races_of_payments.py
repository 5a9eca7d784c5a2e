"""Payers, merchants and sweepers at once: whoever wins, one charge and one event per change.

One round of each race is in every run, some of the dearest in the gate, many in the proof.
"""

from collections.abc import Iterable, Iterator

import pytest
from django.db import transaction

from core import clock
from core.querysets import MerchantRows
from events import outbox
from events.models import Event
from payments.bank import attempts
from payments.intents import render
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import SUCCEEDED
from testbank import book, captures
from testbank.router import BANK
from tests.audit.test_audit import unguarded
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.lengths import length, tried
from tests.stage.meetings import RACES
from tests.stage.races import deadlocks, run
from tests.stage.stories import assert_one_event_per_change
from tests.stage.sweeper import on_one_thread_each, sweep
from tests.stage.threads import dropped, wait_for_the_others

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

# Money is lost in these first: for each of them a fault is planted below.
DEAREST = ["two_cards", "the_payer_twice", "two_captures_of_different_amounts"]
ROUNDS = length(short=10, full=80)
# A fault that has to be met may take longer.
ROUNDS_TO_FIND_A_FAULT = 40


@pytest.fixture(autouse=True)
def _sweepers_ask_where_they_are() -> Iterator[None]:
    with on_one_thread_each():
        yield


AT_THE_SEVENTH_DAY = {name for name in RACES if name.endswith("_and_the_seventh_day")}


def assert_all_books_agree() -> None:
    sweep()
    assert_audit_is_clean()


@pytest.mark.proof(part="races")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("race", length(short=DEAREST, full=list(RACES)))
def test_many_rounds(race: str, acme: ApiClient, bank: BankTransport) -> None:
    before = deadlocks()

    ended = run(RACES[race], acme, bank, ROUNDS)

    for how, often in ended.most_common():
        print(f"{often:4} × {how}")  # noqa: T201
    tried(ended.total(), f"rounds of {RACES[race].name}")
    assert ended.total() == ROUNDS
    assert_all_books_agree()
    assert deadlocks() == before


def test_one_round_of_each(acme: ApiClient, bank: BankTransport) -> None:
    one_round_of(RACES.keys() - AT_THE_SEVENTH_DAY, acme, bank)


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
def test_one_round_of_each_at_the_seventh_day(acme: ApiClient, bank: BankTransport) -> None:
    one_round_of(AT_THE_SEVENTH_DAY, acme, bank)


def one_round_of(names: Iterable[str], acme: ApiClient, bank: BankTransport) -> None:
    for name in sorted(names):
        [how] = run(RACES[name], acme, bank, rounds=1)
        print(f"{name}: {how}")  # noqa: T201

    assert_all_books_agree()


# --- The checks see it ------------------------------------------------------------------------


def read_without_a_lock(rows: MerchantRows, row_id: str) -> PaymentIntent:
    """Read a row that should be locked, and let the others read it before deciding on it."""
    row = rows.find(row_id)
    wait_for_the_others()
    return row


def read_both_without_a_lock(attempt: Attempt) -> tuple[PaymentIntent, Attempt]:
    intent = PaymentIntent.objects.select_related("merchant").get(id=attempt.intent_id)
    attempt = intent.attempts.get(id=attempt.id)
    wait_for_the_others()
    return intent, attempt


def capture_every_time(reference: str, *, amount: int) -> captures.CaptureAnswer:
    """A bank that takes what it is asked for, however often."""
    with transaction.atomic(using=BANK, durable=True):
        row = book.locked(reference)
        row.captured_amount = amount
        row.save()
        book.take_money(row, now=clock.now())
    return captures.CaptureAnswer(True, amount, "00")


@pytest.mark.planted
@pytest.mark.proof(part="races")
def test_confirmations_without_lock_and_index_are_seen(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MerchantRows, "lock", read_without_a_lock)

    with dropped("intents_attempt", "one_open_or_successful_attempt_per_payment"):
        with pytest.raises(AssertionError, match="the bank took"):
            run(RACES["two_cards"], acme, bank, ROUNDS_TO_FIND_A_FAULT)
        assert captured_by_bank(acme) > 12500


@pytest.mark.planted
@pytest.mark.proof(part="races")
@pytest.mark.at_the_sandbox("a proof is good once at other banks")
def test_an_answer_applied_without_lock_and_index_is_seen(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "locked", read_both_without_a_lock)

    with dropped("ledger_movement", "a_cause_moves_money_once_per_kind"):
        with pytest.raises(AssertionError, match="the bank took"):
            run(RACES["the_payer_twice"], acme, bank, ROUNDS_TO_FIND_A_FAULT)
        assert acme.pending() > captured_by_bank(acme)


@pytest.mark.planted
@pytest.mark.proof(part="races")
@pytest.mark.at_the_sandbox("the fault is planted in the test bank")
def test_a_bank_that_captures_twice_is_seen(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MerchantRows, "lock", read_without_a_lock)
    monkeypatch.setattr(captures, "capture", capture_every_time)

    with (
        dropped("intents_modification", "one_open_modification_per_attempt"),
        pytest.raises(AssertionError, match="the bank took"),
    ):
        run(RACES["two_captures_of_different_amounts"], acme, bank, ROUNDS_TO_FIND_A_FAULT)


@pytest.mark.django_db(databases=["default", "bank"])
def test_an_event_too_many_is_seen(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()
    assert assert_one_event_per_change(paid["id"]) == ["requires_confirmation", "succeeded"]
    shown = render.payment_intent(PaymentIntent.objects.get())

    outbox.record(acme.merchant, SUCCEEDED, shown, {})

    with pytest.raises(AssertionError, match="succeeded → succeeded"):
        assert_one_event_per_change(paid["id"])


@pytest.mark.django_db(databases=["default", "bank"])
def test_an_event_too_few_is_seen(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()

    unguarded("DELETE FROM events_event WHERE sequence = %s", Event.objects.count())

    with pytest.raises(AssertionError):
        assert_one_event_per_change(paid["id"])
