"""One terminal for several processes: whole lines, each with its process's name."""

import os
import signal
import sys
import threading
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

    def copy() -> None:
        with whole.open("w", buffering=1) as file:
            for line in lines:
                file.write(line)
                show(line)

    def show(line: str) -> None:
        if (shown := readable(line.rstrip("\n"))) is not None:
            for each in shown.split("\n"):
                say(name, each)

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread
