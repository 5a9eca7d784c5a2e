"""One terminal for several processes: whole lines, each with its process's name."""

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from devstack.lines import readable

_one_at_a_time = threading.Lock()


def say(name: str, line: str) -> None:
    write(f"{name:<8}| {line}\n")


def write(text: str) -> None:
    """Write to the terminal; when it is gone (`./dev up | head`), ask the launcher to end."""
    with _one_at_a_time:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # Not raised: the pumps go on, because a full pipe would block their children.
            os.kill(os.getpid(), signal.SIGTERM)


def pump(name: str, lines: IO[str], whole: Path) -> threading.Thread:
    """Print what a developer reads of a child's output until it ends; return the thread.

    :param whole: the file that gets every line, as the child wrote it.
    """

    file = whole.open("wb", buffering=0)

    def copy() -> None:
        with file:
            for line in lines:
                # On a full disk the terminal goes on: a full pipe would block the child.
                with suppress(OSError):
                    file.write(line.encode())
                show(line)

    def show(line: str) -> None:
        if (shown := readable(line.rstrip("\n"))) is not None:
            for each in shown.split("\n"):
                say(name, each)

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread
