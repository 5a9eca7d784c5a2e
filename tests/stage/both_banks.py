"""Scenes that are played at both banks: the sandbox's, and the old one of the tests.

`@pytest.mark.both_banks` on a test that uses `bank` makes two of it. The one at the old bank is a
proof of the part `doors`: CI runs it at the short length, `./dev prove` always.
`both_banks(one=True)` is for races, crashes and rotations: at the short length, one of each test
function is played at the old bank. `at_the_sandbox("why")` keeps a test of such a module there.
"""

import pytest

from tests.stage.lengths import IS_FULL

SANDBOX, OLD = "sandbox", "oldbank"
MARK, ONLY_SANDBOX = "both_banks", "at_the_sandbox"


def make_both(metafunc: pytest.Metafunc) -> None:
    """Make two tests of one that is marked."""
    marks = metafunc.definition.get_closest_marker
    if "door" in metafunc.fixturenames and marks(MARK) and not marks(ONLY_SANDBOX):
        second = pytest.param(OLD, marks=pytest.mark.proof(part="doors"))
        metafunc.parametrize("door", [SANDBOX, second], indirect=True)


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """At the short length, keep one test of each function whose mark says so."""
    if IS_FULL:
        return
    kept: set[str] = set()
    left_out = []
    for item in items:
        if not _is_one_of_many(item):
            continue
        place = item.nodeid.partition("[")[0]
        if place in kept:
            left_out.append(item)
        kept.add(place)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _is_one_of_many(item: pytest.Item) -> bool:
    mark = item.get_closest_marker(MARK)
    drawn = getattr(item, "callspec", None)
    is_second = drawn is not None and drawn.params.get("door") == OLD
    return bool(is_second and mark and mark.kwargs.get("one"))
