"""The benchmark of reconciliation finds its figures."""

import json
from pathlib import Path

import pytest

from bench import reconcile
from tests.bench.test_bench import Bench
from tests.stage.lengths import length, tried

PERCENT = length(short=1, full=20)


@pytest.mark.only_full("test_bench.py runs one subject, from its start to its end")
@pytest.mark.proof(part="bench")
@pytest.mark.timeout(1800)
def test_it_finds_all_figures_and_leaves_nothing_running(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state", "reconcile", "--percent", str(PERCENT), patience_seconds=1700)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert {bar.figure for bar in reconcile.BARS} <= set(figures)
    tried(int(figures["lines"]), "lines of a bank's file")
