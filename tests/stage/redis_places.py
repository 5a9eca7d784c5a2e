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
from redis import Redis, RedisError

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
    """A Valkey of the test's own, to be paused, killed and started again at its address.

    :param more: words of its command.
    """

    def __init__(self, directory: Path, *more: str) -> None:
        self._directory, self.port, self._more = directory, free_port(), more
        self.url = f"redis://127.0.0.1:{self.port}/1"
        self.start()

    def start(self) -> None:
        command = [binaries.valkey_server(), "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--dir", self._directory, "--save", "", "--appendonly", "no", *self._more]
        self._process = processes.spawn(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START_PATIENCE_SECONDS
        with socket.socket() as probe:
            while probe.connect_ex(("127.0.0.1", self.port)):
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


class WatchedRedis:
    """A Valkey and its replica, watched by three Sentinels."""

    NAME = "pay"

    def __init__(self, directory: Path) -> None:
        self.leading = OwnRedis(directory)
        self.following = OwnRedis(
            directory, "--replicaof", "127.0.0.1", str(self.leading.port),
            "--repl-diskless-load", "on-empty-db",
        )  # fmt: skip
        self._sentinels = [_Sentinel(directory, self.NAME, self.leading.port) for _ in range(3)]
        places = ",".join(f"127.0.0.1:{one.port}" for one in self._sentinels)
        self.url = f"redis+sentinel://{places}/{self.NAME}/1"
        self._await_all_known()

    def kill_sentinel(self) -> None:
        """Kill the first of them; two are enough to choose."""
        self._sentinels[0].kill()

    def fail_over(self) -> None:
        """Let the Sentinels choose the other server, as an operator does."""
        with Redis(port=self._sentinels[-1].port) as sentinel:
            sentinel.execute_command("SENTINEL", "FAILOVER", self.NAME)

    def leader(self) -> int:
        """Return the port of the server that leads, as a Sentinel says."""
        with Redis(port=self._sentinels[-1].port) as sentinel:
            return int(sentinel.sentinel_master(self.NAME)["port"])

    def end(self) -> None:
        for one in (*self._sentinels, self.leading, self.following):
            one.kill()

    def _await_all_known(self) -> None:
        deadline = time.monotonic() + START_PATIENCE_SECONDS
        while not all(one.knows_all(self.NAME) for one in self._sentinels):
            assert time.monotonic() < deadline, "the Sentinels do not know each other"
            time.sleep(0.05)


class _Sentinel:
    def __init__(self, directory: Path, name: str, port_of_leader: int) -> None:
        self.port = free_port()
        file = directory / f"sentinel-{self.port}.conf"
        lines = [
            f"port {self.port}", "bind 127.0.0.1", f"dir {directory}",
            f"sentinel monitor {name} 127.0.0.1 {port_of_leader} 2",
            f"sentinel down-after-milliseconds {name} 1000",
            f"sentinel failover-timeout {name} 10000",
        ]  # fmt: skip
        file.write_text("\n".join(lines))
        command = [binaries.valkey_server(), str(file), "--sentinel"]
        self._process = processes.spawn(command, stdout=subprocess.DEVNULL)

    def knows_all(self, name: str) -> bool:
        """Return whether it has found the replica and both others."""
        try:
            with Redis(port=self.port) as client:
                state = client.sentinel_master(name)
        except RedisError:
            return False
        return bool(state["num-slaves"] == 1 and state["num-other-sentinels"] == 2)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
