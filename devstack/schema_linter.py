"""The check of docs/openapi.json by the rules of Redocly's linter, which runs on Node."""

import os
import subprocess
import sys
from pathlib import Path

from devstack.console import write
from devstack.node_packages import NoNode, installed
from devstack.state import ROOT

SCHEMA = ROOT / "docs" / "openapi.json"
PROGRAM = Path(__file__).with_name("redocly")


def main() -> int:
    try:
        program = installed(PROGRAM)
    except NoNode as missing:
        write(f"not looked at: {missing}\n")
        return 1 if os.environ.get("CI") == "true" else 0
    status, said = lint(program, SCHEMA)
    write(said)
    return status


def lint(program: Path, schema: Path) -> tuple[int, str]:
    """Return 0 if no rule refuses the document, and what the linter printed."""
    command = ["node", str(program / "lint.mjs"), str(schema)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
