"""A run compared with a stored one (`--against FILE`): CPU times, ratios and counts, no rates.

A rate shows the machine's other work first; these show the service.
"""

import json
from pathlib import Path

from bench.report import Figures
from devstack.state import CannotContinue

# The figures that two runs of different days may be compared by, by parts of their names.
COMPARED = ("cpu_ms", "_to_", "_ratio", "statements", "commits", "rows_", "buffers")
NAME_WIDTH, WIDTH = 36, 11


def stored(file: Path) -> Figures:
    """Return the figures of an earlier run, as `--json` wrote them.

    :raises CannotContinue: the file has none.
    """
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise CannotContinue(f"{file} cannot be read: {type(error).__name__}.") from None
    if not isinstance(found, dict) or not any(map(_is_compared, found)):
        raise CannotContinue(f"{file} has no figures of ./dev bench.")
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def table(before: Figures, now: Figures) -> str:
    """Return what both runs have, and by how much it changed.

    :raises CannotContinue: they have nothing in common.
    """
    shared = [name for name in now if _is_compared(name) and before.get(name)]
    if not shared:
        raise CannotContinue("The stored run measured something else.")
    heading = f"{'':<{NAME_WIDTH}}{'stored':>{WIDTH}}{'now':>{WIDTH}}{'now / stored':>14}"
    lines = [heading, *(_line(name, before[name], now[name]) for name in shared)]
    return "\n".join(["", *lines, ""])


def _is_compared(name: str) -> bool:
    return any(part in name for part in COMPARED) and "clients_cpu" not in name


def _line(name: str, before: float, now: float) -> str:
    shown = name.replace("_", " ")
    return f"{shown:<{NAME_WIDTH}}{before:>{WIDTH}.3g}{now:>{WIDTH}.3g}{now / before:>14.2f}"
