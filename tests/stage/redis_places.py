"""Places where Redis may or may not be."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
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


class Tls(NamedTuple):
    """A Redis that speaks TLS alone, as Debian's does; the embedded Valkey cannot.

    :param chain: the file with its certificate and key.
    :param trusted: the file with the authority that clients and servers trust.
    """

    program: str
    chain: Path
    trusted: Path

    def listening(self, port: int) -> dict[str, str]:
        """Return the settings of a server, or of a Sentinel."""
        return {
            "port": "0", "tls-port": str(port), "tls-cert-file": str(self.chain),
            "tls-key-file": str(self.chain), "tls-ca-cert-file": str(self.trusted),
            "tls-auth-clients": "no", "tls-replication": "yes",
        }  # fmt: skip

    @property
    def of_clients(self) -> dict[str, Any]:
        return {"ssl": True, "ssl_ca_certs": str(self.trusted)}


class OwnRedis:
    """A Valkey of the test's own, to be paused, killed and started again at its address.

    :param more: words of its command.
    """

    def __init__(self, directory: Path, *more: str, tls: Tls | None = None) -> None:
        self._directory, self.port, self._more = directory, free_port(), more
        self._tls = tls
        self.url = f"redis://127.0.0.1:{self.port}/1"
        self.start()

    def start(self) -> None:
        command = [*_program(self._tls), "--bind", "127.0.0.1"]
        for name, value in _listening(self.port, self._tls).items():
            command += [f"--{name}", value]
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


def _program(tls: Tls | None) -> list[str | Path]:
    return [tls.program if tls else binaries.valkey_server()]


def _listening(port: int, tls: Tls | None) -> dict[str, str]:
    return tls.listening(port) if tls else {"port": str(port)}


class WatchedRedis:
    """A Valkey and its replica, watched by three Sentinels.

    :param tls: between all of them, and to clients.
    """

    NAME = "pay"

    def __init__(self, directory: Path, tls: Tls | None = None) -> None:
        self.of_clients = tls.of_clients if tls else {}
        self.leading = OwnRedis(directory, tls=tls)
        self.following = OwnRedis(
            directory, "--replicaof", "127.0.0.1", str(self.leading.port),
            "--repl-diskless-load", "on-empty-db", tls=tls,
        )  # fmt: skip
        self._sentinels = [
            _Sentinel(directory, self.NAME, self.leading.port, tls) for _ in range(3)
        ]
        places = ",".join(f"127.0.0.1:{one.port}" for one in self._sentinels)
        self.url = f"redis+sentinel://{places}/{self.NAME}/1"
        if tls:
            self.url = f"rediss+sentinel://{places}/{self.NAME}/1?ssl_ca_certs={tls.trusted}"
        self._await_all_known()

    def kill_sentinel(self) -> None:
        """Kill the first of them; two are enough to choose."""
        self._sentinels[0].kill()

    def fail_over(self) -> None:
        """Let the Sentinels choose the other server, as an operator does."""
        with self._sentinels[-1].client() as sentinel:
            sentinel.execute_command("SENTINEL", "FAILOVER", self.NAME)

    def leader(self) -> int:
        """Return the port of the server that leads, as a Sentinel says."""
        with self._sentinels[-1].client() as sentinel:
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
    def __init__(self, directory: Path, name: str, port_of_leader: int, tls: Tls | None) -> None:
        self.port, self._of_clients = free_port(), tls.of_clients if tls else {}
        file = directory / f"sentinel-{self.port}.conf"
        lines = [
            *(" ".join(setting) for setting in _listening(self.port, tls).items()),
            "bind 127.0.0.1", f"dir {directory}",
            f"sentinel monitor {name} 127.0.0.1 {port_of_leader} 2",
            f"sentinel down-after-milliseconds {name} 1000",
            # Two that ask for votes at once get none, and ask again after twice this time.
            f"sentinel failover-timeout {name} 3000",
        ]  # fmt: skip
        file.write_text("\n".join(lines))
        command = [*_program(tls), str(file), "--sentinel"]
        self._process = processes.spawn(command, stdout=subprocess.DEVNULL)

    def client(self) -> Redis:
        return Redis(port=self.port, host="127.0.0.1", **self._of_clients)

    def knows_all(self, name: str) -> bool:
        """Return whether it has found the replica and both others."""
        try:
            with self.client() as client:
                state = client.sentinel_master(name)
        except RedisError:
            return False
        return bool(state["num-slaves"] == 1 and state["num-other-sentinels"] == 2)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
