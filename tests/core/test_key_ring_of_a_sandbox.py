"""A live installation takes no key ring that was made for a sandbox (PCI DSS 3.6.1.1)."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core import keyring
from core.keyring import KeyRingError, kek
from core.keyring.file import stored_in
from tests.stage.key_ring_files import replace
from vault.checks import key_ring_loads

OF_A_SANDBOX = "was made for a sandbox, and this installation is live"


@pytest.fixture
def path(settings: Any, tmp_path: Path) -> Path:
    """A key ring that the command has made in a sandbox."""
    settings.KEYRING_FILE, settings.KEK_FILE = tmp_path / "keyring", tmp_path / "kek"
    call_command("create_keyring", stdout=io.StringIO())
    return settings.KEYRING_FILE


def change_all(path: Path, settings: Any) -> None:
    """Take each step that writes the file again."""
    added = keyring.add(path)
    keyring.promote(path, added)
    [other] = keyring.load(path).key_ids - {added}
    keyring.retire(path, other)
    keyring.wrap(path, kek.in_file(stored_in(path)["installation"], settings.KEK_FILE))
    keyring.purge(path, other)


def test_a_sandbox_takes_it(path: Path) -> None:
    assert keyring.load(path).held


def test_no_live_start_takes_it(path: Path, settings: Any) -> None:
    settings.LIVEMODE = True

    [error] = key_ring_loads()
    assert OF_A_SANDBOX in error.msg
    with pytest.raises(CommandError, match=OF_A_SANDBOX):
        call_command("keyring", "show", stdout=io.StringIO())


def test_no_step_makes_it_a_live_one(path: Path, settings: Any) -> None:
    change_all(path, settings)
    settings.LIVEMODE = True

    with pytest.raises(KeyRingError, match=OF_A_SANDBOX):
        keyring.load(path)


def test_no_key_of_it_is_put_into_a_live_one(path: Path, settings: Any, tmp_path: Path) -> None:
    settings.LIVEMODE = True
    keyring.create(tmp_path / "live", made_for="live")

    with pytest.raises(KeyRingError, match=OF_A_SANDBOX):
        keyring.put_back(tmp_path / "live", stored_in(path)["primary"], copy=path)


def test_the_kind_is_not_changed_by_hand(path: Path) -> None:
    replace(path, json.loads(path.read_text()) | {"made_for": "live"})

    with pytest.raises(KeyRingError, match="it was changed"):
        keyring.load(path)


@pytest.mark.parametrize("made_for", [None, "live"], ids=["of before", "live"])
def test_a_live_start_takes_its_own_and_one_of_before(
    made_for: str | None, settings: Any, tmp_path: Path
) -> None:
    settings.KEK_FILE, settings.LIVEMODE = tmp_path / "kek", True
    keyring.create(tmp_path / "keyring", made_for=made_for)

    change_all(tmp_path / "keyring", settings)

    assert keyring.load(tmp_path / "keyring").held
