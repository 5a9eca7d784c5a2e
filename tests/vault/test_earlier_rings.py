"""A key ring of before, authentic but older, is refused at the start of each process."""

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from core import keyring
from core.models import Process
from tests.stage.key_change import KeyChange, PurposeChange, keyring_command
from vault import ring_history

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

HERE = "The key ring here"


@pytest.fixture
def change(key_change: KeyChange, request: pytest.FixtureRequest) -> PurposeChange:
    return PurposeChange(key_change.path, getattr(request, "param", "link"))


@pytest.fixture
def copies(change: PurposeChange, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the file as it is at a step."""

    def keep(step: str) -> Path:
        return Path(shutil.copy(change.path, tmp_path / f"{step}.copy"))

    return keep


def require(path: Path) -> None:
    ring_history.require_current(keyring.load(path), HERE)


def test_each_ring_of_a_change_is_current_until_the_next_step_is_made(
    change: PurposeChange, copies: Callable[[str], Path]
) -> None:
    first = copies("first")
    require(first)
    change.add()
    added = copies("added")
    require(first)
    change.promote()
    require(added)  # Of a host that the file is brought to.

    with pytest.raises(keyring.KeyRingError, match=f"lacks {change.new}, which was made primary"):
        require(first)


@pytest.mark.parametrize("change", ["link", "email_fingerprint", "cvc"], indirect=True)
def test_a_ring_whose_key_was_retired_makes_nothing_more(
    change: PurposeChange, copies: Callable[[str], Path]
) -> None:
    change.add()
    added = copies("added")
    change.promote()
    promoted = copies("promoted")
    change.retire(ago=timedelta(days=40))

    require(promoted)
    with pytest.raises(keyring.KeyRingError, match=f"seals with {change.old}, which was retired"):
        require(added)

    change.purge()
    with pytest.raises(keyring.KeyRingError, match=f"seals with {change.old}, which was purged"):
        require(added)


def test_a_purged_key_comes_back_for_a_day_only(
    change: PurposeChange, copies: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    change.begin()
    change.retire(ago=timedelta(days=40))
    retired = copies("retired")
    change.purge()
    require(retired)
    require(change.path)

    tomorrow = timezone.now() + timedelta(hours=25)
    with monkeypatch.context() as patched:
        patched.setattr(ring_history.timezone, "now", lambda: tomorrow)
        with pytest.raises(keyring.KeyRingError, match=f"has {change.old}, which was purged"):
            require(retired)
        require(change.path)
        keyring_command("put-back", change.old, "--from", retired)
        require(change.path)


def test_an_earlier_encryption_key_seals_nothing_more(
    key_change: KeyChange, copies: Callable[[str], Path]
) -> None:
    keyring_command("add")
    added = copies("added")
    keyring_command("promote", key_change.new)
    require(added)
    keyring_command("remove", key_change.old)

    with pytest.raises(keyring.KeyRingError, match=f"seals with {key_change.old}, which was ret"):
        require(added)


def test_a_key_that_is_lost_for_good_is_given_up_by_a_step(
    change: PurposeChange, copies: Callable[[str], Path], settings: Any
) -> None:
    first = copies("first")
    change.begin()
    with pytest.raises(CommandError, match="`purge` takes a key out"):
        keyring_command("give-up", change.new)
    settings.KEYRING_FILE = first
    elsewhere = Process.objects.create(
        id="proc_2", kind="web", host="pay-2", release="1", key_ids=[change.new],
        primary_key_id="k", started_at=timezone.now(), seen_at=timezone.now(),
    )  # fmt: skip
    with pytest.raises(CommandError, match=f"{change.new} is not lost: web on pay-2 have it"):
        keyring_command("give-up", change.new)
    require(change.path)
    elsewhere.delete()

    keyring_command("give-up", change.new)

    require(first)


def test_a_restored_older_database_refuses_no_newer_ring(key_change: KeyChange) -> None:
    # Without the commands the audit log has no row: it is from before these steps.
    key_change.promote()
    keyring.retire(key_change.path, key_change.old)
    keyring.purge(key_change.path, key_change.old)

    require(key_change.path)
