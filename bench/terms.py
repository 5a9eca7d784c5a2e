"""The measurement of terms: rules about risk beside a payment, imports of BINs, the audit log.

What is compared is measured in turns, so that both sides have the same machine.
"""

import json
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from statistics import median
from typing import Any, NamedTuple

from bench import bars, sql_log
from bench.bars import Bar, Figures
from bench.client import Call, Line, percentile
from bench.load import Scale, Terms
from bench.paced import pay_once
from bench.payments import PATH, SUCCEEDED
from bench.stage import Stage
from devstack import demo
from devstack.console import say

ATTEMPTS, AUDIT_ROWS = 1_000_000, 1_000_000
LINES, MANY_LINES = 100_000, 1_000_000
PAYMENTS, WARM, ROUNDS = 300, 20, 3
# On a busy machine.
STEP_SECONDS = 1800
PARTS = ["risk", "testing", "bins", "audit"]
# Every rule is on and none hits. A card that pays without end is counted over two seconds: as many
# attempts as one that pays as people do has within an hour.
ALL_ON = (
    "card_velocity=block/1000/2,card_declines=block/1000/2,email_velocity=block/1000/2,"
    "email_cards=block/1000/2,card_testing=authenticate,country_mismatch=authenticate,"
    "amount:try=review/500000"
)
# Turkish credit cards: of the payer's country, and approved.
CARDS = ("5528790000000008", "5526080000000006", "4603450000000000", "9792030000000000")
ANOTHER = ("--email", "owner@globex.example")
# Without any other attempts, which would not be declined.
TESTED = ("--email", "owner@initech.example")
BARS = [
    Bar("attempts in the table", "attempts"),
    Bar("a payment without rules / with all of them", "risk_keeps", least=0.9),
    Bar("  with all of them, p50 ms", "ruled_p50_ms"),
    Bar("  without, p50 ms", "free_p50_ms"),
    Bar("  statements more", "risk_statements", most=4),
    Bar("  buffers of the counts", "risk_buffers", most=40),
    Bar("attempts of an hour, of 10,000 merchants", "testing_attempts"),
    Bar("  a look for merchants whose cards are tested, ms", "testing_ms", most=300),
    Bar("an import of lines", "lines"),
    Bar("  s", "import_seconds", most=30),
    Bar("  CPU s, without PostgreSQL's", "import_cpu_seconds"),
    Bar("  MiB", "import_mib"),
    Bar("  with ten times as many lines, s", "large_import_seconds"),
    Bar("  MiB / MiB of the smaller one", "import_memory_times", most=1.1),
    Bar("  going back to the version before, ms", "undo_ms", most=100),
    Bar("a payment beside an import / alone", "beside_times", most=1.2),
    Bar("  beside it, p50 ms", "beside_p50_ms"),
    Bar("  alone, p50 ms", "alone_p50_ms"),
    Bar("rows of the audit log", "audit_rows"),
    Bar("  verified in s", "audit_seconds", most=60),
    Bar("  CPU s, without PostgreSQL's", "audit_cpu_seconds"),
    Bar("  MiB", "audit_mib"),
    Bar("  MiB / MiB with a tenth of the rows", "audit_memory_times", most=1.1),
]


class Shop:
    """A merchant whose payers each have an address of their own, and a card after the other."""

    def __init__(self, stage: Stage, told: dict[str, str]) -> None:
        self.merchant_id = told["merchant_id"]
        self._port, self._key = stage.ports.web, told["secret_key"]
        self._cards = cycle(CARDS)

    def pay(self, line: Line) -> float:
        """Take a payment; return how many ms it took.

        :raises CannotContinue: it did not succeed.
        """
        return pay_once(Call(self._port, PATH, SUCCEEDED, self._key, self._body()), line)

    def _body(self) -> dict[str, Any]:
        body = demo.first_payment()
        method = body["payment_method_data"]
        method["card"]["number"] = next(self._cards)
        method["billing_details"]["email"] = f"{secrets.token_hex(8)}@example.com"
        return body


class Shops(NamedTuple):
    """Two merchants of one installation: `free` has switched all rules off."""

    ruled: Shop
    free: Shop


def measure(stage: Stage, terms: Terms, parts: Sequence[str] = PARTS) -> Figures:
    """Measure one part after the other.

    :param parts: names from `PARTS`.
    :raises CannotContinue: a payment did not succeed, or a step failed.
    """
    scale = terms.scale
    shops = Shops(Shop(stage, stage.open_merchant()), Shop(stage, stage.open_another(*ANOTHER)))
    measures: dict[str, Callable[[], Figures]] = {
        "risk": lambda: _risk(stage, shops, scale),
        "testing": lambda: _testing(stage, scale.of(ATTEMPTS)),
        "bins": lambda: _bins(stage, shops.free, terms),
        "audit": lambda: _audit(stage, scale),
    }
    figures: Figures = {}
    for part in PARTS:
        if part in parts:
            figures |= measures[part]()
    return figures


def table(figures: Figures) -> str:
    """Return what was measured; parts that were left out are not in it."""
    return bars.table(BARS, figures, last="Every payment succeeded, and no row of the log differs.")


# --- Rules about risk ---------------------------------------------------------------------------


def _risk(stage: Stage, shops: Shops, scale: Scale) -> Figures:
    count = scale.of(ATTEMPTS)
    with _ruling(stage).service():
        with _line(stage) as line:
            shops.ruled.pay(line)
        _step(stage, "set_rules", shops.ruled.merchant_id, shops.free.merchant_id)
        say("bench", f"{count} attempts are filled in")
        filled = _step(stage, "fill_attempts", shops.ruled.merchant_id, str(count))
        figures = _beside_rules(stage, shops, scale.of(PAYMENTS))
    return {"attempts": count, "risk_buffers": filled["buffers"], **figures}


def _beside_rules(stage: Stage, shops: Shops, count: int) -> Figures:
    """Measure payments of both merchants, in turns."""
    took: dict[str, list[float]] = {"ruled": [], "free": []}
    with _line(stage) as line:
        say("bench", f"{count} payments of each merchant, in turns")
        for _ in range(WARM + count):
            for name, shop in shops._asdict().items():
                took[name].append(shop.pay(line))
    asked = {name: _statements(stage, shop) for name, shop in shops._asdict().items()}
    p50 = {f"{name}_p50_ms": median(ms[WARM:]) for name, ms in took.items()}
    return {
        **p50,
        "risk_keeps": p50["free_p50_ms"] / p50["ruled_p50_ms"],
        "risk_statements": asked["ruled"] - asked["free"],
    }


def _statements(stage: Stage, shop: Shop) -> int:
    """Return what the web process asks PostgreSQL for a payment: the fewest of three."""

    def pay() -> None:
        with _line(stage) as line:
            shop.pay(line)

    with sql_log.logged(stage.places.database_url):
        seen = [sql_log.during(stage.postgres_log, pay) for _ in range(3)]
    return min(sum(command.who == "web" for command in commands) for commands in seen)


def _testing(stage: Stage, count: int) -> Figures:
    shop = Shop(stage, stage.open_another(*TESTED))
    with stage.service(), _line(stage) as line:
        shop.pay(line)
    say("bench", f"{count} attempts of one hour are filled in")
    _step(stage, "fill_hour", shop.merchant_id, str(count))
    looked = _step(_ruling(stage), "watch_tested", shop.merchant_id)
    return {"testing_attempts": count, "testing_ms": looked["ms"]}


def _ruling(stage: Stage) -> Stage:
    return stage._replace(environment=stage.environment | {"RISK_RULES": ALL_ON})


# --- BINs ---------------------------------------------------------------------------------------


def _bins(stage: Stage, shop: Shop, terms: Terms) -> Figures:
    scale, rounds, files = terms.scale, terms.rounds or ROUNDS, {}
    for name, lines in (("small", scale.of(LINES)), ("large", scale.of(MANY_LINES))):
        files[name] = str(stage.directory / f"{name}.csv")
        _step(stage, "write_bins", files[name], str(lines))
    alone: list[float] = []
    beside: list[float] = []
    imports: list[Figures] = []
    with stage.service(), _line(stage) as line, ThreadPoolExecutor(1) as other:
        say("bench", f"{rounds} imports of {scale.of(LINES)} lines, each beside payments")
        for _ in range(WARM):
            shop.pay(line)
        for _ in range(rounds):
            began = time.monotonic()
            importing = other.submit(_step, stage, "import_bins", files["small"])
            while not importing.done():
                beside.append(shop.pay(line))
            imports.append(importing.result())
            ends_at = 2 * time.monotonic() - began
            while time.monotonic() < ends_at:
                alone.append(shop.pay(line))
    say("bench", f"an import of {scale.of(MANY_LINES)} lines, and back")
    large, undone = _step(stage, "import_bins", files["large"]), _step(stage, "undo_bins")
    return {
        "lines": scale.of(LINES),
        **{f"import_{name}": median(one[name] for one in imports) for name in imports[0]},
        "large_import_seconds": large["seconds"],
        "import_memory_times": large["mib"] / max(one["mib"] for one in imports),
        "undo_ms": undone["seconds"] * 1000,
        "alone_p50_ms": percentile(alone, 50),
        "beside_p50_ms": percentile(beside, 50),
        "beside_times": percentile(beside, 50) / percentile(alone, 50),
    }


# --- The audit log ------------------------------------------------------------------------------


def _audit(stage: Stage, scale: Scale) -> Figures:
    count = scale.of(AUDIT_ROWS)
    say("bench", f"{count} rows of the audit log are filled in and verified")
    _step(stage, "fill_audit", str(count // 10))
    few = _step(stage, "verify_audit")
    _step(stage, "fill_audit", str(count - count // 10))
    many = _step(stage, "verify_audit")
    return {
        "audit_rows": count,
        **{f"audit_{name}": value for name, value in many.items()},
        "audit_memory_times": many["mib"] / few["mib"],
    }


# --- Steps --------------------------------------------------------------------------------------


def _step(stage: Stage, name: str, *arguments: str) -> Figures:
    program = [sys.executable, "-m", "bench.terms_work", name, *arguments]
    return json.loads(stage.output_of(program, seconds=STEP_SECONDS))


@contextmanager
def _line(stage: Stage) -> Iterator[Line]:
    line = Line(stage.ports.web)
    try:
        yield line
    finally:
        line.close()
