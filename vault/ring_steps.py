"""The steps of the key ring, each with its row in the audit log.

The row is inserted, then the file changes, then the row is committed. A command that is killed
before the commit leaves no row, but the file names it (`core.keyring.steps`). The next start of
a process, or the next command that changes the key ring, writes it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog
from django.conf import settings
from django.db import DatabaseError, IntegrityError, transaction

from core import context, keyring, stop_signals
from core.context import Actor, ActorKind
from core.keyring import dates, steps
from core.keyring.file import content_of, stored_in
from core.keyring.steps import Step
from merchants import audit_log
from merchants.models import AuditEntry

log = structlog.get_logger(__name__)


def loads(path: Path | None = None) -> bool:
    """Return whether a key ring loads, by default the service's own: its rows are made by that."""
    try:
        keyring.load(path or settings.KEYRING_FILE)
    except keyring.KeyRingError:
        return False
    return True


@contextmanager
def noted(verb: str, path: Path, subject: str) -> Iterator[Step]:
    """Commit a row of the audit log if the block changes the file, which it gives the step to.

    :raises KeyRingError: the file was changed, and its row has still to be written.
    """
    step = steps.new(f"key_ring.{verb}", subject)
    if not loads():
        yield step
        write_if_possible(path)
        return
    is_changed = False
    try:
        with transaction.atomic():
            _record(step, {"file": str(path)})
            # A signal between the file's change and the commit would leave the row to others.
            stop_signals.go_to_the_end()
            yield step
            is_changed = True
    except DatabaseError as error:
        if not is_changed:
            raise
        raise keyring.KeyRingError(
            f"{path} was changed ({verb}), and the database went away before its row in the audit "
            "log was kept. The next start of a process, or the next step of `manage.py keyring`, "
            "writes it."
        ) from error


@transaction.atomic
def note(verb: str, path: Path, subject: str) -> None:
    """Commit the row of a step that changes nothing in the file."""
    _record(steps.new(f"key_ring.{verb}", subject), {"file": str(path)})


def write_missing_of(path: Path) -> None:
    """Write the rows that the audit log lacks of the steps in a file of this installation.

    None are written by a key ring that does not open: its next step says why.
    """
    try:
        ours = stored_in(settings.KEYRING_FILE).get("installation")
        content = content_of(path)
    except keyring.KeyRingError:
        return
    if content["installation"] == ours and loads():
        write_missing(path, steps.of(content))


def write_if_possible(path: Path) -> None:
    """Write the rows that are missing, unless the database is away, or has no tables yet."""
    try:
        write_missing_of(path)
    except DatabaseError as error:
        log.warning("key_ring_steps_not_noted", error=type(error).__name__)


def write_missing(path: Path, known: Sequence[Step]) -> None:
    """Write the rows that the audit log lacks of the steps of a file, in their order.

    Each has the actor of the step, and says when it was done and by whose work it is written.
    """
    if lacking := missing(known):
        # The ids are kept: of two that write at once the second is refused by the database.
        with suppress(IntegrityError), transaction.atomic():
            for step in lacking:
                _write_late(path, step)


def missing(known: Sequence[Step]) -> list[Step]:
    """Return the steps of a file without a row in the audit log."""
    ids = [step.row for step in known]
    there = set(AuditEntry.objects.filter(pk__in=ids).values_list("pk", flat=True)) if ids else ()
    return [step for step in known if step.row not in there]


def in_words(step: Step) -> str:
    """Return a sentence about a step without a row."""
    return (
        f"key ring: the audit log lacks the row {step.action} of {step.subject}, done at {step.at}"
        ". The next start of a process, or the next step of `manage.py keyring`, writes it"
    )


def _write_late(path: Path, step: Step) -> None:
    late = {"file": str(path), "done_at": step.at, "noted_by": dates.by()}
    with context.work() as work:
        work.actor = Actor(ActorKind(step.actor), step.actor_id, step.actor_name)
        _record(step, late)


def _record(step: Step, after: dict[str, str]) -> None:
    audit_log.record(
        step.action, merchant=None, subject=step.subject, after=after, entry_id=step.row
    )
