"""One terminal for several processes: whole lines, each with its process's name."""

import sys
import threading
from contextlib import suppress
from typing import IO

_one_at_a_time = threading.Lock()


def say(name: str, line: str) -> None:
    write(f"{name:<8}| {line}\n")


def write(text: str) -> None:
    # A closed terminal or pipe must not stop the pumps: their children would block.
    with _one_at_a_time, suppress(BrokenPipeError):
        sys.stdout.write(text)
        sys.stdout.flush()


def pump(name: str, lines: IO[str]) -> threading.Thread:
    """Print a child's output until it ends; return the thread that does."""

    def copy() -> None:
        for line in lines:
            say(name, line.rstrip("\n"))

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread
