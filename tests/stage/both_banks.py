"""Scenes that are played at each door: the sandbox's and those of real banks.

`@pytest.mark.both_banks` on a test that uses `bank` makes one more of it for each other door. Those
are proofs of the part `doors`: CI plays some of a file (`tests.stage.left_out`), `./dev prove` all.
`at_the_sandbox("why")` keeps a test of such a module there, `not_at_real_doors("why")` from the
doors of NestPay and of Garanti, `not_at_garanti("why")` from Garanti's alone. Refunds are played at
the old bank of the tests too (`at_the_old_bank`): it is not idempotent, and refunds have names
there, which no real door has yet.
"""

import pytest

SANDBOX, OLD, NESTPAY, GARANTI = "sandbox", "oldbank", "nestpay", "garanti"
REAL = (NESTPAY, GARANTI)
MARK, ONLY_SANDBOX, NOT_AT_REAL_DOORS = "both_banks", "at_the_sandbox", "not_at_real_doors"
NOT_AT_GARANTI, AT_OLD = "not_at_garanti", "at_the_old_bank"


def make_both(metafunc: pytest.Metafunc) -> None:
    """Make a test for each door of one that is marked."""
    marks = metafunc.definition.get_closest_marker
    if "door" in metafunc.fixturenames and marks(MARK) and not marks(ONLY_SANDBOX):
        proof = pytest.mark.proof(part="doors")
        real = (NESTPAY,) if marks(NOT_AT_GARANTI) else REAL
        doors = () if marks(NOT_AT_REAL_DOORS) else real
        old = (OLD,) if marks(AT_OLD) else ()
        others = [pytest.param(door, marks=proof) for door in (*old, *doors)]
        metafunc.parametrize("door", [SANDBOX, *others], indirect=True)


def other_door(item: pytest.Item) -> str | None:
    """Return the door of a test that is one of those made of one; None at the sandbox's."""
    drawn = getattr(item, "callspec", None)
    door = drawn.params.get("door") if drawn is not None else None
    is_made = door in (OLD, *REAL) and item.get_closest_marker(MARK) is not None
    return door if is_made else None
