"""`./dev` says its sentence wherever it is started, and refuses words that it would overlook."""

import glob
import os
import subprocess
import sys
from pathlib import Path

import pytest

from devstack.state import ROOT

DEV = ROOT / "dev"
TOO_OLD = [(3, minor) for minor in range(7, 11)]
# Python for Windows has neither; whichever is imported first has to be missed in words.
WINDOWS_LACKS = ("fcntl", "pwd", "grp", "resource")
STAND_IN = """
import runpy, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {lacking!r}:
            raise ModuleNotFoundError("No module named " + repr(name))
for name in {lacking!r}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
sys.argv = [{dev!r}, "up"]
runpy.run_path({dev!r}, run_name="__main__")
"""


def found() -> dict[tuple[int, int], Path]:
    """Return the interpreters of this machine by version: on the path, and a version manager's."""
    places = [*os.environ["PATH"].split(os.pathsep), f"{Path.home()}/.pyenv/versions/*/bin"]
    programs = [Path(one) for place in places for one in glob.glob(f"{place}/python3.*")]
    candidates = [one for one in sorted(programs) if one.name[7:].isdecimal()]
    ask = "import sys; print(sys.version_info[0], sys.version_info[1])"
    versions = {}
    for one in [Path(sys.executable), *candidates]:
        # A version manager's shim may be there without the program behind it.
        asked = subprocess.run([one, "-c", ask], capture_output=True, text=True)
        if asked.returncode == 0:
            major, minor = map(int, asked.stdout.split())
            versions.setdefault((major, minor), one)
    return versions


def started(*command: str | Path) -> tuple[int, str, str]:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_every_interpreter_of_the_machine_says_what_is_needed_or_goes_on() -> None:
    tried = {version: one for version, one in found().items() if version >= (3, 7)}

    for version, one in tried.items():
        status, _printed, said = started(one, DEV, "nonsense")
        expected = "Python 3.11 or newer is needed" if version in TOO_OLD else "There is no command"
        assert said.startswith(expected), (version, said)
        assert "Traceback" not in said
        assert status in (1, 2)

    print(f"{len(tried)} interpreters: {sorted(tried)}")  # noqa: T201
    assert tried


@pytest.mark.parametrize("lacking", [WINDOWS_LACKS, ("fcntl",)])
def test_windows_is_sent_to_wsl(lacking: tuple[str, ...]) -> None:
    program = STAND_IN.format(lacking=lacking, dev=str(DEV))

    status, printed, said = started(sys.executable, "-c", program)

    assert (status, printed) == (1, "")
    assert said == "The service runs on Linux or macOS; on Windows inside WSL.\n"


@pytest.mark.parametrize("command", ["up", "info", "check", "fix", "reset"])
def test_a_command_without_arguments_refuses_them_before_it_does_anything(command: str) -> None:
    status, printed, said = started(sys.executable, DEV, command, "--port", "9000")

    assert (status, printed) == (2, "")
    assert said.startswith(f"./dev {command} takes no arguments; there is '--port 9000'.\n")


def test_an_unknown_command_is_named_and_all_others_are_listed() -> None:
    status, printed, said = started(sys.executable, DEV, "upp")

    assert (status, printed) == (2, "")
    assert said.startswith("There is no command 'upp'.\n")
    assert "./dev up " in said


@pytest.mark.parametrize("asked", [[], ["-h"], ["--help"], ["help"]])
def test_asked_for_help_it_lists_its_commands(asked: list[str]) -> None:
    status, printed, said = started(sys.executable, DEV, *asked)

    assert (status, said) == (0, "")
    assert "./dev info " in printed


def test_information_about_nothing_is_refused(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, DEV, "info"],
        env={**os.environ, "DEV_STATE": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith("Nothing runs: start ./dev up first")
