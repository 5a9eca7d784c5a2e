"""Processes of the service, started for real beside the tests' databases."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from devstack.state import ROOT
from tests.stage.warm import Warm
from tests.stage.web_process import environment

PATIENCE_SECONDS = 120


def begin(*arguments: str, **settings: str) -> subprocess.Popen[str]:
    """Start Python with the tests' environment, changed by `settings`."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**environment(), **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(
    *arguments: str,
    patience_seconds: float = PATIENCE_SECONDS,
    is_fresh: bool = False,
    **settings: str,
) -> tuple[int, str]:
    """Wait for the process to end; return its status and all it said, errors last.

    :param is_fresh: whether it is a Python of its own, for a test of what a start loads.
    """
    if is_fresh:
        with begin(*arguments, **settings) as process:
            try:
                said = "".join(process.communicate(timeout=patience_seconds))
            finally:
                process.kill()
        return process.returncode, said
    with TemporaryDirectory() as directory:
        files = Path(directory, "output"), Path(directory, "errors")
        own = {**environment(), **settings}
        process = Warm(*arguments, environment=own, files=files)
        try:
            status = process.wait(patience_seconds)
        finally:
            process.kill()
        return status, "".join(file.read_text() for file in files)
