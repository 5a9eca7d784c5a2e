"""Functions in which a process dies: as by `kill -9`, at a boundary that a file names.

`KILL_ONCE` names the file that may hold the name of a boundary: the process that comes there
removes it and dies, whatever else it was doing.
"""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

# How long the bank of these tests works on an order.
BANK_WORKS_SECONDS = 0.6


def deadly(
    function: Callable[..., Any], boundary: str, *, then: str | None = None
) -> Callable[..., Any]:
    """Return the function with a boundary before it, or in it if the bank works there.

    :param then: the boundary behind it, if there is one.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        if _is_deadly(boundary):
            if "while_the_bank_works" in boundary:
                dying = threading.Timer(BANK_WORKS_SECONDS / 2, _die)
                dying.start()
                try:
                    return function(*arguments, **options)
                finally:
                    dying.join()  # A bank that was quicker than that changes nothing.
            else:
                _die()
        done = function(*arguments, **options)
        if then and _is_deadly(then):
            _die()
        return done

    return call


def _is_deadly(boundary: str) -> bool:
    try:
        return Path(os.environ["KILL_ONCE"]).read_text() == boundary
    except FileNotFoundError:
        return False  # Somebody died already.


def _die() -> None:
    try:
        Path(os.environ["KILL_ONCE"]).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
