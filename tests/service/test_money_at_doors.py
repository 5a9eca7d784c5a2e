"""Refunds at each door to a bank, whatever it does: all books agree to the kuruş in the end."""

from collections import Counter
from collections.abc import Callable, Collection

import pytest
from hypothesis import Phase

from acquirers import standings
from acquirers.conversation import schedule
from acquirers.gateway import SoughtRefund
from acquirers.outcomes import BankOperation
from tests.stage.door_machine import Doors
from tests.stage.door_world import doors
from tests.stage.drawn_steps import draw_until
from tests.stage.lengths import SEED, length, tried
from tests.stage.oldbank.process import OldBank

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.timeout(3600),
    pytest.mark.proof(part="money"),
]
MOST_DRAWS, EXAMPLES = 10, 12


NAMELESS = ("NestPay", "old bank without names")


def run(
    old_bank: OldBank,
    examples: int,
    *phases: Phase,
    draws: object = SEED,
    only: Collection[str] = (),
) -> int:
    """Run the machine, until each door was met; return how many examples there were.

    :param only: the names of the doors that are drawn; by default all.
    """
    Doors.fired = Counter()
    known = {name: one for name, one in doors(old_bank).items() if not only or name in only}
    machine = type("AtDoors", (Doors,), {"doors": known})

    def lacking() -> list[str]:
        return [name for name in known if not Doors.fired[f"door: {name}"]]

    drawn = draw_until(lacking, machine, examples, *phases, steps=14, draws=draws)
    print(f"{drawn} examples: {dict(sorted(Doors.fired.items()))}")  # noqa: T201
    return drawn


@pytest.mark.dear("merchants at five doors, each with faults and days in up to 14 steps")
def test_all_books_agree_at_every_door(old_bank: OldBank) -> None:
    examples = run(old_bank, length(short=6, full=300), Phase.generate)

    tried(examples, "merchants whose money goes back at a drawn door")


def sent_again_after_silence(patch: pytest.MonkeyPatch) -> None:
    """Believe the first "no record" at once, so that a refund leaves a second time."""
    patch.setattr(schedule, "NO_RECORDS_NEEDED", 0)


def a_line_of_anothers(patch: pytest.MonkeyPatch) -> None:
    """Take any line of the amount for the refund's own, whosever number it has."""

    def later(lines: list[BankOperation], sought: SoughtRefund) -> list[BankOperation]:
        return [one for one in lines if one.amount == sought.amount]

    patch.setattr(standings, "_later", later)


FOUND = (AssertionError,)


@pytest.mark.planted
@pytest.mark.dear("merchants at five doors, until one of them misses some money")
@pytest.mark.parametrize("plant", [sent_again_after_silence, a_line_of_anothers])
def test_the_machine_finds_a_planted_fault(
    plant: Callable[[pytest.MonkeyPatch], None], old_bank: OldBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)

    for number in range(SEED, SEED + MOST_DRAWS):
        try:
            run(old_bank, EXAMPLES, Phase.generate, draws=f"{number} planted", only=NAMELESS)
        except FOUND as found:
            said = (str(found).splitlines() or [""])[0]
            print(f"{plant.__name__}: draw {number}: {said[:300]}")  # noqa: T201
            return
    pytest.fail(f"{MOST_DRAWS} draws of {EXAMPLES} examples did not find it")
