"""Changing the key that everything is sealed with, while the service runs."""

import io
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, OperationalError, connection, connections
from pytest_django import DjangoAssertNumQueries

from core import clock, keyring
from core.cards import CardData
from merchants.models import IdempotencyKey, Merchant
from payments import card_destruction
from tests.bank_transport import BankTransport
from tests.client import ApiClient
from tests.factories import GOOD_CARD, MerchantFactory, payment, unconfirmed
from tests.key_change import (
    KeyChange,
    Killed,
    assert_opens_by_one_key,
    killed_after,
    seal_many,
)
from vault import cards, rotation, sealed_rows
from vault.models import SealedCard
from vault.reveal import reveal

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
GUARD = "a_card_names_the_key_it_is_sealed_with"


@pytest.fixture
def merchant(db: None) -> Merchant:
    return MerchantFactory()


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "BATCH", 3)
    monkeypatch.setattr(rotation, "PAUSE_SECONDS", 0.05)


def rotate() -> str:
    """Run the command as a process that starts now; return what it printed."""
    printed = io.StringIO()
    call_command("vault_rotate", stdout=printed, stderr=printed)
    return printed.getvalue()


def promote_and_restart(change: KeyChange) -> None:
    change.promote()
    change.restart()


def keyring_command(*arguments: object) -> str:
    printed = io.StringIO()
    call_command("keyring", *arguments, stdout=printed)
    return printed.getvalue()


# --- What a rotation does ---------------------------------------------------------------------


def test_after_a_rotation_every_card_opens_by_the_new_key_alone(
    merchant: Merchant, key_change: KeyChange
) -> None:
    tokens = seal_many(merchant, 10)
    promote_and_restart(key_change)

    told = rotate()

    keyring_command("remove", key_change.old)
    key_change.restart()
    assert "vault.SealedCard: 10 rewrapped, 0 gone meanwhile, 0 left" in told
    assert_opens_by_one_key(tokens, key_change.new)


def test_what_is_under_the_primary_key_is_left_alone(
    merchant: Merchant, key_change: KeyChange
) -> None:
    seal_many(merchant, 4)
    before = list(SealedCard.objects.order_by("token").values_list("sealed"))

    assert "vault.SealedCard: 0 rewrapped" in rotate()
    assert list(SealedCard.objects.order_by("token").values_list("sealed")) == before


def test_a_destroyed_card_stays_destroyed(merchant: Merchant, key_change: KeyChange) -> None:
    tokens = seal_many(merchant, 4)
    cards.destroy(sorted(tokens)[:1], now=clock.now())
    promote_and_restart(key_change)

    rotate()

    assert_opens_by_one_key(set(sorted(tokens)[1:]), key_change.new)
    assert SealedCard.objects.get(token=min(tokens)).sealed is None


def test_a_kept_answer_is_replayed_after_its_key_is_gone(
    acme: ApiClient, bank: BankTransport, key_change: KeyChange
) -> None:
    first = [acme.post(PATH, payment(), idempotency_key=f"k{n}") for n in range(5)]
    promote_and_restart(key_change)

    assert "merchants.IdempotencyKey: 5 rewrapped" in rotate()

    keyring_command("remove", key_change.old)
    key_change.restart()
    again = [acme.post(PATH, payment(), idempotency_key=f"k{n}") for n in range(5)]
    assert [one.response.content for one in again] == [one.response.content for one in first]


def test_a_request_without_an_answer_yet_is_no_concern(
    merchant: Merchant, key_change: KeyChange
) -> None:
    now = clock.now()
    IdempotencyKey.objects.create(
        merchant=merchant, key="k", fingerprint=b"x", lease_until=now, created_at=now
    )
    promote_and_restart(key_change)

    assert "merchants.IdempotencyKey: 0 rewrapped, 0 gone meanwhile, 0 left" in rotate()


def test_every_sealed_column_is_found() -> None:
    labels = {column.label for column in sealed_rows.columns()}

    assert labels >= {"vault.SealedCard", "merchants.IdempotencyKey"}
    assert [column for column in sealed_rows.columns() if column.field.check()] == []


def test_a_model_that_does_not_say_what_its_bytes_are_bound_to_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(SealedCard, "seal_context")

    [error] = SealedCard._meta.get_field("sealed").check()

    assert error.hint == "Give vault.SealedCard a property `seal_context`."


def test_how_far_it_is_is_told(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vault.management.commands.vault_rotate.SECONDS_BETWEEN_LINES", 0)
    seal_many(merchant, 7)
    promote_and_restart(key_change)

    assert "vault.SealedCard: 6 of 7 so far" in rotate()


def test_a_rotation_that_was_killed_goes_on_where_it_was(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = seal_many(merchant, 10)
    promote_and_restart(key_change)
    with monkeypatch.context() as patch:
        patch.setattr(rotation, "_replace", killed_after(2, rotation._replace))
        with pytest.raises(Killed):
            rotate()

    told = rotate()

    # The first batch of three was committed, the second died with its transaction.
    assert "vault.SealedCard: 7 rewrapped, 0 gone meanwhile, 0 left" in told
    assert_opens_by_one_key(tokens, key_change.new)


# --- What does not open -----------------------------------------------------------------------


def broken(row: SealedCard) -> None:
    sealed = bytearray(row.sealed)
    sealed[-1] ^= 1
    SealedCard.objects.filter(token=row.token).update(sealed=bytes(sealed))


def of_a_lost_key(row: SealedCard) -> None:
    lost = keyring.KeyRing(
        primary="k_lost", encryption={"k_lost": b"l" * 32}, mac={}, cvc=b"c" * 32
    )
    sealed = lost.seal(b'{"number": "4242424242424242"}', context=row.seal_context)
    SealedCard.objects.filter(token=row.token).update(sealed=sealed, key_id="k_lost")


@pytest.mark.parametrize(("spoil", "reason"), [(broken, "changed"), (of_a_lost_key, "k_lost")])
def test_what_does_not_open_is_named_and_skipped_and_the_status_says_so(
    spoil: Callable[[SealedCard], None],
    reason: str,
    merchant: Merchant,
    key_change: KeyChange,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tokens = seal_many(merchant, 8)
    spoilt = SealedCard.objects.order_by("token")[3]
    spoil(spoilt)
    promote_and_restart(key_change)

    with pytest.raises(CommandError, match="1 rows are not under"):
        call_command("vault_rotate")

    told = capsys.readouterr()
    assert "7 rewrapped, 0 gone meanwhile, 1 left (1 broken)" in told.out
    assert told.err.count(spoilt.token) == 1
    assert reason in told.err
    assert GOOD_CARD not in told.out + told.err
    SealedCard.objects.filter(token=spoilt.token).delete()
    assert_opens_by_one_key(tokens - {spoilt.token}, key_change.new)


# --- The check that it is right can fail ------------------------------------------------------


def only_the_column(
    column: sealed_rows.SealedColumn, primary: str, fresh: dict[Any, bytes]
) -> None:
    """A rotation that says so and does nothing."""
    column.rows().filter(pk__in=list(fresh)).update(key_id=primary)


def test_the_database_refuses_a_column_that_does_not_say_what_the_bytes_say(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal_many(merchant, 4)
    promote_and_restart(key_change)
    monkeypatch.setattr(rotation, "_replace", only_the_column)

    with pytest.raises(IntegrityError, match=GUARD):
        rotate()


def test_the_check_sees_a_rotation_that_changes_the_column_only(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE vault_sealedcard DROP CONSTRAINT {GUARD}")
    tokens = seal_many(merchant, 4)
    promote_and_restart(key_change)
    monkeypatch.setattr(rotation, "_replace", only_the_column)

    rotate()

    with pytest.raises(AssertionError):
        assert_opens_by_one_key(tokens, key_change.new)


def test_the_check_sees_a_lost_card(merchant: Merchant, key_change: KeyChange) -> None:
    tokens = seal_many(merchant, 4)
    SealedCard.objects.filter(token=min(tokens)).delete()

    with pytest.raises(AssertionError):
        assert_opens_by_one_key(tokens, key_change.old)


# --- Which keys are in use --------------------------------------------------------------------


def test_the_command_shows_what_each_key_seals(merchant: Merchant, key_change: KeyChange) -> None:
    seal_many(merchant, 3)
    of_a_lost_key(SealedCard.objects.all()[0])
    promote_and_restart(key_change)
    seal_many(merchant, 1)

    lines = keyring_command("show").splitlines()

    of_answers = "0 merchants.IdempotencyKey"
    assert sorted(lines) == sorted([
        f"{key_change.new}  primary  {of_answers}, 1 vault.SealedCard",
        f"{key_change.old}  other  {of_answers}, 2 vault.SealedCard",
        f"k_lost  NOT IN THE KEY RING  {of_answers}, 1 vault.SealedCard",
    ])  # fmt: skip


def test_the_steps_of_a_change_follow_from_what_the_command_says(key_change: KeyChange) -> None:
    added = keyring_command("add")
    key_id = added.split()[-1]
    assert f"manage.py keyring promote {key_id}" in added

    assert "manage.py vault_rotate" in keyring_command("promote", key_id)

    keyring_command("remove", key_change.old)
    assert keyring.load(key_change.path).key_ids == {key_change.new, key_id}


def test_another_file_may_be_named(key_change: KeyChange, tmp_path: Any) -> None:
    keyring.create(tmp_path / "other")

    keyring_command("--file", tmp_path / "other", "add")

    assert len(keyring.load(tmp_path / "other").key_ids) == 2
    assert len(keyring.load(key_change.path).key_ids) == 2


@pytest.mark.parametrize("what", ["card", "answer"])
def test_a_key_that_still_seals_something_is_not_removed(
    what: str, acme: ApiClient, bank: BankTransport, key_change: KeyChange
) -> None:
    acme.post(PATH, payment(), idempotency_key="k")
    (IdempotencyKey if what == "card" else SealedCard).objects.update(
        **{"sealed_response" if what == "card" else "sealed": None},
        **({} if what == "card" else {"destroyed_at": clock.now()}),
    )
    promote_and_restart(key_change)

    with pytest.raises(CommandError, match=r"run `manage\.py vault_rotate`"):
        keyring_command("remove", key_change.old)

    assert key_change.old in keyring.load(key_change.path).key_ids


def test_the_primary_key_is_not_removed(key_change: KeyChange) -> None:
    with pytest.raises(CommandError, match="is the primary key"):
        keyring_command("remove", key_change.old)


def test_without_a_database_nobody_knows_what_a_key_seals(
    key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_arguments: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(sealed_rows.SealedColumn, "rows_under", gone)

    with pytest.raises(CommandError, match="nothing was changed"):
        keyring_command("remove", key_change.new)
    assert key_change.new in keyring.load(key_change.path).key_ids


def test_the_keys_in_use_are_found_without_reading_the_cards(
    merchant: Merchant,
    key_change: KeyChange,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    seal_many(merchant, 3)
    promote_and_restart(key_change)
    seal_many(merchant, 3)
    [column] = [column for column in sealed_rows.columns() if column.is_indexed]

    with django_assert_num_queries(3):  # One step per key, and one that finds no more.
        assert column.known_key_ids() == {key_change.old, key_change.new}


# --- Beside everything else -------------------------------------------------------------------

together = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


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


@together
def test_two_rotations_at_once_share_the_work(merchant: Merchant, key_change: KeyChange) -> None:
    tokens = seal_many(merchant, 200)
    promote_and_restart(key_change)

    shares = all_at_once(*[lambda: rewrapped_by(key_change)] * 3)

    print(f"3 rotations of 200 cards: {shares}")  # noqa: T201
    assert sum(shares) == 200
    assert_opens_by_one_key(tokens, key_change.new)


@together
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
            time.sleep(0.002)

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


@together
def test_destruction_and_rotation_meet_on_the_same_cards(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_destruction, "CHUNK", 5)
    young = seal_many(merchant, 50)
    old = seal_many(merchant, 200, created_at=clock.now() - timedelta(days=2))
    promote_and_restart(key_change)

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


@together
def test_a_confirm_does_not_wait_for_a_rotation(
    acme: ApiClient, bank: BankTransport, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, answers = f"{PATH}/{acme.post(PATH, unconfirmed())['id']}/confirm", []
    promote_and_restart(key_change)
    replace = rotation._replace

    def confirm_first(*arguments: Any) -> None:
        """While the rows are locked, in a transaction that this thread keeps open."""
        answers.extend(all_at_once(lambda: acme.twin().post(path)))
        replace(*arguments)

    monkeypatch.setattr(rotation, "_replace", confirm_first)
    rotate()

    assert [answer["status"] for answer in answers] == ["succeeded"]


def hold_all_cards() -> psycopg.Connection:
    other = psycopg.connect(**connection.get_connection_params())
    other.execute("SELECT 1 FROM vault_sealedcard FOR UPDATE")
    return other


@together
def test_rows_that_others_hold_are_met_again(merchant: Merchant, key_change: KeyChange) -> None:
    tokens = seal_many(merchant, 5)
    promote_and_restart(key_change)
    other = hold_all_cards()
    release = threading.Timer(0.2, other.close)
    release.start()

    rotate()

    release.join()
    assert_opens_by_one_key(tokens, key_change.new)


@together
def test_a_rotation_gives_up_on_rows_that_stay_held(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation, "MAX_PASSES", 2)
    seal_many(merchant, 5)
    promote_and_restart(key_change)

    with hold_all_cards(), pytest.raises(CommandError, match="5 rows are not under"):
        rotate()
