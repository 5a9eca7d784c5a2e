"""A step of the key ring that is killed by -9, wherever it was, still leaves its audit row.

The same command is run again. Then the audit log has one row for each act that the file shows.
"""

import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import keyring
from core.keyring import steps
from core.keyring.file import content_of
from merchants import audit_chains
from merchants.models import AuditEntry
from tests.stage.key_change import KeyChange
from tests.stage.key_ring_files import without_purposes
from tests.stage.killed_commands import forked
from tests.stage.lengths import length, tried

pytestmark = [
    pytest.mark.proof(part="keys"),
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

# The gate dies between the file and the row alone.
EVERYWHERE = length(short=False, full=True)
ACTS = {"active_since": "key_promoted", "retired_at": "key_retired", "purged_at": "key_purged"}


def nothing(_change: KeyChange) -> None:
    """The ring is as it has to be."""


def lack_a_purpose(change: KeyChange) -> None:
    without_purposes(change.path, "session")


def retire(change: KeyChange) -> None:
    keyring.retire(change.path, change.new)


def lose(change: KeyChange) -> None:
    shutil.copy(change.path, change.path.with_name("copy"))
    keyring.retire(change.path, change.new)
    keyring.purge(change.path, change.new)


STEPS = [
    ("add", nothing),
    ("add link", nothing),
    ("add-purpose", lack_a_purpose),
    ("promote NEW", nothing),
    ("remove NEW", nothing),
    ("purge NEW", retire),
    ("put-back NEW --from COPY", lose),
    ("wrap", nothing),
]


@pytest.mark.every_case("each step that changes keys")
@pytest.mark.parametrize(("step", "prepare"), STEPS, ids=[step for step, _ in STEPS])
def test_a_step_that_is_killed_anywhere_has_its_row_after_the_next_command(
    step: str, prepare: Callable[[KeyChange], None], key_change: KeyChange
) -> None:
    prepare(key_change)
    words, path = _words(step, key_change), key_change.path
    original, kills, status = path.read_bytes(), 0, -signal.SIGKILL
    while status:
        _put(path, original)
        before, known = content_of(path), AuditEntry.objects.count()

        after = None if EVERYWHERE else path
        status = forked(*words, die_at=kills + 1, near=path.parent, after=after)

        assert status in (0, -signal.SIGKILL)
        kills += bool(status)
        if status:
            forked(*words)  # A step that is done already refuses.
        assert sorted(rows_since(known)) == sorted(acts(before, content_of(path))), kills
        whole = AuditEntry.objects.count()
        forked("keyring", "add-purpose")
        assert AuditEntry.objects.count() == whole

    tried(kills, f"kills of keyring {step}")
    assert kills >= (9 if EVERYWHERE else 3)
    assert problems() == []


def _words(step: str, change: KeyChange) -> list[str]:
    names = {"NEW": change.new, "COPY": str(change.path.with_name("copy"))}
    return ["keyring", *(names.get(word, word) for word in step.split())]


def _put(path: Path, content: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(content)
    path.chmod(0o400)
    keyring.ring.cache_clear()


def rows_since(known: int) -> Iterator[tuple[str, str]]:
    rows = AuditEntry.objects.order_by("chain", "sequence")[known:]
    return ((row.action.partition(".")[2], row.subject) for row in rows)


def acts(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what was done between two contents of the file, by the dates of its keys."""
    for name, about in after["about"].items():
        if name in held(after) - held(before):
            yield "key_put_back" if "put_back_at" in about else "key_added", name
        else:
            new = about.keys() - before["about"][name]
            yield from ((act, name) for date, act in ACTS.items() if date in new)
    # Given again, `wrap` wraps once more.
    for step in steps.of(after)[len(steps.of(before)) :]:
        if step.action == "key_ring.wrapped":
            yield "wrapped", after["installation"]


def held(content: dict[str, Any]) -> set[str]:
    return {*content["encryption"], *content["mac"]}


def problems() -> list[object]:
    found: list[object] = []
    audit_chains.verify(tell=found.append)
    return found
