"""The receivers that the webhooks guide shows, run as a merchant would run them."""

import http.client
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from devstack.ports import free_port
from tests.stage.signature_vectors import Vectors

START_SECONDS = 20
# A header's age is counted in seconds: one may not end between signing and looking.
SAME_SECOND_TRIES = 5
MARK = "<!-- run by a test -->\n"
SECTION = re.compile(r"^### (?P<name>.+)\n(?P<before>(?:.*\n)*?)```(?P<language>\w+)\n", re.M)
CODE = re.compile(r"^```\w+\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Snippet:
    """One receiver of the guide; `before` is what stands between its heading and its code."""

    name: str
    before: str
    language: str
    code: str

    @property
    def is_run(self) -> bool:
        return self.before.endswith(MARK)


def snippets(page: str) -> dict[str, Snippet]:
    """Return the programs under `## A receiver`, by the names of their sections."""
    chapter = page.partition("\n## A receiver\n")[2]
    found = {}
    for section in SECTION.finditer(chapter):
        code = CODE.search(chapter, section.start("language") - len("```"))[1]
        found[section["name"]] = Snippet(**section.groupdict(), code=code)
    return found


@dataclass
class GuideReceiver:
    """A receiver's process; `lines` are what it printed, once it has ended."""

    port: int
    lines: list[str]

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def status(self, body: bytes, header: str) -> int:
        """Post a delivery with any signature at all; return what is answered."""
        connection = http.client.HTTPConnection(self.host, timeout=10)
        try:
            # As bytes: some of the wrong ones are not even ASCII.
            connection.request("POST", "/hooks", body, {"PF-Signature": header.encode()})
            return connection.getresponse().status
        finally:
            connection.close()

    def statuses(self, vectors: Vectors) -> dict[str, int]:
        """Return what is answered to each header of the list, signed anew for the clock."""
        return {what: self._status_of(what, vectors) for what in vectors.verdicts}

    def _status_of(self, what: str, vectors: Vectors) -> int:
        for _ in range(SAME_SECOND_TRIES):
            now = int(time.time())
            status = self.status(vectors.body, vectors.header_at(now, what))
            if int(time.time()) == now:
                return status
        raise AssertionError("The machine is too busy to be asked within a second.")


@contextmanager
def running(snippet: Snippet, directory: Path, *, secret: str) -> Iterator[GuideReceiver]:
    """Run the receiver with its secret and a port of its own."""
    port = free_port(variable="GUIDE_PORT", first=8400)
    file = directory / f"receiver.{snippet.language}"
    file.write_text(snippet.code)
    process = subprocess.Popen(
        [*interpreter(snippet), str(file)],
        env={**os.environ, "PORT": str(port), "WEBHOOK_SECRET": secret},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    receiver = GuideReceiver(port, [])
    try:
        _wait(receiver, process)
        yield receiver
    finally:
        process.kill()
        receiver.lines += [
            line for line in process.communicate()[0].splitlines() if "HTTP/1." not in line
        ]


def interpreter(snippet: Snippet) -> list[str]:
    """Return what runs the program; without it the test is skipped, but not in CI."""
    if snippet.language == "python":
        return [sys.executable, "-u"]
    node = shutil.which("node")
    if node is None:
        reason = f"node is not installed, so the guide's {snippet.name} receiver was not run"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return [node]


def _wait(receiver: GuideReceiver, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            assert receiver.status(b"{}", "") == 400
        except ConnectionError:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline, "the receiver does not answer"
            time.sleep(0.02)
        else:
            return
