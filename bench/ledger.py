"""The measurement of the ledger: balances and refunds of a merchant with very many entries.

A balance that is not the sum of the merchant's entries ends the run.
"""

import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import psycopg

from bench import bars, ledger_refunds, report
from bench.bars import Bar, Figures
from bench.client import ClientCall
from bench.load import LoadTerms, load
from bench.payments import PATH, SUCCEEDED
from bench.stage import Stage
from devstack import demo
from devstack.console import say
from devstack.state import CannotContinue

MANY, FEW = 10_000_000, 1_000
NEW, NEIGHBOURS = 1_000_000, 100
BEHIND = 10_000
REFUNDS = 300
# On a busy machine.
FILL_SECONDS, READ_SECONDS, JOB_SECONDS = 1800, 300, 300
# Payments are made for at least so long: longer than the job may take.
BESIDE_SECONDS, LOOK_EVERY_SECONDS = 20, 0.1
PAID = "SELECT 1 FROM intents_paymentintent WHERE status = 'succeeded' LIMIT 1"
PARTS = ["balance", "refunds", "job"]
BALANCE = "/v1/balance"
SHOWN = ("available", "pending", "reserved")
ANOTHER = ("--email", "owner@globex.example")
BARS = [
    Bar("entries of the merchant", "large_entries"),
    Bar("  of the other one", "small_entries"),
    Bar("the balance, p50 ms", "large_p50_ms", most=5),
    Bar("  p99 ms", "large_p99_ms"),
    Bar("  of the other merchant, p50 ms", "small_p50_ms"),
    Bar("  with 10,000 entries behind, p50 ms", "behind_p50_ms"),
    Bar("  statements", "large_statements", most=3),
    Bar("  buffers", "large_buffers", most=100),
    Bar("a refund / one of the other merchant", "refund_times", most=1.5),
    Bar("  ms in the ledger", "large_refund_ms"),
    Bar("  of the other merchant", "small_refund_ms"),
    Bar("POST /v1/refunds / one of the other merchant", "posted_times", most=1.5),
    Bar("  p50 ms", "large_posted_ms"),
    Bar("  of the other merchant", "small_posted_ms"),
    Bar("new entries", "new_entries"),
    Bar("the job adds them beside payments, s", "job_seconds", most=20),
    Bar("  payments per second meanwhile", "beside_per_second"),
    Bar("  p99 ms", "beside_p99_ms"),
]


class Shop(NamedTuple):
    """A merchant, as `create_merchant` printed it."""

    name: str
    merchant_id: str
    secret_key: str


class Ledger:
    """The ledger on a stage: what is written into it, and what is asked of it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.next_charge = 1
        told = {"small": stage.open_merchant(), "large": stage.open_another(*ANOTHER)}
        self.shops = [
            Shop(name, told[name]["merchant_id"], told[name]["secret_key"]) for name in told
        ]
        self.small, self.large = self.shops

    def fill(self, entries: dict[str, int], **how: Any) -> float:
        """Write entries for merchants; return how many seconds it took."""
        order = {"entries": entries, "first": self.next_charge, **how}
        filled = self._run("ledger_fill", FILL_SECONDS, order)
        self.next_charge = filled["next"]
        return filled["seconds"]

    def read(self, *, refunds: int = 0) -> dict[str, Any]:
        """Return what balances and refunds cost, and what the balances are.

        :raises CannotContinue: a balance is not the sum of the merchant's entries.
        """
        order = {shop.name: shop.merchant_id for shop in self.shops}
        read = self._run("ledger_reads", READ_SECONDS, {**order, "refunds": refunds})
        if read["wrong"]:
            raise CannotContinue(
                f"The balance of {read['wrong'][0]} is not what its entries sum to."
            )
        return read

    def add_new(self) -> float:
        """Let the job add all that is new to the checkpoints; return how many seconds it took."""
        program = [sys.executable, "-m", "bench.ledger_job"]
        return float(self.stage.output_of(program, seconds=JOB_SECONDS))

    def _run(self, module: str, seconds: float, order: dict[str, Any]) -> dict[str, Any]:
        file = self.stage.directory / f"{module}.json"
        file.write_text(json.dumps(order))
        program = [sys.executable, "-m", f"bench.{module}", str(file)]
        return json.loads(self.stage.output_of(program, seconds=seconds))


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = ()) -> Figures:
    """Fill the ledger, and measure one thing after the other.

    :param parts: names from `PARTS`; all of them by default.
    :raises CannotContinue: a balance was wrong, or a payment.
    """
    parts, scale = parts or PARTS, terms.scale
    ledger = Ledger(stage)
    entries = {ledger.large.merchant_id: scale.of(MANY), ledger.small.merchant_id: FEW}
    say("bench", f"{sum(entries.values())} entries, nearly all of them one merchant's")
    figures: Figures = {"fill_seconds": ledger.fill(entries)}
    figures["first_job_seconds"] = ledger.add_new()
    figures |= ledger.read()["figures"]
    if "balance" in parts:
        figures |= _balances(ledger, terms)
    if "refunds" in parts:
        refunds = scale.of(REFUNDS)
        say("bench", f"{refunds} refunds of each merchant, in turns")
        figures |= ledger.read(refunds=refunds)["refunds"]
        figures |= _posted(ledger, refunds)
    if "job" in parts:
        figures |= _job(ledger, terms, scale.of(NEW))
    ledger.read()
    return figures


def _balances(ledger: Ledger, terms: LoadTerms) -> Figures:
    """Measure what one client on a kept connection waits for."""
    figures: Figures = {}
    with ledger.stage.service():
        for shop in (ledger.large, ledger.small):
            figures |= _asked(ledger, shop, terms, name=shop.name)
        ledger.fill({ledger.large.merchant_id: BEHIND}, is_new=True)
        figures |= _asked(ledger, ledger.large, terms, name="behind")
    ledger.add_new()
    return figures


def _asked(ledger: Ledger, shop: Shop, terms: LoadTerms, *, name: str) -> Figures:
    body = ledger.read()["balances"][shop.name]
    expected = {kind: body[kind] for kind in SHOWN}
    call = ClientCall(ledger.stage.ports.web, BALANCE, expected, shop.secret_key)
    return report.speed(name, load(ledger.stage, call, terms._replace(clients=1)))


def _posted(ledger: Ledger, count: int) -> Figures:
    """Measure refunds as merchants ask for them, in turns."""
    keys = {shop.name: shop.secret_key for shop in (ledger.large, ledger.small)}
    with ledger.stage.service():
        figures = ledger_refunds.measure(ledger.stage.ports.web, keys, count)
    figures["posted_times"] = figures["large_posted_ms"] / figures["small_posted_ms"]
    return figures


def _job(ledger: Ledger, terms: LoadTerms, entries: int) -> Figures:
    """Measure the job during payments, with entries of very many merchants to add."""
    each = max(1, entries // (NEIGHBOURS + 1))
    say("bench", f"{entries} new entries of {NEIGHBOURS + 1} merchants")
    own = {ledger.large.merchant_id: each}
    ledger.fill(own, is_new=True, neighbours=NEIGHBOURS, entries_of_a_neighbour=each)
    stage = ledger.stage
    call = ClientCall(
        stage.ports.web, PATH, SUCCEEDED, ledger.small.secret_key, demo.first_payment()
    )
    longer = terms._replace(seconds=terms.at_least(BESIDE_SECONDS))
    with stage.service(), ThreadPoolExecutor(1) as beside:
        payments = beside.submit(load, stage, call, longer)
        _await_a_payment(ledger)
        seconds = ledger.add_new()
        figures = report.speed("beside", payments.result())
    return {**figures, "new_entries": entries, "job_seconds": seconds}


def _await_a_payment(ledger: Ledger) -> None:
    ends_at = time.monotonic() + JOB_SECONDS
    with psycopg.connect(ledger.stage.databases["web"], autocommit=True) as connection:
        while not connection.execute(PAID).fetchone():
            if time.monotonic() > ends_at:
                raise CannotContinue("No payment is made.")
            time.sleep(LOOK_EVERY_SECONDS)


def table(figures: Figures) -> str:
    """Return what was measured; parts that were left out are not in it."""
    last = (
        f"Filled in {figures['fill_seconds']:.0f} s, and added to checkpoints in"
        f" {figures['first_job_seconds']:.0f} s; balances are what all entries sum to."
    )
    return bars.table(BARS, figures, last=last)
