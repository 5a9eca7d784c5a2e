"""A search for keys of the ring in clear: in memory, in environments, and on the disk."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import psutil
from django.db import connection

from core import redis
from core.keyring.file import content_of

CHUNK = 16 * 1024 * 1024
# More than any form of a key, so that none is cut between two chunks.
OVERLAP = 128


class Sweep:
    """The forms of a ring's keys, and how much was searched for them.

    :ivar bytes_read: of all searches together.
    """

    def __init__(self, keyring_file: Path) -> None:
        content = content_of(keyring_file)
        keys = {**content["encryption"], **content["mac"], "cvc": content["cvc"]}
        self.needles = {
            form: name for name, text in keys.items() for form in _forms(base64.b64decode(text))
        }
        self.bytes_read = 0
        self._shared: set[str] = set()

    def of_file(self, path: Path) -> set[str]:
        """Return the names of keys that a file has in clear; one that is gone has none."""
        try:
            with path.open("rb") as file:
                return self._of(iter(lambda: file.read(CHUNK), b""))
        except FileNotFoundError:
            return set()

    def of_directory(self, directory: Path) -> set[str]:
        files = [path for path in directory.rglob("*") if path.is_file()]
        return set().union(*map(self.of_file, files))

    def of_process(self, pid: int) -> set[str]:
        """Return the names of keys in a process's memory and environment.

        Memory that processes share is searched once.
        """
        try:
            return self._of(_memory(pid, self._shared)) | self.of_file(Path(f"/proc/{pid}/environ"))
        except (FileNotFoundError, ProcessLookupError):
            return set()  # It has ended.

    def _of(self, chunks: Iterator[bytes]) -> set[str]:
        found, tail = set(), b""
        for chunk in chunks:
            self.bytes_read += len(chunk)
            text = tail + chunk
            found |= {name for form, name in self.needles.items() if form in text}
            tail = chunk[-OVERLAP:]
        return found


def _forms(key: bytes) -> tuple[bytes, ...]:
    return key, base64.b64encode(key).rstrip(b"="), key.hex().encode()


def _memory(pid: int, shared: set[str]) -> Iterator[bytes]:
    """Yield what a process can write to: no code, and no file that it has mapped to read."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in maps:
            place, rights, _offset, _device, inode = line.split()[:5]
            if rights.endswith("s"):
                if inode in shared:
                    continue
                shared.add(inode)
            first, last = (int(end, 16) for end in place.split("-"))
            for at in range(first, last, CHUNK) if rights.startswith("rw") else ():
                try:
                    memory.seek(at)
                    yield memory.read(min(CHUNK, last - at))
                except OSError:
                    break  # Of a device, or given back meanwhile.


# --- Where no key belongs ---------------------------------------------------------------------


def servers() -> dict[str, list[int]]:
    """Return the processes of PostgreSQL and Redis, by name."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        postmaster = psutil.Process(cursor.fetchone()[0]).ppid()
    of_redis = redis.call(lambda client: client.info("server")["process_id"])
    family = [postmaster, *(one.pid for one in psutil.Process(postmaster).children())]
    return {"PostgreSQL": family, "Redis": [int(of_redis)]}


def disks(*more: Path) -> list[Path]:
    """Return the directories that the servers of this test write to."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
        number = cursor.fetchone()[0]
    [postmaster, *_others] = servers()["PostgreSQL"]
    data = Path(os.readlink(f"/proc/{postmaster}/cwd"))
    of_redis = redis.call(lambda client: client.config_get("dir")["dir"])
    return [data / "base" / str(number), data / "pg_wal", data / "log", Path(of_redis), *more]
