"""Changes of module while a row is pursued: how often a reader has to open another file."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

HOUSE = Path(__file__).parents[2]
# Core is the ground that all stand on; the vault and the test bank are ends of the way.
LEFT_OUT = {"core", "vault", "testbank", "tests", "config", ".venv"}


def changes_of_module(act: Callable[[], Any]) -> list[tuple[str, str]]:
    """Return each call from one module of the house into another, from `pursue` to its end."""
    found: list[tuple[str, str]] = []
    outermost: list[FrameType] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            if not outermost and frame.f_code.co_name == "pursue":
                outermost.append(frame)
            elif outermost and (called := _module(frame)):
                caller = _nearest(frame.f_back)
                if caller not in (called, None):
                    found.append((str(caller), called))
        elif event == "return" and outermost and frame is outermost[0]:
            outermost.clear()

    sys.setprofile(watch)
    try:
        act()
    finally:
        sys.setprofile(None)
    return found


def _nearest(frame: FrameType | None) -> str | None:
    while frame is not None:
        if module := _module(frame):
            return module
        frame = frame.f_back
    return None


def _module(frame: FrameType) -> str | None:
    """Return the module of a frame; None for the libraries' and for what is left out."""
    path = Path(frame.f_code.co_filename)
    if not path.is_relative_to(HOUSE):
        return None
    parts = path.relative_to(HOUSE).parts
    return None if parts[0] in LEFT_OUT else "/".join(parts)
