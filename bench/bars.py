"""Figures with bars: what was measured, what it is held against, and whether it holds."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Figures = dict[str, float]

HEADING = "{cores} cores, load {load_before:.1f} before"
TITLE_WIDTH, WIDTH = 44, 11


class Bar(NamedTuple):
    """The bounds of one figure: at most `most`, at least `least`; with neither it is only shown.

    :param figure: the figure's name among those that were measured.
    """

    title: str
    figure: str
    most: float | None = None
    least: float | None = None

    def holds(self, figures: Figures) -> bool | None:
        """Return whether it holds; None for a figure without a bar."""
        value = figures[self.figure]
        if self.most is not None:
            return value <= self.most
        return None if self.least is None else value >= self.least

    def __str__(self) -> str:
        if self.most is not None:
            return f"<= {self.most:g}"
        return "" if self.least is None else f">= {self.least:g}"


def verdicts(bars: Iterable[Bar], figures: Figures) -> dict[str, bool]:
    """Return whether each bar holds, by its figure."""
    held = {bar.figure: bar.holds(figures) for bar in bars if bar.figure in figures}
    return {figure: holds for figure, holds in held.items() if holds is not None}


def missed(bars: Iterable[Bar], figures: Figures) -> list[str]:
    """Return the figures that are beyond their bars."""
    return [figure for figure, holds in verdicts(bars, figures).items() if not holds]


def table(bars: Sequence[Bar], figures: Figures, *, last: str) -> str:
    """Return what was measured and a last line; parts that were left out are not in it."""
    lines = [
        HEADING.format(**figures),
        "",
        f"{'':<{TITLE_WIDTH}}{'measured':>{WIDTH}}{'bar':>{WIDTH}}  holds",
        *(_line(bar, figures) for bar in bars if bar.figure in figures),
        "",
        last,
    ]
    return "\n" + "\n".join(line.rstrip() for line in lines) + "\n"


def _line(bar: Bar, figures: Figures) -> str:
    value = figures[bar.figure]
    shown = f"{value:.0f}" if isinstance(value, int) or value >= 100 else f"{value:.2f}"
    verdict = {True: "yes", False: "NO", None: ""}[bar.holds(figures)]
    return f"{bar.title:<{TITLE_WIDTH}}{shown:>{WIDTH}}{str(bar):>{WIDTH}}  {verdict}"
