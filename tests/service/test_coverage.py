"""The page of coverage names an existing test for every row of the specification."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from django.conf import settings

TESTS = settings.BASE_DIR / "tests"
PAGE = settings.BASE_DIR / "docs" / "contribute" / "coverage.md"
# The rows of the specification, which lies outside of this repository: `section | row`.
SPECIFIED = Path(__file__).with_name("specified.txt")
HEADINGS = ("In the specification", "---")


class Row(NamedTuple):
    section: str
    told: str
    test: str


def rows(page: str) -> Iterator[Row]:
    """Yield the rows of the page's tables."""
    section = ""
    for line in page.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("|") and not line.startswith(tuple(f"| {h}" for h in HEADINGS)):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == 2 and cells[0] != "---":
                yield Row(section, cells[0], cells[1].strip("`"))


@cache
def names(file: Path) -> frozenset[str]:
    if not file.is_file():
        return frozenset()
    tree = ast.walk(ast.parse(file.read_text()))
    return frozenset(node.name for node in tree if isinstance(node, ast.FunctionDef))


def faults(page: str, specified: list[str]) -> list[str]:
    """Return a sentence for each row without a test, and for each that one of them lacks."""
    found = list(rows(page))
    listed = [f"{row.section} | {row.told}" for row in found]
    told = [f"{row}: not on the page" for row in specified if row not in listed]
    told += [f"{row}: not specified" for row in listed if row not in specified]
    told += [f"{row}: twice" for row in set(listed) if listed.count(row) > 1]
    for row in found:
        file, _, test = row.test.partition("::")
        if not test.startswith("test_") or test not in names(TESTS / file):
            told.append(f"{row.told}: there is no {row.test}")
    return told


def test_every_row_of_the_specification_has_a_test_that_exists() -> None:
    specified = SPECIFIED.read_text().splitlines()

    assert faults(PAGE.read_text(), specified) == []
    print(f"{len(specified)} rows compared")  # noqa: T201
    assert len(specified) > 200


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("| id | `service/test_coverage.py::test_of_nothing` |", "there is no"),
        ("| id | `service/test_away.py::test_of_nothing` |", "there is no"),
        ("| id | `service/test_coverage.py::rows` |", "there is no"),
        ("| ids | `service/test_coverage.py::test_a_fault_is_found` |", "not specified"),
        ("", "Event | id: not on the page"),
    ],
    ids=["no test", "no file", "no test's name", "no such row", "a row less"],
)
def test_a_fault_is_found(row: str, told: str) -> None:
    page = f"## Event\n\n| In the specification | Held by |\n|---|---|\n{row}\n"

    found = faults(page, ["Event | id"])

    assert any(told in fault for fault in found)


def test_a_row_that_is_right_passes() -> None:
    row = "| id | `service/test_coverage.py::test_a_fault_is_found` |"

    assert faults(f"## Event\n\n{row}\n", ["Event | id"]) == []
