"""Child processes that never outlive their launcher, not even after `kill -9`."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from devstack.state import ROOT

PR_SET_PDEATHSIG = 1
STOP_PATIENCE_SECONDS = 6

Command = Sequence[str | Path]

# Loaded before any fork: loading a library between fork and exec can hang.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def spawn(
    command: Command, *, dies_by: int = signal.SIGTERM, **options: Any
) -> "subprocess.Popen[Any]":
    """Start a child in a process group of its own, signalled by the kernel when we die.

    Call it from the main thread: the kernel watches the thread that forked.

    :param options: of `subprocess.Popen`; with `text` its files hold text, else bytes.
    """
    launcher = os.getpid()

    def follow_the_launcher() -> None:
        if _libc is None:
            return
        _libc.prctl(PR_SET_PDEATHSIG, dies_by)
        if os.getppid() != launcher:
            os._exit(1)  # It died between the fork and this line.

    return subprocess.Popen(  # noqa: PLW1509
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=follow_the_launcher,
        **options,
    )


def stop(processes: list[subprocess.Popen], *, signal_number: int = signal.SIGTERM) -> None:
    """Ask all to end at once, then kill the groups of those that did not."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal_number)
    deadline = time.monotonic() + STOP_PATIENCE_SECONDS
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        kill_group(process.pid)
        process.wait()


def kill_group(group: int) -> None:
    # No such group: nobody is left in it.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


class Leash:
    """A small process that kills the children's groups when the launcher is gone.

    The kernel's signal reaches direct children only; a pool worker whose parent was
    killed while it was busy would stay. The leash also holds `lock` until the last of
    them is gone, so that the next launcher does not meet their sockets.
    """

    def __init__(self, lock: IO[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(ROOT / "devstack" / "leash.py")],
            stdin=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[lock.fileno()],
        )

    def hold(self, process: subprocess.Popen) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{process.pid}\n".encode())
        self._process.stdin.flush()

    def release(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
