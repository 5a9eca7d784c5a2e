"""Processes of the service, started for real beside the tests' databases."""

import subprocess
import sys

from devstack.state import ROOT
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
    *arguments: str, patience_seconds: float = PATIENCE_SECONDS, **settings: str
) -> tuple[int, str]:
    """Wait for the process to end; return its status and all it said."""
    with begin(*arguments, **settings) as process:
        try:
            said = "".join(process.communicate(timeout=patience_seconds))
        finally:
            process.kill()
    return process.returncode, said
