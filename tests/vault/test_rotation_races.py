"""A rotation beside everything else that works on the same cards."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError
from django.db import connection, connections

from core import clock, keyring
from core.cards import CardData
from merchants.models import Merchant
from payments.charging import card_destruction
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD, MerchantFactory, unconfirmed
from tests.stage.key_change import (
    KeyChange,
    assert_opens_by_one_key,
    rotate,
    seal_many,
    take_out,
)
from vault import cards, rotation, sealed_rows
from vault.models import SealedCard
from vault.reveal import reveal

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

PATH = "/v1/payment_intents"


@pytest.fixture
def merchant() -> Merchant:
    return MerchantFactory()


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "BATCH", 3)
    monkeypatch.setattr(rotation, "PAUSE_SECONDS", 0.05)


def all_at_once(*works: Callable[[], Any]) -> list[Any]:
    """Do all the works at the same time, each on connections of its own."""

    def work(call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(work, works))


def rewrapped_by(change: KeyChange) -> int:
    """Rotate as another process would that has started with the promoted key."""
    ring, total = keyring.load(change.path), 0
    for column in sealed_rows.columns():
        total += sum(batch.rewrapped for batch in rotation.rewrap(column, ring))
    return total


def test_two_rotations_at_once_share_the_work(merchant: Merchant, key_change: KeyChange) -> None:
    tokens = seal_many(merchant, 200)
    key_change.promote_and_restart()

    shares = all_at_once(*[lambda: rewrapped_by(key_change)] * 3)

    print(f"3 rotations of 200 cards: {shares}")  # noqa: T201
    assert sum(shares) == 200
    assert_opens_by_one_key(tokens, key_change.new)


@pytest.mark.dear("reveals for as long as rotations take")
def test_cards_are_revealed_and_sealed_by_others_while_the_key_changes(
    merchant: Merchant, key_change: KeyChange
) -> None:
    tokens, stop = seal_many(merchant, 300), threading.Event()
    key_change.promote()  # This process still seals with the old key.
    sealed: list[str] = []

    def reveal_all() -> int:
        revealed = 0
        while not stop.is_set():
            for row in SealedCard.objects.order_by("?")[:20]:
                assert reveal(row).number == GOOD_CARD
                revealed += 1
        return revealed

    def seal_some() -> None:
        while not stop.is_set():
            card = CardData(GOOD_CARD, 12, 2040, holder_name=f"Late {len(sealed)}")
            sealed.append(cards.seal(merchant.id, card, now=clock.now()).token)
            time.sleep(0.02)

    def rotate_twice() -> int:
        try:
            return rewrapped_by(key_change) + rewrapped_by(key_change)
        finally:
            stop.set()

    revealed, _, rewrapped = all_at_once(reveal_all, seal_some, rotate_twice)
    rewrapped += rewrapped_by(key_change)

    print(f"{revealed} reveals, {len(sealed)} seals, {rewrapped} rewraps")  # noqa: T201
    key_change.restart()
    assert revealed > 100
    assert rewrapped == 300 + len(sealed)
    assert_opens_by_one_key(tokens | set(sealed), key_change.new)


def test_destruction_and_rotation_meet_on_the_same_cards(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_destruction, "CHUNK", 5)
    young = seal_many(merchant, 50)
    old = seal_many(merchant, 200, created_at=clock.now() - timedelta(days=2))
    key_change.promote_and_restart()

    rewrapped, *destroyed = all_at_once(
        lambda: rewrapped_by(key_change), *[card_destruction.destroy_due] * 2
    )
    destroyed.append(card_destruction.destroy_due())

    print(f"{rewrapped} rewrapped, {destroyed} destroyed")  # noqa: T201
    assert sum(destroyed) == 200
    assert set(_destroyed_tokens()) == old
    assert_opens_by_one_key(young, key_change.new)


def _destroyed_tokens() -> list[str]:
    return list(
        SealedCard.objects.filter(destroyed_at__isnull=False).values_list("token", flat=True)
    )


@pytest.mark.both_banks
def test_payments_go_on_through_a_change_of_the_key(
    acme: ApiClient, bank: BankTransport, key_change: KeyChange
) -> None:
    before = [acme.pay(capture_method="manual")["id"] for _ in range(2)]
    key_change.promote_and_restart()
    meanwhile = acme.pay(capture_method="manual")["id"]

    rotate()
    take_out(key_change.old)
    key_change.restart()

    for payment_id in (*before, meanwhile, acme.pay(capture_method="manual")["id"]):
        assert acme.post(f"{PATH}/{payment_id}/capture")["status"] == "succeeded"
    assert captured_by_bank(acme) == acme.pending() == 4 * 12500


@pytest.mark.both_banks
def test_a_confirm_does_not_wait_for_a_rotation(
    acme: ApiClient, bank: BankTransport, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One for each column that is rotated: cards, and the credentials of a terminal.
    waiting = [acme.post(PATH, unconfirmed())["id"] for _ in range(2)]
    answers: list[Answer] = []
    key_change.promote_and_restart()
    replace = rotation._replace

    def confirm_first(*arguments: Any) -> None:
        """While the rows are locked, in a transaction that this thread keeps open."""
        path = f"{PATH}/{waiting.pop()}/confirm"
        answers.extend(all_at_once(lambda: acme.twin().post(path)))
        replace(*arguments)

    monkeypatch.setattr(rotation, "_replace", confirm_first)
    rotate()

    assert {answer["status"] for answer in answers} == {"succeeded"}


def hold_all_cards() -> psycopg.Connection:
    other = psycopg.connect(**connection.get_connection_params())
    other.execute("SELECT 1 FROM vault_sealedcard FOR UPDATE")
    return other


def test_rows_that_others_hold_are_met_again(merchant: Merchant, key_change: KeyChange) -> None:
    tokens = seal_many(merchant, 5)
    key_change.promote_and_restart()
    other = hold_all_cards()
    release = threading.Timer(0.2, other.close)
    release.start()

    rotate()

    release.join()
    assert_opens_by_one_key(tokens, key_change.new)


def test_a_rotation_gives_up_on_rows_that_stay_held(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation, "MAX_PASSES", 2)
    seal_many(merchant, 5)
    key_change.promote_and_restart()

    with hold_all_cards(), pytest.raises(CommandError, match="5 rows are not under"):
        rotate()
