"""A command that makes a key-encryption key, killed by -9 before each step, is gone on with.

The command runs in a fork of the test, which dies at the step: at each opening, renaming and
removing of a file next to the key ring, and on both sides of each write to the disk.
"""

import io
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from django.core.management import call_command

from core import keyring
from core.keyring import KeyRingError, steps
from core.keyring.file import content_of, stored_in
from merchants.models import AuditEntry
from tests.stage.killed_commands import forked
from tests.stage.lengths import length, tried

pytestmark = [
    pytest.mark.proof(part="keys"),
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # Each test has a directory of its own in it.
# The gate dies at some of the steps, from the first one on.
EVERY = length(short=5, full=1)


@dataclass
class Host:
    """A host whose key ring is wrapped by a key in OLD, while KEK_FILE is a new place."""

    directory: Path
    words: tuple[str, ...]
    ring: Path
    old: Path
    kek_file: Path
    files: list[Path]


@pytest.fixture(params=["file", "components"])
def at(request: pytest.FixtureRequest, settings: Any) -> Iterator[Callable[[], Host]]:
    """Begin on a new host."""
    if not SHARED_MEMORY.is_dir():
        pytest.skip("There is no tmpfs at /dev/shm.")
    memory = Path(mkdtemp(dir=SHARED_MEMORY))
    settings.KEK_PROVIDER = request.param

    def at() -> Host:
        directory = Path(mkdtemp(dir=memory))
        ring, old, files = directory / "keyring", directory / "old", [directory / n for n in "12"]
        shutil.copy(original, ring)
        shutil.copy(memory / "old", old)
        given = [f"--component={file}" for file in files if request.param == "components"]
        words = ("keyring", "wrap", f"--kek-file={old}", *given)
        settings.KEYRING_FILE, settings.KEK_FILE = ring, directory / "kek"
        keyring.ring.cache_clear()
        return Host(directory, words, ring, old, directory / "kek", files if given else [])

    original = memory / "keyring"
    keyring.create(original, kek_file=memory / "old")
    yield at
    shutil.rmtree(memory)
    keyring.ring.cache_clear()


def opened(path: Path, *kek_files: Path) -> list[Path]:
    """Return which of the files with key-encryption keys opens the ring; the others say a way."""
    refusals = {kek_file: refusal(path, kek_file) for kek_file in kek_files}
    assert all("keyring wrap" in reason for reason in refusals.values() if reason), refusals
    return [kek_file for kek_file, reason in refusals.items() if not reason]


def refusal(path: Path, kek_file: Path) -> str:
    try:
        keyring.load(path, kek_file=kek_file)
    except KeyRingError as error:
        return " ".join(str(error).split())
    return ""


def test_a_wrap_that_is_killed_anywhere_is_gone_on_with_by_the_same_command(
    at: Callable[[], Host],
) -> None:
    step, kills, status, wrapped = 1 - EVERY, 0, -signal.SIGKILL, set[str]()
    while status:
        step, host = step + EVERY, at()
        earlier, key_ids = stored_in(host.ring)["kek"], keys_of(host)

        status = forked(*host.words, die_at=step, near=host.directory)

        assert status in (0, -signal.SIGKILL)
        # The next start: the ring is the old one or the new one, and a key of one of them opens it.
        assert opened(host.ring, host.old, host.kek_file), step
        assert [path for path in host.directory.iterdir() if is_lent(path, earlier)] == [], step
        if status:
            kills += 1
            assert forked(*host.words) == 0, step
        assert opened(host.ring, host.old, host.kek_file) == [host.kek_file], step
        assert keys_of(host) == key_ids
        assert {path.name for path in host.directory.iterdir()} == {
            "keyring", "old", "kek", *(file.name for file in host.files),
        }, step  # fmt: skip
        assert by_custodians(host), step
        wrapped |= {one.row for one in steps.of(content_of(host.ring))}

    tried(kills, "kills of keyring wrap")
    assert kills >= 25 // EVERY
    rows = AuditEntry.objects.filter(action="key_ring.wrapped")
    assert set(rows.values_list("pk", flat=True)) == wrapped


def test_a_first_ring_that_is_killed_anywhere_is_made_by_the_same_command(
    at: Callable[[], Host],
) -> None:
    step, kills, status = 1 - EVERY, 0, -signal.SIGKILL
    while status:
        step, host = step + EVERY, at()
        host.ring.unlink()
        words = ("create_keyring", *(word for word in host.words if "component" in word))

        status = forked(*words, die_at=step, near=host.directory)

        assert not host.ring.exists() or opened(host.ring, host.kek_file), step
        # A ring that is whole is told to be there; custodians' files get their names.
        if not host.ring.exists() or host.files:
            kills += bool(status)
            assert forked(*words) == 0, step
        assert opened(host.ring, host.kek_file), step
        assert by_custodians(host), step

    tried(kills, "kills of create_keyring")
    assert kills >= 12 // EVERY


def is_lent(path: Path, kek_id: str) -> bool:
    return path.name not in ("old", "keyring", "keyring.new") and kek_id in path.read_text()


def keys_of(host: Host) -> frozenset[str]:
    kek_file = host.kek_file if opened(host.ring, host.kek_file) else host.old
    return keyring.load(host.ring, kek_file=kek_file).held


def by_custodians(host: Host) -> bool:
    """Return whether the components that were handed out open the ring after the host's start."""
    if not host.files:
        return True
    host.kek_file.unlink()
    for file in host.files:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", io.StringIO(file.read_text()))
            call_command("keyring", "open", stdout=io.StringIO())
    return bool(opened(host.ring, host.kek_file))
