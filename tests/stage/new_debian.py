"""A new Debian 12 in a directory, started by systemd as a host is: for pages that operators follow.

It needs root, `debootstrap` and `systemd-nspawn`. Packages come by the machine's own sources; once
the host is started it has no network but its own loopback.
"""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from devstack.state import ROOT
from tests.stage.lengths import IS_FULL

SEEN = ("debootstrap", "systemd-nspawn", "nsenter")
INCLUDED = "systemd,systemd-sysv,dbus,ca-certificates,libpam-systemd"
# Of this machine, for packages: their sources, proxies and certificates.
OF_PACKAGES = (
    "/etc/apt",
    "/etc/pip.conf",
    "/etc/resolv.conf",
    "/usr/share/keyrings",
    "/etc/ssl/certs",
)
AUTHORITIES = Path("/etc/ssl/certs")
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
START_SECONDS = 120
COMMAND_SECONDS = 900
POWER_OFF = signal.SIGRTMIN + 4  # systemd's own, as is +3 for a halt.


def lacking() -> list[str]:
    """Return what this machine lacks to make one; empty if it can."""
    missing = [program for program in SEEN if not shutil.which(program)]
    return missing if os.geteuid() == 0 else [*missing, "root"]


class NewDebian:
    """One host; `run` is a command of root on it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._container: subprocess.Popen[bytes] | None = None
        self._variables = root / "root/.variables"
        _run(
            "debootstrap", "--variant=minbase", f"--include={INCLUDED}", "bookworm", root, _mirror()
        )
        for path in filter(os.path.exists, OF_PACKAGES):
            _copy(Path(path), root / path.removeprefix("/"))
        # A newer package of authorities would leave out this machine's own.
        for path in AUTHORITIES.glob("*.pem"):
            if not path.is_symlink():
                _copy(path, root / f"usr/local/share/ca-certificates/{path.stem}.crt")

    def run(self, script: str) -> str:
        """Run a script by the shell of root, with what earlier ones set; return its output.

        :raises AssertionError: a command of it failed; its output is in the message.
        """
        done = subprocess.run(
            self._shell(script), stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def converse(self, script: str, answers: Mapping[str, Callable[[str], str]]) -> str:
        """Run a script at a terminal, as a person does who answers its questions.

        :param answers: by a pattern of a question that ends what the screen shows: the line that
            the person types, given all of what the screen shows.
        :raises AssertionError: a command of it failed, or it asks what has no answer.
        """
        terminal, screen = pty.openpty()
        with subprocess.Popen(
            self._shell(script), stdin=screen, stdout=screen, stderr=screen, start_new_session=True
        ) as process:
            os.close(screen)
            try:
                shown = _answer(terminal, process, answers)
            finally:
                process.kill()
                os.close(terminal)
        assert process.returncode == 0, f"{script}\n{shown}"
        return shown

    def _shell(self, script: str) -> list[str | Path]:
        keep = "declare -p | grep --invert-match '^declare -[a-z]*r' > /root/.variables; "
        keep += "declare -f >> /root/.variables"
        whole = (
            f"cd /root; [ -f .variables ] && . ./.variables\nset -euo pipefail\n{script}\n{keep}"
        )
        into: list[str | Path] = (
            ["nsenter", "--target", self._init(), "--all"]
            if self._container
            else ["chroot", self.root]
        )
        return [*into, "env", "--ignore-environment", PATH, "HOME=/root", "bash", "-c", whole]

    def start(self) -> None:
        """Start the host: from now on systemd runs it, and it reaches nothing outside."""
        with (self.root.parent / "host.log").open("ab") as log:
            self._container = subprocess.Popen(
                [_found("systemd-nspawn"), "--directory", self.root, "--boot", "--private-network",
                 "--register=no", "--keep-unit", "--machine=payhost", "--link-journal=no"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        while not self._has_started():
            assert self._container.poll() is None, "the host did not start"
            assert time.monotonic() < deadline, "the host starts for too long"
            time.sleep(0.2)

    def stop(self) -> None:
        """Switch the host off as a person does: its processes have their time to end."""
        if self._container:
            os.kill(int(self._init()), POWER_OFF)
            self._container.wait(START_SECONDS)
            self._container = None

    def _has_started(self) -> bool:
        try:
            state = self.run("systemctl is-system-running || true")
        except (AssertionError, IndexError):
            return False
        return state.strip() in ("running", "degraded")

    def _init(self) -> str:
        assert self._container
        return _children(self._container.pid)[0]


@contextmanager
def new_host(directory: Path) -> Iterator[NewDebian]:
    """Yield a new host that has the release of this commit as `pay.tar.gz` in root's home."""
    if missing := lacking():
        (pytest.fail if IS_FULL else pytest.skip)(f"no new Debian without {', '.join(missing)}")
    host = NewDebian(directory / "root")
    release = host.root / "root/pay.tar.gz"
    packed = ["git", "archive", "--format", "tar.gz", "--output", str(release), "HEAD"]
    subprocess.run(packed, cwd=ROOT, check=True)
    try:
        yield host
    finally:
        host.stop()


def _answer(
    terminal: int, process: "subprocess.Popen[bytes]", answers: Mapping[str, Callable[[str], str]]
) -> str:
    """Answer each question once, until the process has closed its terminal; return the screen."""
    shown, answered = "", 0
    deadline = time.monotonic() + COMMAND_SECONDS
    while True:
        assert time.monotonic() < deadline, f"it asks what has no answer, or hangs:\n{shown}"
        try:
            read = os.read(terminal, 4096) if _can_read(terminal) else b""
        except OSError:  # The other end is closed.
            process.wait()
            return shown
        shown += read.decode(errors="replace").replace("\r", "")
        for question, answer in answers.items():
            if re.search(f"(?:{question})$", shown[answered:]):
                answered = len(shown)
                os.write(terminal, f"{answer(shown)}\n".encode())


def _can_read(terminal: int) -> bool:
    return bool(select.select([terminal], [], [], 1)[0])


def _found(program: str) -> str:
    return shutil.which(program) or program


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _mirror() -> str:
    listed = _run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Codename: bookworm")
    return listed.splitlines()[0]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    _run("cp", "--archive", "--no-target-directory", "--remove-destination", source, target)


def _run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout
