"""`./dev bench localstripe`: payments next to those of a fake of Stripe in memory.

It is no part of this project and in no lock file: it is installed anywhere for the comparison, and
its program is named in LOCALSTRIPE.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from bench.client import ClientCall
from bench.load import LoadTerms, Measured, load
from bench.payments import PATH, SUCCEEDED, ask
from bench.report import Figures
from bench.stage import Stage
from bench.turns import Shop
from devstack import processes, up
from devstack.children import Children
from devstack.ports import free_port
from devstack.state import CannotContinue

ROUNDS = 4
OURS, THEIRS = ("web", "bank", "postgres"), ("localstripe",)
READY_PATH = "/js.stripe.com/v3/"
BODY = {"amount": 12_500, "currency": "try", "confirm": True, "payment_method": "pm_card_visa"}


def measure(stage: Stage, terms: LoadTerms) -> Figures:
    """Measure a create and confirm of both, in turns.

    :raises CannotContinue: it is not installed, or an answer was wrong.
    """
    program = _program()
    pay = Shop(stage, stage.open_merchant()["secret_key"]).pay
    with stage.service(), _running(stage, program) as fake:
        ask(pay)
        ask(fake)
        pairs = [
            (load(stage, pay, terms), load(stage, fake, terms))
            for _ in range(terms.rounds or ROUNDS)
        ]
    ours, theirs = ([pair[at] for pair in pairs] for at in (0, 1))
    return {**_figures("ours", ours, OURS), **_figures("localstripe", theirs, THEIRS)}


def table(figures: Figures) -> str:
    lines = [
        "{clients} clients; {cores} cores, load {load_before:.1f} before".format(**figures),
        "",
        f"{'create and confirm':<28}{'per second':>12}{'CPU ms':>10}",
        *(_line(title, name, figures) for title, name in TITLES.items()),
    ]
    return "\n".join(["", *lines, ""])


TITLES = {"ours, durable, bank and all": "ours", "localstripe, in memory": "localstripe"}


def _line(title: str, name: str, figures: Figures) -> str:
    return f"{title:<28}{figures[f'{name}_per_second']:>12.1f}{figures[f'{name}_cpu_ms']:>10.1f}"


def _figures(name: str, blocks: list[Measured], of: tuple[str, ...]) -> Figures:
    """Return the middle ones of the blocks; the CPU time is that of all its processes together."""
    return {
        f"{name}_per_second": median(block.seen.per_second for block in blocks),
        f"{name}_cpu_ms": median(sum(block.cpu_ms[who] for who in of) for block in blocks),
    }


def _program() -> str:
    program = os.environ.get("LOCALSTRIPE") or shutil.which("localstripe")
    if program is None:
        raise CannotContinue(
            "localstripe is not installed: pip install localstripe, in an environment of its own,"
            " and name the program: LOCALSTRIPE=…/bin/localstripe"
        )
    return program


@contextmanager
def _running(stage: Stage, program: str) -> Iterator[ClientCall]:
    port = free_port(variable="BENCH_BESIDE_PORT", first=8400)
    with (stage.directory / "localstripe.log").open("wb") as log:
        command = [program, "--port", str(port), "--from-scratch"]
        fake = processes.spawn(command, stdout=log, stderr=subprocess.STDOUT)
    watched = Children(stage.leash)
    watched.adopt({"localstripe": fake})
    stage.pids["localstripe"] = fake.pid
    try:
        up.wait_until_ready(watched, [f"http://127.0.0.1:{port}{READY_PATH}"])
        yield ClientCall(port, PATH, SUCCEEDED, "sk_test_1", BODY)
    finally:
        processes.stop([fake])
        del stage.pids["localstripe"]
