"""The check of doors finds every write of a status or a due time that passes by its door."""

from pathlib import Path

import pytest

from devstack import doors
from devstack.check import checks

IN_A_DOOR = "def begin(row):\n    row.lease_until = end()\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a checkout with one door, which writes a lease."""
    door = tmp_path / "acquirers" / "conversation" / "leases.py"
    door.parent.mkdir(parents=True)
    door.write_text(IN_A_DOOR)
    (tmp_path / "payments").mkdir()
    return tmp_path


def test_a_write_in_its_door_passes(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert doors.main(tree) == 0

    assert capsys.readouterr().out == "1 writes of statuses and due times read, 0 past a door\n"


@pytest.mark.parametrize(
    "planted",
    [
        "attempt.status = 'succeeded'",
        "attempt.error, attempt.status = None, 'failed'",
        "attempt.due_at = attempt.lease_until = None",
        "Attempt.objects.filter(id=1).update(status='failed')",
        "Attempt.objects.bulk_update(rows, ['due_at'])",
        "intent.attempts.create(lease_until=None)",
        "Attempt(due_at=now)",
        "setattr(attempt, 'lease_until', None)",
        "attempt.inquiry_count += 1; attempt.due_at += wait",
    ],
)
def test_a_write_past_its_door_is_found(
    planted: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "payments" / "refunds.py").write_text(f"{planted}\n")

    assert doors.main(tree) == 1

    assert "payments/refunds.py:1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "harmless",
    [
        "PaymentIntent(status='requires_confirmation')",
        "Attempt.objects.filter(status='failed', lease_until=None)",
        "attempt.error = None",
        "status = attempt.status",
    ],
)
def test_reading_and_making_pass(harmless: str, tree: Path) -> None:
    (tree / "payments" / "refunds.py").write_text(f"{harmless}\n")

    assert doors.main(tree) == 0


def test_reading_nothing_fails(tmp_path: Path) -> None:
    assert doors.main(tmp_path) == 1


def test_it_is_one_of_the_checks(tmp_path: Path) -> None:
    assert "doors" in [check.name for check in checks(tmp_path)]
