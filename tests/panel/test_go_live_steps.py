"""The documentation's page about going live has the steps of the panel's list, in its order."""

import re

from django.utils import translation

from devstack.state import ROOT
from panel.merchants.setting_up import WORDS

PAGE = (ROOT / "docs/how-to/go-live.md").read_text()
STEP = re.compile(r"^\d\. \*\*(.+?)\.\*\* The panel ticks it when ", re.MULTILINE)


def differing(page: str) -> list[str]:
    """Return the steps that only one of the two lists has, or both in another order."""
    with translation.override("en"):
        ours = [str(title) for title, _text in WORDS.values()]
    told = STEP.findall(page)
    return [] if told == ours else [*told, *ours]


def test_the_page_about_going_live_has_the_steps_of_the_panel() -> None:
    assert differing(PAGE) == []
    assert len(STEP.findall(PAGE)) == len(WORDS) >= 6


def test_a_step_that_is_missing_or_in_another_place_is_found() -> None:
    first, second, *_others = STEP.findall(PAGE)

    assert differing(PAGE.replace(f"**{first}.**", "A step.")) != []
    assert differing(PAGE.replace(first, "x").replace(second, first).replace("x", second)) != []
