"""The benchmark of doubt: a payment is asked about beside ten thousand silent reversals."""

import json
from pathlib import Path

import pytest

from bench import doubt
from tests.bench.test_bench import Bench
from tests.stage.lengths import tried


@pytest.mark.proof(part="bench")
@pytest.mark.timeout(600)
def test_a_payment_is_asked_about_beside_silent_reversals(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state", "doubt", patience_seconds=500)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert {bar.figure for bar in doubt.BARS} <= set(figures)
    # It was asked about at all, while nearly all reversals still waited.
    assert figures["asked_before"] < figures["due"] / 100
    tried(int(figures["due"]), "silent reversals beside a payment")
