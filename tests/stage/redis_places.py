"""Places where Redis may or may not be."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from django.test import override_settings

from core import redis, redis_connections
from devstack import binaries, processes

START_PATIENCE_SECONDS = 60


@contextmanager
def patient_budget() -> Iterator[None]:
    """Give a command at Redis 10 s: a test that Redis is there for must not find it away."""
    with patch.object(redis_connections, "BUDGET_SECONDS", 10.0):
        yield


@contextmanager
def redis_at(url: str) -> Iterator[None]:
    """Let the service look for Redis elsewhere, with its own time budget, within the block."""
    own_budget = patch.object(redis_connections, "BUDGET_SECONDS", redis.BUDGET_SECONDS)
    with own_budget, override_settings(REDIS_URL=url):
        _forget()
        try:
            yield
        finally:
            redis.client().close()
            _forget()


def _forget() -> None:
    redis.client.cache_clear()
    redis.circuit.cache_clear()


@contextmanager
def listener(backlog: int = 50) -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=backlog) as server:
        yield server.getsockname()[1]


@contextmanager
def swallower() -> Iterator[int]:
    """A port that does not even accept, as behind a firewall that drops packets."""
    with listener(backlog=0) as port:
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield port
        for one in waiting:
            one.close()


def free_port() -> int:
    with listener() as port:
        return port


class OwnRedis:
    """A Valkey of the test's own, to be paused, killed and started again at its address."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._port = directory, free_port()
        self.url = f"redis://127.0.0.1:{self._port}/1"
        self.start()

    def start(self) -> None:
        command = [binaries.valkey_server(), "--port", str(self._port), "--bind", "127.0.0.1"]
        command += ["--dir", self._directory, "--save", "", "--appendonly", "no"]
        self._process = processes.spawn(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START_PATIENCE_SECONDS
        with socket.socket() as probe:
            while probe.connect_ex(("127.0.0.1", self._port)):
                assert time.monotonic() < deadline, "Valkey did not start"
                time.sleep(0.005)

    def pause(self) -> None:
        """Go on accepting connections, by the kernel, and answer nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
