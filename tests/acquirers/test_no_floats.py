"""Money of adapters is whole numbers and digits: no float comes near it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.state import ROOT

PLACES = (
    *(ROOT / "acquirers/nestpay").glob("*.py"),
    *(ROOT / "acquirers/garanti").glob("*.py"),
    ROOT / "acquirers/messages.py",
    ROOT / "acquirers/wire/xml.py",
)
# Seconds that a bank is waited for, by their names.
SECONDS = {"seconds"}


def floats(text: str) -> Iterator[str]:
    """Yield each place at which a module makes, reads or divides to a float."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg) and node.arg not in SECONDS and _names_float(node.annotation):
            yield f"{node.lineno}: {node.arg}"
        elif isinstance(node, ast.Call) and _names_float(node.func):
            yield f"{node.lineno}: float()"
        elif isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield f"{node.lineno}: {node.value}"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield f"{node.lineno}: /"


def _names_float(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id == "float"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.relative_to(ROOT)))
def test_an_adapter_has_no_float(place: Path) -> None:
    assert list(floats(place.read_text())) == []


@pytest.mark.parametrize(
    "planted", ["float(amount)", "amount * 0.01", "amount / 100", "def a(amount: float): ..."]
)
def test_a_float_that_is_planted_is_found(planted: str) -> None:
    assert len(list(floats(planted))) == 1
