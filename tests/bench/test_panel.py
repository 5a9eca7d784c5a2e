"""The benchmark of the panel finds its figures, and pages that cost too much."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from audit import balances, settlements, statements
from bench import bars, buffers, panel_books_fill, panel_fill, panel_full, panel_reads
from bench import panel as bench_panel
from bench.bars import Figures
from bench.panel_books import BookReader
from bench.panel_cases import EVENTS, FILTERED, LOGS, Case
from bench.panel_reads import Reader
from core import clock
from core.rest import lists
from ledger import totals
from merchants.models import Merchant, RequestLog
from panel.merchants import chart_figures
from panel.merchants import events as event_pages
from payments.intents.models import PaymentIntent
from tests.bench.test_bench import Bench
from tests.stage import teams as people
from tests.stage.emptying import empty
from tests.stage.factories import open_merchant
from tests.stage.lengths import in_prove_only, length
from webhooks.models import Delivery

ROWS, DEPTH = 20_000, 200
# More rounds make times steady, which are not judged here.
SIZE = ["--percent", length(short="2", full="100"), "--rounds", "1"]
# Those that a busy machine does not blur.
COUNTED = ("statements", "buffers", "buffers more")


@pytest.mark.only_full("test_bench.py runs one subject, from its start to its end")
@pytest.mark.proof(part="bench")
@pytest.mark.timeout(1800)
def test_it_finds_all_figures_and_leaves_nothing_running(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state", "panel", *SIZE, patience_seconds=1700)

    status = bench.status()

    assert bench.left(after_seconds=0) == []
    assert [path.exists() for path in bench.directories] == [False]
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert beyond(figures, *COUNTED) == []
    # Times may be beyond their bars on a busy machine, and then they fail the run.
    late = bars.missed(bench_panel.bars_of(figures), figures)
    assert status == (1 if late else 0), bench.printed
    assert figures["signed_in"] > 0
    names = {figure.partition(": ")[0] for figure in figures}
    assert {str(one.name) for one in panel_reads.pages()} <= names
    assert {case.name for case in FILTERED} <= names


def beyond(figures: Figures, *kinds: str) -> list[str]:
    missed = bars.missed(bench_panel.bars_of(figures), figures)
    return [figure for figure in missed if figure.partition(": ")[2] in kinds]


# --- Planted faults -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def filled(django_db_setup: None, django_db_blocker: Any) -> Iterator[Merchant]:
    with django_db_blocker.unblock():
        merchant = open_merchant("Acme Store", website="https://acme.example").merchant
        merchant.callback_urls.create(url="http://localhost:3000/return", created_at=clock.now())
        panel_fill.fill(merchant, ROWS)
        yield merchant
        empty("default")


@pytest.fixture
def reader(filled: Merchant) -> Reader:
    return Reader(filled, ROWS, DEPTH, rounds=1)


proof = pytest.mark.proof(part="bench")
writes = pytest.mark.django_db(databases=["default", "bank"])


@in_prove_only
@proof
@writes
def test_the_merchant_has_so_many_of_each(filled: Merchant) -> None:
    counted = [
        model.objects.filter(merchant=filled).count()
        for model in (PaymentIntent, RequestLog, Delivery)
    ]

    # Beside the payment to which much happened.
    assert counted == [ROWS + 1, ROWS, ROWS + panel_full.DELIVERIES]
    assert 40 < RequestLog.objects.filter(merchant=filled, kind="panel").count() < 60


@in_prove_only
@proof
@writes
def test_every_page_and_filter_is_within_its_counts(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The test's transaction outlives a page, whose limit is taken back by a statement more.
    monkeypatch.setattr(bench_panel, "STATEMENTS_MOST", bench_panel.STATEMENTS_MOST + 1)

    figures = reader.open_all()

    assert reader.wrong == []
    assert beyond(figures, *COUNTED) == []
    names = {figure.partition(": ")[0] for figure in figures}
    assert {str(one.name) for one in panel_reads.pages()} <= names
    assert {case.name for case in FILTERED} <= names


@in_prove_only
@proof
@writes
@pytest.mark.parametrize(
    ("case", "depth"),
    [(LOGS[0], 5_000), (LOGS[2], DEPTH), (EVENTS[0], 5_000)],
    ids=["logs", "refused", "events"],
)
def test_a_list_with_offset_is_found(
    case: Case, depth: int, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.depth = depth
    assert beyond(reader.case(case), *COUNTED) == []

    def walk(listing: lists.Listing, rows: QuerySet) -> list[Any]:
        begin = 0 if listing.edge is None else depth
        order = [f"-{name}" for name in listing.wanted.columns]
        return list(rows.order_by(*order)[begin : begin + listing.wanted.limit + 1])

    monkeypatch.setattr(lists, "_walk", walk)
    assert beyond(reader.case(case), *COUNTED) == [f"{case.name}, deep: buffers more"]
    assert reader.wrong == []


@in_prove_only
@proof
@writes
def test_a_page_with_a_statement_for_each_row_is_found(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = event_pages.listing.page

    def asking(*args: Any, **kwargs: Any) -> lists.Page:
        found = page(*args, **kwargs)
        for row in found.rows:
            Delivery.objects.filter(event=row.pk).first()
        return found

    monkeypatch.setattr(event_pages.listing, "page", asking)

    assert "events: statements" in beyond(reader.case(Case("events")), *COUNTED)
    assert reader.wrong == []


@in_prove_only
@proof
@writes
def test_an_address_that_answers_no_page_is_wrong(reader: Reader) -> None:
    assert reader.case(Case("request_logs", "status=what")) == {}
    assert reader.wrong[0].endswith("/request_logs?status=what answered 400")


@writes
def test_a_statement_that_is_late_while_it_is_explained_is_wrong_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    people.person("ada@acme.example", (merchant, "owner"))
    reader = BookReader(merchant, rounds=1)
    way = f"/panel/{merchant.id}?days=7"
    explain, explained = buffers._of, []

    def late(sql: str, params: Any) -> int:
        is_charts = "GROUPING SETS" in sql
        explained.append(is_charts)
        return explain("SELECT pg_sleep(60)", None) if is_charts else explain(sql, params)

    in_time = reader.open("overview", way, before=chart_figures.forget)
    assert (in_time["books, overview: is_late_explained"], reader.wrong) == (0, [])
    monkeypatch.setattr(chart_figures, "LIMIT_MS", 500)
    monkeypatch.setattr(buffers, "_of", late)
    found = reader.open("overview", way, before=chart_figures.forget)

    assert (found["books, overview: is_late"], explained.count(True)) == (0, 1)
    assert found["books, overview: is_late_explained"] == 1
    assert reader.wrong == ["books, overview is late while it is explained"]
    # The page goes on: its later questions are explained too.
    assert explained[-1] is False


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_the_books_of_a_merchant_are_opened(transactional_db: None) -> None:
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    people.person("ada@acme.example", (merchant, "owner"))
    panel_books_fill.fill(merchant, payments=400, month=300, before=600)
    reader = BookReader(merchant, rounds=1)

    figures = reader.open_all()

    assert reader.wrong == []
    assert beyond(figures, "questions", "buffers") == []
    assert [
        name for name in bench_panel.CHARTS + bench_panel.DESK if f"{name}: ms" not in figures
    ] == []
    assert totals.until(merchant.id, "try", clock.now()).all == totals.now(merchant.id, "try").all
    checks = [*balances.CHECKS, *settlements.CHECKS, *statements.CHECKS]
    found = [check() for check in checks]
    assert [one for one in found if one.differences or not one.looked_at] == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_index WHERE NOT (indisvalid AND indisready)")
        assert cursor.fetchone() == (0,), "indexes that the fill has switched off"
    assert reader.open("nowhere", "/panel/nowhere/at_all") == {}
    assert reader.wrong == ["/panel/nowhere/at_all answered 404"]


# --- Bars ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "missed"), [(0, 0), (1, 12)])
def test_bars_hold_or_do_not(change: int, missed: int) -> None:
    figures: Figures = {
        "books, movements: questions": 15 + change, "books, movements: statements": 99,
        "books, desk, work: questions": 20 + change, "books, desk, work: ms": 150 + change,
        "keys: statements": 15 + change, "keys: ms": 100 + change, "keys: bytes": 1_000_000,
        "keys: buffers": 5_000 + change, "keys: is_late": 0,
        "logs?path=x: buffers": 50_000, "events, deep: buffers more": 150 + change,
        "payments?q=x: ms": 3000 + change, "payments?q=x: may_be_late": 1,
        "logs?path=x: statements": 15 + change, "logs?path=x: ms": 5000 + change,
        "logs?path=x: is_late": 1, "rows": 9, "depth": 3, "sign_in_ms": 400 + change,
        "api_p99_times": 3 + change,
    }  # fmt: skip

    found = bench_panel.bars_of(figures)

    assert len(bars.missed(found, figures)) == missed
    assert 'ms, and then "narrow the time"' in bars.table(
        found, {**figures, "cores": 2, "load_before": 0}, last=""
    )  # noqa: E501
