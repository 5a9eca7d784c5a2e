"""Scenes that are played at both banks: the sandbox's, and the old one of the tests.

`@pytest.mark.both_banks` on a test that uses `bank` makes two of it. The one at the old bank is a
proof of the part `doors`: CI plays two of a file (`tests.stage.left_out`), `./dev prove` all.
`at_the_sandbox("why")` keeps a test of such a module there.
"""

import pytest

SANDBOX, OLD, NESTPAY = "sandbox", "oldbank", "nestpay"
MARK, ONLY_SANDBOX = "both_banks", "at_the_sandbox"


def make_both(metafunc: pytest.Metafunc) -> None:
    """Make two tests of one that is marked."""
    marks = metafunc.definition.get_closest_marker
    if "door" in metafunc.fixturenames and marks(MARK) and not marks(ONLY_SANDBOX):
        proof = pytest.mark.proof(part="doors")
        others = [pytest.param(door, marks=proof) for door in (OLD, NESTPAY)]
        metafunc.parametrize("door", [SANDBOX, *others], indirect=True)


def is_second(item: pytest.Item) -> bool:
    """Tell whether a test is the one at the old bank, of two that were made of one."""
    drawn = getattr(item, "callspec", None)
    is_old = drawn is not None and drawn.params.get("door") == OLD
    return is_old and item.get_closest_marker(MARK) is not None
