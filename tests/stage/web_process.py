"""A real gunicorn with the service's own configuration, beside the tests' databases."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
from django.db import connections

from devstack.state import ROOT
from tests.stage.warm import Warm

# A hang is ended after this; alone a start takes two seconds.
PATIENCE_SECONDS = 180
# How long the clients of the tests may take to send a request.
READ_SECONDS = 1.0


def environment() -> dict[str, str]:
    """Return this process's environment, with the test databases in the place of the real."""
    names = {"DATABASE_URL": "default", "BANK_DATABASE_URL": "bank"}
    names |= {"OWNER_DATABASE_URL": "default", "OWNER_BANK_DATABASE_URL": "bank"}
    test_databases = {
        name: _renamed(os.environ[name], connections[alias].settings_dict["NAME"])
        for name, alias in names.items()
        if name in os.environ
    }
    return {**os.environ, **test_databases}


def _renamed(url: str, database: str) -> str:
    place, mark, options = url.partition("?")
    return f"{place.rpartition('/')[0]}/{database}{mark}{options}"


class Running:
    """A process of the service; `log` is everything it wrote.

    :param code: the directory of the release that it runs; another than ours loads all by itself.
    """

    def __init__(
        self, log: Path, command: list[str], *, code: Path = ROOT, **settings: str
    ) -> None:
        self._log, own = log, {**environment(), **settings}
        log.write_text("")
        if code == ROOT:
            self._process = Warm("-m", *command, environment=own, files=(log, log))
            return
        with log.open("w") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=code,
                env=own,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def begin_to_stop(self) -> None:
        self._process.terminate()

    def stop(self) -> None:
        self.begin_to_stop()
        self._process.wait(PATIENCE_SECONDS)

    def exit_status(self) -> int:
        """Wait for the process to end by itself, and return its status."""
        return self._process.wait(PATIENCE_SECONDS)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def pid_if_it_runs(self) -> int | None:
        return None if self._process.poll() is not None else self._process.pid

    def workers(self) -> list[psutil.Process]:
        """Return what the process has started."""
        return psutil.Process(self._process.pid).children()

    def kill_workers(self) -> None:
        """Kill what the process has started; whoever waits for their answers gets none."""
        for worker in self.workers():
            worker.kill()

    def wait_for(self, pattern: str) -> str:
        """Return the first group of what the log says sooner or later."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.log)):
            assert self._process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.02)
        return found[1]


class WebProcess(Running):
    """gunicorn on a free port."""

    def __init__(
        self,
        log: Path,
        application: str = "config.wsgi",
        config: str = "config/gunicorn.py",
        *,
        code: Path = ROOT,
        **settings: str,
    ) -> None:
        command = ["gunicorn", "-c", config, application]
        settings = {"WEB_BIND": "127.0.0.1:0", "WEB_WORKERS": "1", **settings}
        super().__init__(log, command, code=code, **settings)
        self.port = int(self.wait_for(r"Listening at: http://127\.0\.0\.1:(\d+)"))
        self.wait_for(r"Booting worker with pid: (\d+)")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)

    def send(self, *parts: bytes, then_close: bool = False) -> "RawAnswer":
        """Write the bytes as they are and read until the server closes or the answer is whole."""
        with self.connect() as wire:
            for part in parts:
                wire.sendall(part)
            if then_close:
                wire.shutdown(socket.SHUT_WR)
            return RawAnswer.read(wire)

    def is_alive(self) -> bool:
        return self.send(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").status == 200


def request(web: WebProcess, *headers: bytes, method: bytes = b"POST") -> bytes:
    """Return a request's head, with Acme's key."""
    lines = [
        method + b" /v1/customers HTTP/1.1",
        b"Host: 127.0.0.1",
        b"Authorization: Bearer " + web.acme.key.encode(),
        b"Content-Type: application/json",
        *headers,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def whole(web: WebProcess, body: bytes) -> bytes:
    return request(web, b"Content-Length: %d" % len(body)) + body


class RawAnswer:
    """One HTTP answer as it came over the wire; `status` is None after a clean close."""

    def __init__(self, head: bytes, content: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1]) if head else None
        self.headers = dict(line.split(": ", 1) for line in lines)
        self.content = content

    @property
    def error(self) -> dict[str, str]:
        return json.loads(self.content)["error"]

    @classmethod
    def read(cls, wire: socket.socket) -> "RawAnswer":
        with wire.makefile("rb") as file:
            return cls.next(file)

    @classmethod
    def next(cls, file: object) -> "RawAnswer":
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = file.readline()
            if not line:
                return cls(b"", head)
            head += line
        if head.startswith(b"HTTP/1.1 100"):
            return cls.next(file)
        answer = cls(head[:-4], b"")
        answer.content = _content(file, answer.headers)
        return answer


def _content(file: object, headers: dict[str, str]) -> bytes:
    if "Content-Length" in headers:
        return file.read(int(headers["Content-Length"]))
    if "Transfer-Encoding" not in headers:
        return file.read()
    content = b""
    while size := int(file.readline(), 16):
        content += file.read(size)
        file.readline()
    file.readline()
    return content
