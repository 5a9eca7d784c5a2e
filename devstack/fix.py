"""`./dev fix`: let the formatter and the linter repair what they can."""

import subprocess
import sys

from devstack.check import LINTED
from devstack.state import ROOT


def main() -> int:
    # The linter first: what it rewrites is formatted afterwards.
    lint = subprocess.run(["ruff", "check", "--fix", *LINTED], cwd=ROOT)
    layout = subprocess.run(["ruff", "format", *LINTED], cwd=ROOT)
    return lint.returncode or layout.returncode


if __name__ == "__main__":
    sys.exit(main())
