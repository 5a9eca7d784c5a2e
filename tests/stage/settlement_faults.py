"""Faults of settlement to be planted: the ledger's tests and the service's must find them."""

import pytest

from ledger import due_parts


def settle_parts_again(patch: pytest.MonkeyPatch) -> None:
    """Let each run settle all parts that were ever due."""
    _instead(patch, "available_on > coalesce(%(settled_on)s::date, '-infinity')", "amount > 0")


def settle_settlements(patch: pytest.MonkeyPatch) -> None:
    """Let a run take the lines of the run before for parts."""
    _instead(patch, "<> 'settlement'", "<> 'no kind'")


def _instead(patch: pytest.MonkeyPatch, right: str, wrong: str) -> None:
    assert right in due_parts.FIND
    patch.setattr(due_parts, "FIND", due_parts.FIND.replace(right, wrong))
