"""The benchmark of the ledger finds its figures, and a balance that is summed from all entries."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import bars, ledger, ledger_fill, ledger_reads
from ledger import checkpoints, sums
from ledger.models import Checkpoint, LedgerEntry
from merchants.models import Merchant
from tests.bench.test_bench import Bench
from tests.stage.emptying import empty
from tests.stage.factories import MerchantFactory
from tests.stage.lengths import in_prove_only, length, tried

ENTRIES = 60_000
PERCENT = length(short=1, full=100)
# Those that a busy machine does not blur.
COUNTED = [bar for bar in ledger.BARS if bar.figure in ("large_statements", "large_buffers")]


@pytest.mark.only_full("test_bench.py runs one subject, from its start to its end")
@pytest.mark.proof(part="bench")
@pytest.mark.timeout(1800)
def test_it_finds_all_figures_and_leaves_nothing_running(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state", "ledger", "--percent", str(PERCENT), patience_seconds=1700)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    assert [path.exists() for path in bench.directories] == [False]
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert {bar.figure for bar in ledger.BARS} <= set(figures)
    assert bars.verdicts(COUNTED, figures) == {"large_statements": True, "large_buffers": True}
    assert "balances are what all entries sum to" in bench.printed
    tried(int(figures["large_entries"] + figures["new_entries"]), "entries of balances and jobs")


# --- What is read, and what it is held against --------------------------------------------------


@pytest.fixture(scope="module")
def filled(django_db_setup: None, django_db_blocker: Any) -> Iterator[Merchant]:
    """A merchant with very many entries, all in checkpoints, beside one with few."""
    with django_db_blocker.unblock():
        merchant, other = MerchantFactory(), MerchantFactory()
        ledger_fill.fill({merchant.id: ENTRIES, other.id: 1000})
        while checkpoints.advance():
            pass
        yield merchant
        empty("default")


proof = pytest.mark.proof(part="bench")
writes = pytest.mark.django_db(databases=["default", "bank"])


def verdicts(merchant: Merchant) -> dict[str, bool]:
    body, costs = ledger_reads.read_balance(merchant.id)
    assert ledger_reads.is_right(body, merchant.id)
    figures = {f"large_{what}": cost for what, cost in costs.items()}
    print(figures)  # noqa: T201
    return bars.verdicts(COUNTED, figures)


@in_prove_only
@proof
@writes
def test_a_balance_is_read_from_its_checkpoints(filled: Merchant) -> None:
    found = verdicts(filled)

    tried(LedgerEntry.objects.count(), "entries behind a balance")
    assert found == {"large_statements": True, "large_buffers": True}


def checkpoints_ignored(patch: pytest.MonkeyPatch) -> None:
    Checkpoint.objects.all().delete()


def a_statement_for_each_kind(patch: pytest.MonkeyPatch) -> None:
    real = sums.of_merchant
    patch.setattr(
        sums,
        "of_merchant",
        lambda merchant, kinds: {
            place: amount for kind in kinds for place, amount in real(merchant, [kind]).items()
        },
    )


@in_prove_only
@proof
@writes
@pytest.mark.parametrize(
    ("plant", "bar"),
    [(checkpoints_ignored, "large_buffers"), (a_statement_for_each_kind, "large_statements")],
)
def test_a_planted_fault_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    bar: str,
    filled: Merchant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)

    assert verdicts(filled)[bar] is False


@in_prove_only
@proof
@writes
def test_a_balance_that_is_not_the_sum_of_its_entries_is_wrong(filled: Merchant) -> None:
    own = Checkpoint.objects.filter(account=f"{filled.id}.try.available")
    own.update(sum=own.get().sum + 1)

    body, _costs = ledger_reads.read_balance(filled.id)

    assert not ledger_reads.is_right(body, filled.id)


# --- Bars ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "verdict"), [(0, True), (1, False)])
def test_a_bar_holds_or_does_not(change: int, verdict: bool) -> None:
    figures = {bar.figure: 1.0 for bar in ledger.BARS}
    figures |= {"large_p50_ms": 5 + change, "refund_times": 1.5 + change}
    figures |= {"job_seconds": 20 + change, "large_statements": 3 + change}

    found = bars.verdicts(ledger.BARS, figures)

    changed = ("large_p50_ms", "refund_times", "job_seconds", "large_statements")
    assert {found[figure] for figure in changed} == {verdict}
