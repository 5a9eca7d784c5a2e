"""`manage.py keyring`: an operator changes the key step by step."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import OperationalError
from pytest_django import DjangoAssertNumQueries

from core import clock, keyring
from merchants import audit_log
from merchants.models import IdempotencyKey, Merchant
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory, payment
from tests.stage.key_change import (
    KeyChange,
    keyring_command,
    seal_many,
    seal_with_a_lost_key,
    take_out,
)
from tests.stage.key_ring_files import without_purposes
from tests.stage.second_factors import add_app
from tests.stage.visitors import an_operator
from vault import sealed_rows
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"


@pytest.fixture
def merchant() -> Merchant:
    return MerchantFactory()


def test_the_command_shows_what_each_key_seals(merchant: Merchant, key_change: KeyChange) -> None:
    seal_many(merchant, 3)
    seal_with_a_lost_key(SealedCard.objects.all()[0])
    key_change.promote_and_restart()
    seal_many(merchant, 1)

    lines = keyring_command("show").splitlines()[:3]

    others = (
        "0 acquirers.Terminal.sealed, 0 risk.ListEntry.sealed, "
        "0 merchants.IdempotencyKey.sealed_response, 0 webhooks.SigningSecret.sealed"
    )
    assert sorted(lines) == sorted([
        f"{key_change.new}  primary  1 vault.SealedCard.sealed, {others}",
        f"{key_change.old}  other  2 vault.SealedCard.sealed, {others}",
        f"k_lost  NOT IN THE KEY RING  1 vault.SealedCard.sealed, {others}",
    ])  # fmt: skip


def test_the_steps_of_a_change_follow_from_what_the_command_says(key_change: KeyChange) -> None:
    added = keyring_command("add")
    key_id = added.split()[-1]
    assert f"manage.py keyring promote {key_id}" in added

    assert "manage.py vault_rotate" in keyring_command("promote", key_id)

    assert f"manage.py keyring purge {key_change.old}" in keyring_command("remove", key_change.old)
    assert keyring.load(key_change.path).key_ids == {key_change.old, key_change.new, key_id}

    keyring_command("purge", key_change.old)
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
    key_change.promote_and_restart()

    with pytest.raises(CommandError, match=r"run `manage\.py vault_rotate`"):
        keyring_command("remove", key_change.old)

    assert key_change.old in keyring.load(key_change.path).key_ids


def test_a_key_that_seals_something_again_is_not_purged(
    merchant: Merchant, key_change: KeyChange
) -> None:
    seal_many(merchant, 1)
    keyring.promote(key_change.path, key_change.new)
    keyring.retire(key_change.path, key_change.old)

    with pytest.raises(CommandError, match=r"run `manage\.py vault_rotate`"):
        keyring_command("purge", key_change.old)

    assert key_change.old in keyring.load(key_change.path).key_ids


def test_a_lost_key_is_put_back_from_a_copy(key_change: KeyChange, tmp_path: Path) -> None:
    copy = shutil.copy(key_change.path, tmp_path / "copy")
    key_change.promote()
    take_out(key_change.old)

    told = keyring_command("put-back", key_change.old, "--from", copy)

    assert "`manage.py vault_rotate`" in told
    assert f"{key_change.old}  retired  " in keyring_command("show")


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
    key_change.promote_and_restart()
    seal_many(merchant, 3)
    [column] = [column for column in sealed_rows.columns() if column.is_indexed]

    with django_assert_num_queries(3):  # One step per key, and one that finds no more.
        assert column.known_key_ids() == {key_change.old, key_change.new}


# --- Purposes that the service learnt later ----------------------------------------------------


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A key ring from before the audit log."""
    path = tmp_path / "old"
    keyring.create(path)
    without_purposes(path, "audit_log")
    return path


def test_an_old_key_ring_is_completed_once(old_file: Path) -> None:
    assert "Added a key for audit_log" in keyring_command("--file", old_file, "add-purpose")
    assert "Nothing to add" in keyring_command("--file", old_file, "add-purpose")
    keyring.load(old_file)


def test_a_lost_purpose_that_rows_were_made_with_is_not_made_anew(
    old_file: Path, merchant: Merchant
) -> None:
    audit_log.record("limit.changed", merchant=merchant, subject="try")

    with pytest.raises(CommandError, match="manage.py keyring put-back audit_log --from COPY"):
        keyring_command("--file", old_file, "add-purpose")
    assert keyring.missing_purposes(old_file) == ["audit_log"]


def test_a_lost_purpose_is_put_back_from_a_copy(old_file: Path, tmp_path: Path) -> None:
    keyring.create(tmp_path / "copy")

    told = keyring_command("--file", old_file, "put-back", "audit_log", "--from", tmp_path / "copy")

    assert told.startswith("Put audit_log back. Bring the file to every host")
    mac, copied = (
        keyring.load(path).mac("audit_log", b"x") for path in (old_file, tmp_path / "copy")
    )
    assert mac == copied


def test_lost_keys_of_second_factors_are_not_made_anew(tmp_path: Path) -> None:
    add_app(an_operator())
    path = tmp_path / "lost"
    keyring.create(path)
    without_purposes(path, "second_factor")

    with pytest.raises(CommandError, match="Second factors were made with the key"):
        keyring_command("--file", path, "add-purpose")
