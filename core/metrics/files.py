"""Files in which several processes count, and which outlive none of them for long.

Each process takes the first free number of its directory, and counts in the files of that number.
The kernel frees a number when its process ends, however it ends; the next process takes it and
goes on from the counts it finds. So counts never fall, and there are no more files than processes.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.values import MultiProcessValue

PREFIX = "pay-metrics-"
OWNER = "owner"
# The library's own name for its directory, which it reads with each new series.
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
# Of each file, on the disk from the beginning: a process that writes to memory that a full disk
# cannot keep would be killed.
FILE_BYTES = 2 * 1024 * 1024
KINDS = ("counter", "histogram", "gauge_livesum")


class Files:
    """The directory of one process and of those that it forks."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._owner = _locked(directory)
        self._number: int | None = None
        self._lock: int | None = None
        os.environ[DIRECTORY] = str(directory)
        os.register_at_fork(after_in_child=self._after_fork)

    def value_class(self) -> Any:
        """Return the library's class of values that are kept in these files."""
        return MultiProcessValue(process_identifier=self.number)

    def number(self) -> int:
        """Return this process's number: no other living process has it."""
        if self._number is None:
            self._take_number()
        return self._number or 0

    def collector(self) -> MultiProcessCollector:
        """Return what adds up the files of all processes."""
        self._bury()
        return MultiProcessCollector(None, path=str(self.directory))

    def remove(self) -> None:
        """Delete the directory; for its owner, after all processes that count there."""
        os.environ.pop(DIRECTORY, None)
        self._after_fork()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _take_number(self) -> None:
        for number in count():
            self._lock = _try_lock(self.directory / f"{number}.lock")
            if self._lock is not None:
                break
        mark_process_dead(number, str(self.directory))
        for kind in KINDS:
            _reserve(self.directory / f"{kind}_{number}.db")
        self._number = number

    def _after_fork(self) -> None:
        # The parent's lock stays with the parent.
        if self._lock is not None:
            os.close(self._lock)
        self._number = self._lock = None

    def _bury(self) -> None:
        """Delete the gauges of processes that have ended; their counts stay."""
        for path in self.directory.glob("*.lock"):
            lock = _try_lock(path)
            if lock is not None:
                mark_process_dead(int(path.stem), str(self.directory))
                os.close(lock)


def new(kind: str) -> Files:
    """Make a directory for a kind of process; delete those whose processes have all ended."""
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{PREFIX}*"):
        _remove_if_left(left)
    return Files(Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=place)))


def _remove_if_left(directory: Path) -> None:
    with suppress(OSError):
        owner = os.open(directory / OWNER, os.O_RDWR)
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory)
        finally:
            os.close(owner)


def _locked(directory: Path) -> int:
    """Lock the directory for as long as this process, or one that it forked, lives."""
    path = directory / f"{OWNER}.new"
    owner = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(owner, fcntl.LOCK_EX)
    path.rename(directory / OWNER)  # It has its name only once it is locked.
    return owner


def _try_lock(path: Path) -> int | None:
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _reserve(path: Path) -> None:
    """Give a new file its place on the disk.

    :raises OSError: the disk is full.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(file).st_size < FILE_BYTES:
            os.posix_fallocate(file, 0, FILE_BYTES)
    finally:
        os.close(file)
