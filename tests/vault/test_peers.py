"""No key is promoted, rotated to or purged past a process that runs with another key ring."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError
from django.db.models.functions import Now
from django.utils import timezone

from core import heartbeat, ids, keyring
from core.models import Process
from merchants.models import Merchant
from tests.stage.factories import MerchantFactory
from tests.stage.key_change import KeyChange, keyring_command, rotate, seal_many, take_out
from vault import peers, rotation
from vault.checks import require_keys
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


@pytest.fixture
def merchant() -> Merchant:
    return MerchantFactory()


@pytest.fixture(autouse=True)
def _this_process_ends() -> Iterator[None]:
    yield
    heartbeat.end()


def a_process(*key_ids: str, kind: str = "web", seconds_ago: float = 0) -> Process:
    """Return a process on another host that seals with the first of the keys."""
    return Process.objects.create(
        id=ids.new("proc"),
        kind=kind,
        host="pay-2",
        release="1",
        key_ids=[*key_ids, *keyring.PURPOSES],
        primary_key_id=key_ids[0],
        purpose_key_ids=keyring.PURPOSES,
        started_at=timezone.now() - timedelta(days=1),
        seen_at=Now() - timedelta(seconds=seconds_ago),
    )


def test_a_key_is_not_promoted_that_a_living_process_lacks(key_change: KeyChange) -> None:
    a_process(key_change.old, key_change.new)
    lacks = [a_process(key_change.old, kind=kind) for kind in ("sender", "worker", "worker")]

    with pytest.raises(CommandError) as refused:
        keyring_command("promote", key_change.new)

    processes = "sender on pay-2, worker on pay-2 (2 processes)"
    assert f"These processes lack {key_change.new}: {processes}." in str(refused.value)
    assert keyring.load(key_change.path).primary == key_change.old
    for process in lacks:
        process.delete()
    keyring_command("promote", key_change.new)
    assert keyring.load(key_change.path).primary == key_change.new


def a_rotation(_change: KeyChange) -> str:
    return rotate()


def a_purge(change: KeyChange) -> str:
    keyring.retire(change.path, change.old)
    return keyring_command("purge", change.old)


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("act", [a_rotation, a_purge])
@pytest.mark.parametrize("kind", ["web", "rotation"])
def test_nothing_is_rotated_or_purged_while_a_living_process_seals_with_another_key(
    act: Callable[[KeyChange], str], kind: str, merchant: Merchant, key_change: KeyChange
) -> None:
    rows = seal_many(merchant, 2) if act is a_rotation else set()
    a_process(key_change.old, key_change.new, kind=kind)
    key_change.promote_and_restart()

    with pytest.raises(CommandError, match=f"seal with {key_change.old} .*: {kind} on pay-2"):
        act(key_change)

    assert SealedCard.objects.filter(key_id=key_change.old).count() == len(rows)
    assert key_change.old in keyring.load(key_change.path).key_ids
    assert not Process.objects.exclude(host="pay-2").exists()


def test_a_process_that_was_not_seen_for_a_minute_holds_nobody_up(
    merchant: Merchant, key_change: KeyChange
) -> None:
    a_process(key_change.old, seconds_ago=61)
    seal_many(merchant, 1)

    keyring_command("promote", key_change.new)
    key_change.restart()
    rotate()
    take_out(key_change.old)

    assert keyring.load(key_change.path).key_ids == {key_change.new}


def test_a_process_that_comes_back_while_a_key_is_purged_is_heard(
    key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = a_process(key_change.old, key_change.new, seconds_ago=300)
    key_change.promote_and_restart()
    keyring.retire(key_change.path, key_change.old)

    def beat(_seconds: float) -> None:
        Process.objects.filter(id=process.id).update(seen_at=Now())

    monkeypatch.setattr(peers.time, "sleep", beat)

    with pytest.raises(CommandError, match=f"seal with {key_change.old} .*: web on pay-2"):
        keyring_command("purge", key_change.old)


def test_a_process_of_the_future_holds_nobody_up(key_change: KeyChange) -> None:
    """The database's clock was put back after the process had died."""
    a_process(key_change.old, seconds_ago=-3600)

    keyring_command("promote", key_change.new)
    key_change.restart()
    peers.join("worker")


def test_a_rotation_that_stood_still_while_the_key_changed_again_stops(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation, "BATCH", 3)
    seal_many(merchant, 10)
    key_change.promote_and_restart()
    replace = rotation._replace

    def replace_and_stand_still(*arguments: Any) -> None:
        replace(*arguments)
        a_process("k_newest", key_change.new, key_change.old)

    monkeypatch.setattr(rotation, "_replace", replace_and_stand_still)

    with pytest.raises(CommandError, match="seal with k_newest and not with"):
        rotate()
    assert SealedCard.objects.filter(key_id=key_change.old).count() == 7


def test_a_rotation_that_cannot_be_written_down_does_nothing(
    merchant: Merchant, key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise psycopg.OperationalError

    seal_many(merchant, 1)
    key_change.promote_and_restart()
    monkeypatch.setattr(heartbeat, "_connected", away)

    with pytest.raises(CommandError, match="nothing was done"):
        rotate()
    assert SealedCard.objects.get().key_id == key_change.old


def test_the_command_shows_the_living_processes(key_change: KeyChange) -> None:
    a_process(key_change.old, seconds_ago=59)
    a_process(key_change.old, kind="beat", seconds_ago=61)

    [line] = [line for line in keyring_command("show").splitlines() if "pay-2" in line]

    assert line.startswith("web on pay-2, release 1, since ")
    assert line.endswith(f": seals with {key_change.old}, lacks {key_change.new}")


# --- At the start -----------------------------------------------------------------------------


def test_a_process_joins_those_whose_keys_it_has(key_change: KeyChange) -> None:
    a_process(key_change.new, key_change.old)
    a_process(key_change.old, key_change.new)
    a_process("k_strange", seconds_ago=61)

    peers.join("worker")

    [own] = Process.objects.exclude(host="pay-2")
    assert (own.kind, own.primary_key_id) == ("worker", key_change.old)


def test_a_process_does_not_start_without_a_key_that_a_living_one_seals_with(
    key_change: KeyChange,
) -> None:
    a_process("k_newer", key_change.old)

    with pytest.raises(keyring.KeyRingError) as refused:
        peers.join("worker")

    told = str(refused.value)
    assert f"The key ring at {key_change.path} on " in told
    assert "lacks k_newer, which web on pay-2 seals with" in told
    assert "manage.py keyring put-back k_newer --from COPY" in told
    assert not Process.objects.exclude(host="pay-2").exists()


def test_a_process_does_not_start_whose_key_a_living_one_lacks(key_change: KeyChange) -> None:
    key_change.promote_and_restart()
    a_process(key_change.old)

    with pytest.raises(keyring.KeyRingError) as refused:
        peers.join("worker")

    assert f"seals with {key_change.new}, which web on pay-2 lacks" in str(refused.value)


def test_the_start_names_the_key_that_is_missing_and_where_it_is(
    merchant: Merchant, key_change: KeyChange
) -> None:
    seal_many(merchant, 1)
    key_change.promote()
    keyring.retire(key_change.path, key_change.old)
    keyring.purge(key_change.path, key_change.old)
    a_process(key_change.new, key_change.old, kind="sender", seconds_ago=3600)
    key_change.restart()

    with pytest.raises(keyring.KeyRingError) as refused:
        require_keys()

    told = str(refused.value)
    assert f"The key ring at {key_change.path} on " in told
    assert f"lacks {key_change.old}, which rows of the database are sealed with" in told
    assert "It is in the key ring of sender on pay-2" in told
    assert f"manage.py keyring put-back {key_change.old} --from COPY" in told
    assert "backup" not in told
