"""`./dev prove [--seed N] [part ...]`: every proof at its full length, one part after the other.

A part that held is remembered with its commit and seed, so that a run that was broken off goes
on where it was. When all parts have held, the next run begins again with another seed.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from devstack.state import ROOT, state_directory

# The value of `part` in a proof's mark, and what is proved.
PARTS = {
    "races": "requests, payers and sweepers that meet over one payment, at every moment",
    "deliveries": "webhooks that meet in one lane, and what they cost nobody else",
    "order": "the state machine of deliveries, and the faults that it must find",
    "chaos": "processes, servers and networks that go away under load",
    "money": "the state machine of money that goes back, and the faults that it must find",
    "kills": "kill -9 of a web worker at every boundary of a payment",
    "doors": "payments, races, crashes and faults once more, at the doors of real banks",
    "fuzz": "requests and forms that are made up",
    "looks": "every page of the panel in each language, theme and width",
    "walks": "the whole table of states, pages by role, and walks through lists that change",
    "retention": "forgetting that is killed, at a million rows",
    "keys": "key rotation and card destruction that are killed, and secrets in files",
    "ledger": "sums of the ledger whose job is killed, beside writers, and in another cluster",
    "bench": "benchmarks that find all their figures and leave nothing running",
    "install": "the page Install on Debian, followed on a new host (needs root and systemd-nspawn)",
    "live": "the pages for going live, followed for each bank on a new host (as the part install)",
    "cases": "all cases of the tables of which the gate plays one or two",
    "fallback": "the tests of `./dev test`, with LIBPQ_CALLS=false",
}
CASES = "cases"
FALLBACK = "fallback"
QUICK = "not slow and not proof and not browser"
AT_OTHER_DOORS = "doors"
# Proofs often wait for a process to start or to die: two workers on each core keep it busy.
WORKERS_OF_A_CORE, WORKERS_MAX = 2, 8


class Held(NamedTuple):
    """A part whose proofs all held: how long they took, and how much they tried."""

    seconds: float
    tried: dict[str, int]


class Run:
    """One run with one seed: which parts have held at this commit.

    :param commit: None if files are changed since the last commit; then nothing is remembered.
    """

    def __init__(self, file: Path, *, commit: str | None, seed: int | None) -> None:
        self._file, self._commit = file, commit
        kept = json.loads(file.read_text()) if file.exists() else {}
        is_same = commit is not None and kept.get("commit") == commit
        if not is_same or seed not in (None, kept["seed"]) or kept["held"].keys() == PARTS.keys():
            kept = {"seed": secrets.randbelow(1_000_000) if seed is None else seed, "held": {}}
        self.seed: int = kept["seed"]
        self.held = {part: Held(*facts) for part, facts in kept["held"].items()}

    def remember(self, part: str, held: Held) -> None:
        self.held[part] = held
        if self._commit:
            kept = {"commit": self._commit, "seed": self.seed, "held": self.held}
            self._file.write_text(json.dumps(kept))


def main(arguments: list[str]) -> int:
    given = _read(arguments)
    run = Run(state_directory() / "proved.json", commit=_commit(), seed=given.seed)
    wanted = given.parts or list(PARTS)
    print(f"prove   | seed {run.seed}; again with --seed {run.seed}", flush=True)
    files = files_of_parts()
    verdicts = dict.fromkeys(wanted, "not tried")
    try:
        for part in wanted:
            verdicts[part] = "held before" if part in run.held else _prove(part, files, run)
    finally:
        print(table(verdicts, run), flush=True)
    return 1 if "FAILED" in verdicts.values() else 0


def _read(arguments: list[str]) -> argparse.Namespace:
    listed = "\n".join(f"  {part:<11} {told}" for part, told in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="./dev prove",
        description="Run the proofs at full length, in an hour at most. Parts:\n" + listed,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="part", help="which ones; all by default")
    parser.add_argument("--seed", type=int, help="draw as an earlier run did")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return given


def _commit() -> str | None:
    """Return the commit that is checked out; None if something is changed, or without git."""
    changed = git("status", "--porcelain")
    return git("rev-parse", "HEAD") if changed == "" else None


def git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def files_of_parts() -> dict[str, list[str]]:
    """Return the files that have proofs of each part: no part's workers read any others.

    :raises SystemExit: pytest cannot read the tests; its output says why.
    """
    file = state_directory() / "files_of_parts.json"
    find = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-m", "proof"]
    environ = {**os.environ, "PROVE_FILES": str(file)}
    done = subprocess.run(find, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stdout)
    found: dict[str, list[str]] = json.loads(file.read_text())
    return {**found, CASES: ["tests"], FALLBACK: ["tests"]}


def _prove(part: str, files: dict[str, list[str]], run: Run) -> str:
    print(f"prove   | {part}: {PARTS[part]}", flush=True)
    tally = state_directory() / "tried.jsonl"
    tally.write_text("")
    began = time.monotonic()
    done = subprocess.run(
        command(part, files[part]),
        cwd=ROOT,
        env={**os.environ, **environment(part, run.seed, tally)},
    )
    tried = count(tally)
    if done.returncode or not tried:
        return "FAILED"
    run.remember(part, Held(time.monotonic() - began, tried))
    return "held"


def command(part: str, files: list[str]) -> list[str]:
    """Return the call of pytest for the proofs of a part, on all cores."""
    workers = min(WORKERS_OF_A_CORE * (os.cpu_count() or 1), WORKERS_MAX)
    # One by one: the longest come first, and each worker takes the next when it is free.
    spread = ["-n", str(workers), "--dist", "load", "--maxschedchunk", "1"]
    told = ["--tb=short", "--durations=5"]
    # A kill at another door is of two parts: it runs in this one.
    own = "" if part == AT_OTHER_DOORS else f" and not proof(part={AT_OTHER_DOORS!r})"
    proofs = f"proof(part={part!r}){own}"
    of_all_tests = {CASES: ["not proof", "--cut-tables"], FALLBACK: [QUICK]}
    wanted = of_all_tests.get(part, [proofs])
    return [sys.executable, "-m", "pytest", *files, "-m", *wanted, *spread, *told]


def environment(part: str, seed: int, tally: Path) -> dict[str, str]:
    """Return what tests.stage.lengths reads; the fallback is played as the gate plays its tests."""
    length = {"LIBPQ_CALLS": "false"} if part == FALLBACK else {"PROVE": "full"}
    return {**length, "PROVE_SEED": str(seed), "PROVE_TRIED": str(tally)}


def count(tally: Path) -> dict[str, int]:
    """Add up what the proofs wrote down: how many of what they tried."""
    counted: Counter[str] = Counter()
    for line in tally.read_text().splitlines():
        noun, times = json.loads(line)
        counted[noun] += times
    return dict(counted)


def table(verdicts: dict[str, str], run: Run) -> str:
    """Return a line for each part: its verdict, its time, and how much was tried."""
    lines = [f"{'part':<11} {'verdict':<12} {'seconds':>7}  tried, seed {run.seed}"]
    for part, verdict in verdicts.items():
        seconds, tried = run.held.get(part, Held(0, {}))
        told = ", ".join(f"{times:,} {noun}" for noun, times in tried.items())
        lines.append(f"{part:<11} {verdict:<12} {seconds:7.0f}  {told}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
