"""Sealing everything anew under another key (architecture: vault)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from core import clock
from merchants.models import IdempotencyKey, Merchant
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import as_owner
from tests.stage.factories import GOOD_CARD, MerchantFactory, payment
from tests.stage.key_change import (
    KeyChange,
    Killed,
    assert_opens_by_one_key,
    killed_after,
    rotate,
    seal_many,
    seal_with_a_lost_key,
    take_out,
)
from vault import cards, rotation, sealed_rows
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
GUARD = "a_card_names_the_key_it_is_sealed_with"


@pytest.fixture
def merchant() -> Merchant:
    return MerchantFactory()


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "BATCH", 3)
    monkeypatch.setattr(rotation, "PAUSE_SECONDS", 0.05)


# --- What a rotation does ---------------------------------------------------------------------


def test_after_a_rotation_every_card_opens_by_the_new_key_alone(
    merchant: Merchant, key_change: KeyChange
) -> None:
    tokens = seal_many(merchant, 10)
    key_change.promote_and_restart()

    told = rotate()

    take_out(key_change.old)
    key_change.restart()
    assert "vault.SealedCard.sealed: 10 rewrapped, 0 gone meanwhile, 0 left" in told
    assert_opens_by_one_key(tokens, key_change.new)


def test_what_is_under_the_primary_key_is_left_alone(
    merchant: Merchant, key_change: KeyChange
) -> None:
    seal_many(merchant, 4)
    before = list(SealedCard.objects.order_by("token").values_list("sealed"))

    assert "vault.SealedCard.sealed: 0 rewrapped" in rotate()
    assert list(SealedCard.objects.order_by("token").values_list("sealed")) == before


def test_a_destroyed_card_stays_destroyed(merchant: Merchant, key_change: KeyChange) -> None:
    tokens = seal_many(merchant, 4)
    cards.destroy(sorted(tokens)[:1], now=clock.now())
    key_change.promote_and_restart()

    rotate()

    assert_opens_by_one_key(set(sorted(tokens)[1:]), key_change.new)
    assert SealedCard.objects.get(token=min(tokens)).sealed is None


def test_a_kept_answer_is_replayed_after_its_key_is_gone(
    acme: ApiClient, bank: BankTransport, key_change: KeyChange
) -> None:
    first = [acme.post(PATH, payment(), idempotency_key=f"k{n}") for n in range(5)]
    key_change.promote_and_restart()

    assert "merchants.IdempotencyKey.sealed_response: 5 rewrapped" in rotate()

    take_out(key_change.old)
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
    key_change.promote_and_restart()

    assert (
        "merchants.IdempotencyKey.sealed_response: 0 rewrapped, 0 gone meanwhile, 0 left"
        in rotate()
    )


def test_every_sealed_column_is_found() -> None:
    labels = {column.label for column in sealed_rows.columns()}

    assert labels >= {"vault.SealedCard.sealed", "merchants.IdempotencyKey.sealed_response"}
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
    key_change.promote_and_restart()

    assert "vault.SealedCard.sealed: 6 of 7 so far" in rotate()


def test_a_rotation_that_was_killed_goes_on_where_it_was(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = seal_many(merchant, 10)
    key_change.promote_and_restart()
    with monkeypatch.context() as patch:
        patch.setattr(rotation, "_replace", killed_after(2, rotation._replace))
        with pytest.raises(Killed):
            rotate()

    told = rotate()

    # The first batch of three was committed, the second died with its transaction.
    assert "vault.SealedCard.sealed: 7 rewrapped, 0 gone meanwhile, 0 left" in told
    assert_opens_by_one_key(tokens, key_change.new)


# --- What does not open -----------------------------------------------------------------------


def broken(row: SealedCard) -> None:
    sealed = bytearray(row.sealed)
    sealed[-1] ^= 1
    SealedCard.objects.filter(token=row.token).update(sealed=bytes(sealed))


@pytest.mark.parametrize(
    ("spoil", "reason"), [(broken, "changed"), (seal_with_a_lost_key, "k_lost")]
)
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
    key_change.promote_and_restart()

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
    key_change.promote_and_restart()
    monkeypatch.setattr(rotation, "_replace", only_the_column)

    with pytest.raises(IntegrityError, match=GUARD):
        rotate()


def test_the_check_sees_a_rotation_that_changes_the_column_only(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    with as_owner() as cursor:
        cursor.execute(f"ALTER TABLE vault_sealedcard DROP CONSTRAINT {GUARD}")
    tokens = seal_many(merchant, 4)
    key_change.promote_and_restart()
    monkeypatch.setattr(rotation, "_replace", only_the_column)

    rotate()

    with pytest.raises(AssertionError):
        assert_opens_by_one_key(tokens, key_change.new)


def test_the_check_sees_a_lost_card(merchant: Merchant, key_change: KeyChange) -> None:
    tokens = seal_many(merchant, 4)
    SealedCard.objects.filter(token=min(tokens)).delete()

    with pytest.raises(AssertionError):
        assert_opens_by_one_key(tokens, key_change.old)
