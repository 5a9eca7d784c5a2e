"""Scenes that are played at each door: the sandbox's, the old bank's of the tests, and NestPay's.

`@pytest.mark.both_banks` on a test that uses `bank` makes three of it. Those at the other doors are
proofs of the part `doors`: CI plays two of a file (`tests.stage.left_out`), `./dev prove` all.
`at_the_sandbox("why")` keeps a test of such a module there, `not_at_nestpay("why")` from one door.
Tests with processes of their own (`installation`) are not played at NestPay's either.
"""

import pytest

SANDBOX, OLD, NESTPAY = "sandbox", "oldbank", "nestpay"
MARK, ONLY_SANDBOX, NOT_AT_NESTPAY = "both_banks", "at_the_sandbox", "not_at_nestpay"


def make_both(metafunc: pytest.Metafunc) -> None:
    """Make a test for each door of one that is marked."""
    marks = metafunc.definition.get_closest_marker
    if "door" in metafunc.fixturenames and marks(MARK) and not marks(ONLY_SANDBOX):
        proof = pytest.mark.proof(part="doors")
        # Real processes know the other two doors alone.
        is_left_out = marks(NOT_AT_NESTPAY) or "installation" in metafunc.fixturenames
        doors = (OLD,) if is_left_out else (OLD, NESTPAY)
        others = [pytest.param(door, marks=proof) for door in doors]
        metafunc.parametrize("door", [SANDBOX, *others], indirect=True)


def is_second(item: pytest.Item) -> bool:
    """Tell whether a test is one at another door than the sandbox's, of those made of one."""
    drawn = getattr(item, "callspec", None)
    is_other = drawn is not None and drawn.params.get("door") in (OLD, NESTPAY)
    return is_other and item.get_closest_marker(MARK) is not None
