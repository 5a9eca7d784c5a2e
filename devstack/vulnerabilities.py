"""`./dev vulnerabilities`: known vulnerabilities of all packages that production may install.

Asks the public database OSV by pip-audit. Exit 1 if one is known. A database that cannot be reached
is reported and fails nothing, because a machine may have no way to it.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from devstack.console import say
from devstack.state import ROOT

# The last three are installed in the place of the first, where an operator wants what they add.
LOCKS = [ROOT / f"requirements{extra}.txt" for extra in ("", "-otel", "-sentry", "-token")]


class Found(NamedTuple):
    """A package with a known vulnerability, and the versions that have it no more."""

    package: str
    version: str
    name: str
    fixed_in: str


class CouldNotAsk(Exception):
    """The database did not answer."""


def of(locks: Iterable[Path], *options: str) -> tuple[int, list[Found]]:
    """Return how many packages were asked about, each once, and what is known of them.

    :param options: more for pip-audit, such as another database's address.
    :raises CouldNotAsk: the database did not answer.
    """
    command = [sys.executable, "-m", "pip_audit", "--require-hashes"]
    command += [part for lock in locks for part in ("-r", str(lock))]
    command += ["--disable-pip", "--progress-spinner", "off", "-f", "json", "-s", "osv", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError as problem:
        lines = done.stderr.strip().splitlines() or ["no reason was given"]
        raise CouldNotAsk(lines[-1]) from problem
    return len(packages), list(_found(packages))


def _found(packages: list[dict[str, Any]]) -> Iterator[Found]:
    for package in packages:
        for known in package.get("vulns", ()):
            fixed = ", ".join(known["fix_versions"]) or "no version yet"
            yield Found(package["name"], package["version"], known["id"], fixed)


def main(options: list[str]) -> int:
    try:
        asked, found = of(LOCKS, *options)
    except CouldNotAsk as problem:
        say("vulnerabilities", f"could not ask: {problem}")
        return 0
    for one in found:
        say("vulnerabilities", f"{one.package} {one.version}: {one.name}, fixed in {one.fixed_in}")
    say("vulnerabilities", f"{asked} packages asked about, {len(found)} known")
    return 1 if found or not asked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
