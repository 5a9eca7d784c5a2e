"""The key ring's file: private, whole, and never without a key that it had."""

import base64
import json
import shutil
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core import keyring
from core.keyring import KeyRingError, UnknownKey
from core.keyring.file import content_of, replacing
from tests.stage.key_ring_files import put_in_clear, rewrite, without_purposes


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "keyring.json"
    keyring.create(path)
    return path


def test_a_new_key_ring_is_private_and_loads(path: Path) -> None:
    ring = keyring.load(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert ring.open(ring.seal(b"x", context="a"), context="a") == b"x"


def test_two_new_key_rings_share_no_key(path: Path, tmp_path: Path) -> None:
    keyring.create(tmp_path / "other.json")

    with pytest.raises(UnknownKey):
        keyring.load(tmp_path / "other.json").open(
            keyring.load(path).seal(b"x", context=""), context=""
        )


def test_a_key_ring_is_never_overwritten(path: Path) -> None:
    before = path.read_bytes()

    with pytest.raises(KeyRingError, match="already"):
        keyring.create(path)
    assert path.read_bytes() == before


def test_a_key_ring_is_not_written_where_no_directory_is(tmp_path: Path) -> None:
    with pytest.raises(KeyRingError, match="make its directory"):
        keyring.create(tmp_path / "missing" / "keyring.json")


def test_a_missing_key_ring_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(KeyRingError, match="manage.py create_keyring"):
        keyring.load(tmp_path / "keyring.json")


@pytest.mark.parametrize("mode", [0o440, 0o404, 0o620, 0o666])
def test_a_key_ring_that_others_can_use_says_how_to_close_it(path: Path, mode: int) -> None:
    path.chmod(mode)

    with pytest.raises(KeyRingError, match="chmod 0400"):
        keyring.load(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": 3}, "version is not 2"),
        ({"primary": "k_gone"}, "primary key id is not among"),
        ({"encryption": None}, "encryption is missing"),
        ({"encryption": ["k"]}, "primary key id is not among"),
        ({"retired": ["k_gone"]}, "a retired key is its primary one, or not among"),
        ({"retired": "k"}, "a retired key is its primary one, or not among"),
        ({"retired": 7}, "not the JSON of a key ring"),
        ({"primary": "k 1", "encryption": {"k 1": "x"}}, "a key id is not 1 to 255 letters"),
        ({"cvc": None}, "cvc is missing"),
        ({"cvc": 7}, "a key is not base64"),
        ({"cvc": "!secret!"}, "a key is not base64"),
        ({"cvc": base64.b64encode(b"short").decode()}, "not 32 bytes long"),
        ({"mac": {"link": "x"}}, "api_key is missing"),
        ({"about": {"cvc": {"made_at": "soon"}}}, "not the JSON of a key ring"),
        ({"about": {"cvc": {"made_at": "2999-01-01T00:00:00+00:00"}}}, "cvc lies in the future"),
    ],
)
def test_a_malformed_key_ring_says_what_is_wrong(
    path: Path, changes: dict[str, object], reason: str
) -> None:
    put_in_clear(path, **changes)

    with pytest.raises(KeyRingError, match=reason):
        keyring.missing_purposes(path)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"x"', "\xff"])
def test_a_file_that_is_no_key_ring_is_refused_without_quoting_it(path: Path, content: str) -> None:
    path.chmod(0o600)
    path.write_text(content, encoding="latin-1")

    with pytest.raises(KeyRingError, match="not the JSON of a key ring"):
        keyring.load(path)


# --- Changing the file ------------------------------------------------------------------------


def keys_in(path: Path) -> dict:
    content = content_of(path)
    return {"cvc": content["cvc"], **content["mac"], **content["encryption"]}


def test_a_key_is_added_without_sealing_anything_yet(path: Path) -> None:
    before, first = keys_in(path), keyring.load(path)

    key_id = keyring.add(path)

    ring = keyring.load(path)
    assert (ring.primary, ring.key_ids) == (first.primary, {first.primary, key_id})
    assert before.items() < keys_in(path).items()
    assert stat.S_IMODE(path.stat().st_mode) == 0o400


def test_what_a_promoted_key_seals_opens_in_processes_that_know_it_as_added(path: Path) -> None:
    key_id = keyring.add(path)
    running = keyring.load(path)

    keyring.promote(path, key_id)

    started = keyring.load(path)
    blob = started.seal(b"x", context="a")
    assert (running.key_id_of(blob), running.open(blob, context="a")) == (key_id, b"x")
    assert started.open(running.seal(b"y", context="a"), context="a") == b"y"


@pytest.fixture
def retired(path: Path) -> str:
    """The id of a key that another one has followed."""
    old = keyring.load(path).primary
    keyring.promote(path, keyring.add(path))
    keyring.retire(path, old)
    return old


def test_a_retired_key_opens_and_never_seals_again(path: Path) -> None:
    old = keyring.load(path)
    blob = old.seal(b"x", context="a")
    keyring.promote(path, keyring.add(path))

    keyring.retire(path, old.primary)

    ring = keyring.load(path)
    assert ring.retired == {old.primary} < ring.key_ids
    assert ring.open(blob, context="a") == b"x"
    with pytest.raises(KeyRingError, match="is retired: it seals nothing"):
        keyring.promote(path, old.primary)
    with pytest.raises(KeyRingError, match="retired already"):
        keyring.retire(path, old.primary)


def test_only_a_retired_key_is_purged(path: Path, retired: str) -> None:
    key_id = keyring.add(path)

    with pytest.raises(KeyRingError, match=f"{key_id} is not retired"):
        keyring.purge(path, key_id)
    assert key_id in keyring.load(path).key_ids


def test_a_lost_key_comes_back_from_a_copy_and_opens_only(
    path: Path, retired: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copy(path, copy)
    blob = keyring.load(path).seal(b"x", context="a")
    keyring.purge(path, retired)
    keyring.promote(path, keyring.add(path))

    keyring.put_back(path, retired, copy=copy)

    ring = keyring.load(path)
    assert retired in ring.retired
    assert ring.open(blob, context="a") == b"x"
    with pytest.raises(KeyRingError, match=f"has a key {retired} already"):
        keyring.put_back(path, retired, copy=copy)
    with pytest.raises(KeyRingError, match="holds no key 'k_unknown'"):
        keyring.put_back(path, "k_unknown", copy=copy)


def test_members_of_a_later_version_stay_through_every_change(path: Path) -> None:
    rewrite(path, later={"kept": True})
    path.chmod(0o400)

    old, new = keyring.load(path).primary, keyring.add(path)
    keyring.promote(path, new)
    keyring.retire(path, old)
    keyring.purge(path, old)

    assert json.loads(path.read_text())["later"] == {"kept": True}


def test_only_the_purged_key_is_gone(path: Path) -> None:
    before, old = keys_in(path), keyring.load(path).primary
    new = keyring.add(path)
    keyring.promote(path, new)

    keyring.retire(path, old)
    keyring.purge(path, old)

    assert keys_in(path).keys() == before.keys() - {old} | {new}
    assert keys_in(path).items() - before.items() == {(new, keys_in(path)[new])}


@pytest.mark.parametrize("change", [keyring.promote, keyring.retire, keyring.purge])
def test_the_primary_and_unknown_keys_are_neither_promoted_nor_retired_nor_purged(
    path: Path, change: Callable[[Path, str], None]
) -> None:
    before = path.read_bytes()

    with pytest.raises(KeyRingError, match="is the primary key"):
        change(path, keyring.load(path).primary)
    with pytest.raises(KeyRingError, match="keyring show"):
        change(path, "k_unknown")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_two_changes_at_once_are_refused(path: Path) -> None:
    with replacing(path):
        with pytest.raises(KeyRingError, match="Another process is changing the key ring"):
            keyring.add(path)
        with pytest.raises(KeyRingError, match="There is a file at"):
            keyring.create(path)
    keyring.add(path)


def test_the_draft_of_a_killed_change_is_written_over(path: Path) -> None:
    path.with_name("keyring.json.new").write_text("half of a key ring")

    key_id = keyring.add(path)

    assert key_id in keyring.load(path).key_ids
    assert list(path.parent.iterdir()) == [path]


def test_of_many_changes_at_once_none_is_lost(path: Path) -> None:
    added, refused = [], []

    def try_to_add(_turn: int) -> None:
        try:
            added.append(keyring.add(path))
        except KeyRingError as error:
            refused.append(error)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(try_to_add, range(40)))

    print(f"40 changes tried: {len(added)} made, {len(refused)} refused")  # noqa: T201
    assert keyring.load(path).key_ids == {keyring.load(path).primary, *added}
    assert len(added) + len(refused) == 40


@pytest.mark.parametrize(
    "name", ["json.dump", "os.fsync", "os.fchown", "fcntl.flock", "pathlib.Path.replace"]
)
def test_a_change_that_fails_leaves_the_file_as_it_was(
    path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()
    monkeypatch.setattr(name, disk_full)

    with pytest.raises(KeyRingError, match=r"disk full.*nothing was changed"):
        keyring.add(path)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def disk_full(*_arguments: object, **_options: object) -> None:
    raise OSError("disk full")


def test_a_stranger_who_cannot_give_the_file_back_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_permitted(*_arguments: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.fchown", not_permitted)

    with pytest.raises(KeyRingError, match="Run this as the owner"):
        keyring.add(path)


def test_a_link_to_the_file_stays_a_link(path: Path) -> None:
    link = path.with_name("current")
    link.symlink_to(path)

    key_id = keyring.add(link)

    assert link.is_symlink()
    assert key_id in keyring.load(path).key_ids


def test_a_malformed_key_ring_is_not_changed(path: Path) -> None:
    put_in_clear(path, cvc=None)

    with pytest.raises(KeyRingError, match="cvc is missing"):
        keyring.complete(path)
    assert list(path.parent.iterdir()) == [path]


# --- A file that is older than a purpose -------------------------------------------------------


def make_old(path: Path) -> bytes:
    """Take a younger purpose out of the file, and return what the file then is."""
    without_purposes(path, "audit_log")
    return path.read_bytes()


def test_a_file_that_is_too_old_says_how_to_complete_it(path: Path) -> None:
    make_old(path)

    with pytest.raises(KeyRingError, match="no key for audit_log.*manage.py keyring add-purpose"):
        keyring.load(path)


def test_an_old_file_is_completed_and_keeps_its_keys(path: Path) -> None:
    make_old(path)
    old = keys_in(path)

    assert keyring.complete(path) == ["audit_log"]

    assert keyring.complete(path) == []
    assert keyring.load(path).mac("audit_log", b"x")
    assert keys_in(path).items() - old.items() == {("audit_log", keys_in(path)["audit_log"])}
    assert stat.S_IMODE(path.stat().st_mode) == 0o400


def test_a_first_purpose_that_is_lost_is_not_made_anew(path: Path) -> None:
    without_purposes(path, "api_key", "audit_log")

    for change in (keyring.complete, keyring.missing_purposes, keyring.load):
        with pytest.raises(KeyRingError, match="api_key is missing"):
            change(path)


def test_nothing_else_is_changed_in_a_file_that_is_too_old(path: Path) -> None:
    old = make_old(path)

    with pytest.raises(KeyRingError, match="add-purpose"):
        keyring.add(path)
    assert path.read_bytes() == old
