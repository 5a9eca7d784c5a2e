"""The file of the key ring names the audit row of each step; one that is missing is written."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import InternalError, OperationalError, transaction

from audit.daily import overdue
from core import context, keyring
from core.context import ActorKind
from core.keyring import steps
from core.keyring.file import content_of
from core.keyring.steps import Step
from merchants import audit_chains
from merchants.models import AuditEntry
from tests.stage.key_change import KeyChange, keyring_command
from tests.stage.key_ring_files import rewrite, without_purposes
from tests.stage.threads import together, wait_for_the_others
from vault import ring_steps
from vault.checks import require_keys

# A start closes its connection.
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

TWO = "ada@pay.example and ben@pay.example by manage.py keyring as pay"


@pytest.fixture
def broken_off(key_change: KeyChange) -> KeyChange:
    """Two operators' promotion and a retirement in the file, of which the log has no row."""
    with context.work():
        context.act_as(ActorKind.OPERATOR, "7", TWO)
        promoted = steps.new("key_ring.key_promoted", key_change.new)
        keyring.promote(key_change.path, key_change.new, step=promoted)
        retired = steps.new("key_ring.key_retired", key_change.old)
        keyring.retire(key_change.path, key_change.old, step=retired)
    key_change.restart()
    return key_change


def rows() -> list[tuple[str, str]]:
    ours = AuditEntry.objects.filter(action__startswith="key_ring.").order_by("sequence")
    return [(row.action.partition(".")[2], row.subject) for row in ours]


def of_both(change: KeyChange) -> list[tuple[str, str]]:
    return [("key_promoted", change.new), ("key_retired", change.old)]


def test_a_start_writes_the_rows_that_are_missing_once_and_in_order(broken_off: KeyChange) -> None:
    require_keys()
    require_keys()

    assert rows() == of_both(broken_off)
    problems: list[object] = []
    audit_chains.verify(tell=problems.append)
    assert problems == []


def test_a_row_that_is_written_later_says_who_when_and_by_whom(broken_off: KeyChange) -> None:
    require_keys()

    row = AuditEntry.objects.get(action="key_ring.key_promoted")
    [step, _retired] = steps.of(content_of(broken_off.path))
    assert (row.pk, row.actor, row.actor_id, row.actor_name) == (step.row, "operator", "7", TWO)
    assert row.after == {
        "file": str(broken_off.path), "done_at": step.at, "noted_by": context.login_name(),
    }  # fmt: skip


def test_a_command_writes_them_before_its_own(broken_off: KeyChange) -> None:
    added = keyring_command("add").split()[1].rstrip(".")

    assert rows() == [*of_both(broken_off), ("key_added", added)]
    last = AuditEntry.objects.get(action="key_ring.key_added")
    assert last.after == {"file": str(broken_off.path)}
    assert steps.of(content_of(broken_off.path))[-1].row == last.pk


def test_a_step_without_its_row_is_told(broken_off: KeyChange) -> None:
    said = f"the audit log lacks the row key_ring.key_promoted of {broken_off.new}, done at "

    assert said in keyring_command("show")
    assert any(said in sentence for sentence in overdue.keys_due())
    assert rows() == []

    require_keys()
    assert said not in keyring_command("show")
    assert overdue.keys_due() == []


def test_a_database_that_takes_no_row_does_not_stop_a_start(
    broken_off: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise InternalError("cannot execute INSERT in a read-only transaction")

    with monkeypatch.context() as patched:
        patched.setattr(ring_steps.audit_log, "record", read_only)
        require_keys()

    assert rows() == []
    require_keys()
    assert rows() == of_both(broken_off)


def test_a_file_without_steps_leaves_no_row(key_change: KeyChange) -> None:
    key_change.promote_and_restart()
    rewrite(key_change.path, steps=None, about=None)
    keyring.ring.cache_clear()

    require_keys()

    assert "Nothing to add" in keyring_command("add-purpose")
    assert rows() == []


def test_steps_of_another_installations_file_are_not_ours(
    key_change: KeyChange, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    keyring.create(other, step=steps.new("key_ring.made", "ins_other"))

    added = keyring_command("--file", other, "add").split()[1].rstrip(".")

    assert rows() == [("key_added", added)]


@pytest.fixture
def _a_new_host(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.KEYRING_FILE, settings.KEK_FILE = tmp_path / "keyring", tmp_path / "kek"
    keyring.ring.cache_clear()
    yield
    keyring.ring.cache_clear()


@pytest.mark.usefixtures("_a_new_host")
def test_a_first_ring_has_its_row_from_the_first_start_on(settings: Any) -> None:
    call_command("create_keyring", stdout=io.StringIO())

    require_keys()

    installation = content_of(settings.KEYRING_FILE)["installation"]
    assert rows() == [("made", installation)]
    assert {row.actor for row in AuditEntry.objects.filter(action="key_ring.made")} == {"command"}


def test_a_key_of_a_later_purpose_has_its_row(key_change: KeyChange) -> None:
    without_purposes(key_change.path, "session")
    key_change.restart()

    keyring_command("add-purpose")

    assert rows() == [("key_added", "session")]


def test_the_database_going_away_at_the_end_costs_no_row(
    key_change: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def dies_at_its_commit(**_: object) -> Iterator[None]:
        with transaction.atomic():
            yield
            raise OperationalError("the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(ring_steps, "transaction", SimpleNamespace(atomic=dies_at_its_commit))
        with pytest.raises(CommandError, match="the next step of `manage.py keyring`, writes it"):
            keyring_command("promote", key_change.new)

    assert rows() == []
    keyring_command("add-purpose")
    assert rows() == [("key_promoted", key_change.new)]


def test_two_that_look_at_once_write_each_row_once(
    broken_off: KeyChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, missing = steps.of(content_of(broken_off.path)), ring_steps.missing

    def met(steps_of_the_file: tuple[Step, ...]) -> list[Step]:
        lacking = missing(steps_of_the_file)
        wait_for_the_others()
        return lacking

    monkeypatch.setattr(ring_steps, "missing", met)
    together([lambda: ring_steps.write_missing(broken_off.path, known)] * 3)

    assert rows() == of_both(broken_off)
