"""The cases of a table that a run plays (loaded by `-p` in pyproject.toml).

In the gate a test function that touches the database plays two of its cases: its first, and the
one that is marked as the hardest, else its last. A walk in a browser that has two cases plays one:
languages, widths and scripts take turns from walk to walk, by the walks' names. A function that
touches no database plays all, and so does one that is marked `every_case("why")`: tables of what
must never go wrong.
`--all-cases`, a test that is named by its id, and `./dev prove cases` play all of them.
"""

from collections import defaultdict
from typing import Any
from zlib import crc32

import pytest

from tests.stage.lengths import IS_FULL, tried

# A proof has lengths of its own (tests.stage.lengths).
WHOLE_MARKS = ("every_case", "proof")
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup", "own_servers"}
# The figure that workers hand to the process which gives them tests.
LEFT_OUT = "cases_left_out"

_left_out = pytest.StashKey[dict[str, int]]()
_played = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-cases", action="store_true", help="play all cases of all tables")
    parser.addoption(
        "--cut-tables", action="store_true", help="play all cases of the tables that are cut"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_left_out] = {}
    config.stash[_played] = 0
    for mark in (
        "every_case(why): a table whose cases are all played in the gate",
        "hardest: the case that the gate plays beside the first of its table",
    ):
        config.addinivalue_line("markers", mark)


@pytest.hookimpl(trylast=True)  # Only tests that were asked for with -k and -m are counted.
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tables: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not _is_whole(item):
            tables[function_of(item.nodeid)].append(item)
    cut = {function: set(cases) - _played_of(cases) for function, cases in tables.items()}
    cut = {function: cases for function, cases in cut.items() if cases}
    if config.getoption("cut_tables"):
        dropped = {item for item in items if function_of(item.nodeid) not in cut}
    elif config.getoption("all_cases") or IS_FULL:
        return
    else:
        dropped = set().union(*cut.values())
        config.stash[_left_out] = {function: len(cases) for function, cases in cut.items()}
    config.hook.pytest_deselected(items=[item for item in items if item in dropped])
    items[:] = [item for item in items if item not in dropped]


def function_of(nodeid: str) -> str:
    return nodeid.partition("[")[0]


def _played_of(cases: list[pytest.Item]) -> set[pytest.Item]:
    if len(cases) == 2 and cases[0].get_closest_marker("browser"):
        return {cases[crc32(function_of(cases[0].nodeid).encode()) % 2]}
    marked = [case for case in cases if case.get_closest_marker("hardest")]
    return {cases[0], *(marked or cases[-1:])}


def _is_whole(item: pytest.Item) -> bool:
    """Tell whether all cases of an item's function are played in each run."""
    fixtures = DATABASE_FIXTURES & set(getattr(item, "fixturenames", ()))
    touches = fixtures or item.get_closest_marker("django_db")
    is_named = any("::" in asked and item.nodeid.startswith(asked) for asked in item.config.args)
    return not touches or is_named or any(map(item.get_closest_marker, WHOLE_MARKS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    function = function_of(item.nodeid)
    if report.when == "call":
        item.config.stash[_played] += 1
    if report.failed and (count := item.config.stash[_left_out].get(function)):
        command = f"./dev test -m '' {function}"
        report.sections.append((f"{count} more cases of this table", command))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if config.getoption("cut_tables") and (count := config.stash[_played]):
        tried(count, "cases")
    if (output := getattr(config, "workeroutput", None)) is not None:
        output[LEFT_OUT] = config.stash[_left_out]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # Every worker collects the same tests.
    node.config.stash[_left_out] = getattr(node, "workeroutput", {}).get(LEFT_OUT, {})


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if counts := config.stash[_left_out]:
        terminalreporter.line(
            f"{sum(counts.values()):,} cases of {len(counts)} tables were left out:"
            " --all-cases plays them, and ./dev prove cases"
        )
