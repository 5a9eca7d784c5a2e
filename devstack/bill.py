"""`./dev sbom [FILE]`: the packages of an installation, as a bill of materials in CycloneDX's JSON.

It is made of requirements.txt, which production installs, with the hash of each package's files.
"""

import subprocess
import sys
from pathlib import Path

from devstack.console import say
from devstack.state import ROOT

LOCK, DEFAULT = "requirements.txt", ".local/sbom.json"


def write(file: Path, lock: Path = ROOT / LOCK) -> None:
    """Write the bill of a lock file; it is the same for the same lock."""
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", str(lock), "--pyproject"]
    options = [
        str(ROOT / "pyproject.toml"),
        "--output-reproducible",
        "--no-validate",
        "--of",
        "JSON",
        "-o",
    ]
    subprocess.run([*command, *options, str(file)], check=True, stderr=subprocess.DEVNULL)


def main(arguments: list[str]) -> None:
    file = Path(arguments[0]) if arguments else ROOT / DEFAULT
    write(file)
    say("sbom", f"wrote {file}")


if __name__ == "__main__":
    main(sys.argv[1:])
