"""The benchmark of settlement finds its figures, and parts that were not settled once."""

import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum

from bench import buffers, ledger_fill, settlement, settlement_fill, settlement_work
from ledger import checkpoints, due_parts, parts
from ledger import settlement as runs
from ledger.due_parts import Day
from ledger.models import LedgerEntry, Run
from ledger.models.accounts import account_id
from merchants.models import Merchant
from tests.bench.test_bench import Bench
from tests.stage.emptying import empty
from tests.stage.factories import MerchantFactory
from tests.stage.lengths import in_prove_only, length, tried
from tests.stage.planner import forget_statistics

PERCENT = length(short=1, full=20)
MERCHANTS = 3
ENTRIES = 200_000
BUFFERS_MAX = 500  # Of a day's run; the movements of the merchant alone are on twice as many pages.


@pytest.mark.only_full("test_bench.py runs one subject, from its start to its end")
@pytest.mark.proof(part="bench")
@pytest.mark.timeout(1800)
def test_it_finds_all_figures_and_leaves_nothing_running(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path / "state", "settlement", "--percent", str(PERCENT), patience_seconds=1700
    )

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    assert [path.exists() for path in bench.directories] == [False]
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert {bar.figure for bar in settlement.BARS} <= set(figures)
    assert "Every part was settled once, and told once" in bench.printed
    tried(int(figures["parts"]), "parts that were settled beside payments")


# --- A run that is wrong ------------------------------------------------------------------------


@pytest.fixture
def filled(transactional_db: None) -> None:
    settlement_fill.fill("many", MERCHANTS, 4, like=MerchantFactory().id)


@in_prove_only
@pytest.mark.proof(part="bench")
def test_a_run_that_is_right_is_taken(filled: None) -> None:
    costs = settlement_work.settle("many")

    assert costs.keys() == {"seconds", "cpu_seconds", "mib"}
    own = Run.objects.filter(merchant__id__startswith="mer_many")
    assert set(own.values_list("amount", flat=True)) == {16_000}


def a_part_is_left(patch: pytest.MonkeyPatch) -> None:
    real = runs._sums
    patch.setattr(runs, "_sums", lambda due: {day: sum_ - 1 for day, sum_ in real(due).items()})


def no_event_is_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("ledger.balance.tell", lambda *_told: None)


def a_part_is_settled_twice(patch: pytest.MonkeyPatch) -> None:
    real = runs._sums
    patch.setattr(runs, "_sums", lambda due: {day: 2 * sum_ for day, sum_ in real(due).items()})


@in_prove_only
@pytest.mark.proof(part="bench")
@pytest.mark.parametrize("plant", [a_part_is_left, no_event_is_told, a_part_is_settled_twice])
def test_a_run_that_is_wrong_ends_the_measurement(
    plant: Callable[[pytest.MonkeyPatch], None], filled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)

    with pytest.raises(ValueError, match="Not every part was settled once"):
        settlement_work.settle("many")


# --- A day's run of a merchant with many entries --------------------------------------------------


@pytest.fixture(scope="module")
def large(django_db_setup: None, django_db_blocker: Any) -> Iterator[Merchant]:
    """A merchant with very many entries, settled up to yesterday."""
    with django_db_blocker.unblock():
        merchant = MerchantFactory()
        ledger_fill.fill({merchant.id: ENTRIES})
        while checkpoints.advance():
            pass
        # The fill's run has settled two years at once: its lines are read by the next one alone.
        runs.settle(merchant, "try", on=settlement_work._today(merchant))
        yield merchant
        empty("default")


def by_one_condition(patch: pytest.MonkeyPatch) -> None:
    """Find the due parts as the panel finds open ones, which were joined to their movements."""

    def find(merchant_id: str, currency: str, last: Run, *, on: date, edge: int) -> list[Day]:
        entries = parts.open_entries(merchant_id, last)
        own = entries.filter(account=account_id(merchant_id, currency, "pending"))
        due = own.exclude(movement__kind="settlement").filter(available_on__lte=on, id__lte=edge)
        sums = due.values_list("available_on").annotate(Sum("amount"))
        return [Day(day, int(amount), is_taken_from=False) for day, amount in sums if day]

    patch.setattr(due_parts, "find", find)


@in_prove_only
@pytest.mark.proof(part="bench")
@pytest.mark.django_db
@pytest.mark.parametrize("plant", [None, by_one_condition])
def test_a_days_run_reads_no_more_than_its_day(
    plant: Callable[[pytest.MonkeyPatch], None] | None,
    large: Merchant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if plant:
        plant(monkeypatch)

    tomorrow = settlement_work._today(large) + timedelta(days=1)
    touched = settlement_work.buffers_of_run(large, tomorrow)

    tried(LedgerEntry.objects.count(), "entries behind a run")
    print(f"{touched} buffers")  # noqa: T201
    assert (touched <= BUFFERS_MAX) == (plant is None)


@in_prove_only
@pytest.mark.proof(part="bench")
@pytest.mark.django_db
def test_where_few_entries_are_expected_a_run_reads_no_other_days(large: Merchant) -> None:
    last = parts.last_run(large.id, "try")
    assert last
    values = {
        "merchant": large.id, "account": f"{large.id}.try.pending",
        "settled_on": last.date, "boundary": last.boundary, "edge": last.boundary + 10**6,
        "on": last.date + timedelta(days=1),
    }  # fmt: skip
    # As of one merchant among very many: PostgreSQL expects a handful of its entries.
    forget_statistics("ledger_entry")
    without_fence = due_parts.FIND.replace("OFFSET 0", "")

    touched, otherwise = (
        buffers._of(statement, values) for statement in (due_parts.FIND, without_fence)
    )

    print(f"{touched} buffers; {otherwise} without the fence")  # noqa: T201
    assert touched <= BUFFERS_MAX < otherwise
