"""The benchmark of lists finds its figures, and pages that are not the right ones."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db.models import QuerySet

from bench import lists as bench_lists
from bench import lists_fill, lists_report
from bench.client import ClientCall
from bench.lists_cases import DEEP, ENDPOINTS, FEW
from bench.lists_reads import Reader
from bench.lists_rows import RARE
from core import clock
from core.rest import lists
from devstack.state import CannotContinue
from payments.intents.models import MetadataEntry, PaymentIntent
from tests.bench.test_bench import Bench
from tests.stage.emptying import empty
from tests.stage.factories import MerchantFactory
from tests.stage.lengths import length

ROWS, DEPTH = 12_000, 120
PERCENT = length(short=5, full=100)


@pytest.mark.only_full("test_bench.py runs one subject, from its start to its end")
@pytest.mark.proof(part="bench")
@pytest.mark.timeout(1300)
def test_it_finds_all_figures_and_leaves_nothing_running(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state", "lists", "--percent", str(PERCENT), patience_seconds=1200)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    assert [path.exists() for path in bench.directories] == [False]
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert len(lists_report.verdicts(figures)) == len(DEEP + FEW + ENDPOINTS)
    assert (figures["rows"], figures["depth"]) == (4_000 * PERCENT, 80 * PERCENT)
    assert " answers looked at, 0 wrong" in bench.printed


# --- What is read, and what it is held against --------------------------------------------------


@pytest.fixture(scope="module")
def rows(django_db_setup: None, django_db_blocker: Any) -> Iterator[QuerySet]:
    with django_db_blocker.unblock():
        merchant = MerchantFactory()
        lists_fill.fill(merchant.id, ROWS)
        yield PaymentIntent.objects.for_merchant(merchant)
        empty("default")


@pytest.fixture
def reader(rows: QuerySet) -> Reader:
    return Reader(rows, DEPTH)


slow = pytest.mark.slow
writes = pytest.mark.django_db(databases=["default", "bank"])


@slow
@writes
def test_half_of_the_payments_are_the_merchants_and_few_have_what_few_have(rows: QuerySet) -> None:
    assert (rows.count(), PaymentIntent.objects.count()) == (ROWS // 2, ROWS)
    assert rows.filter(status="processing", currency="gbp").count() == RARE
    assert rows.filter(metadata_entries__value="gold").count() == RARE


@slow
@writes
def test_every_case_is_read_and_right(reader: Reader) -> None:
    figures = {}
    for case in DEEP:
        figures |= reader.deep(case.since(clock.now()))
    for case in FEW:
        figures |= reader.few(case)

    assert reader.wrong == []
    assert (reader.pages, len(figures)) == (3 * len(DEEP) + len(FEW), 4 * len(DEEP) + 2 * len(FEW))
    assert figures["few_status_rows"] == RARE


@slow
@writes
def test_what_the_api_is_held_against_is_told_by_plain_queries(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.lists_reads.COUNT_MAX", 150)

    answers = {case.name: reader.answer(case) for case in ENDPOINTS}

    first, deep, counted = answers["page"], answers["page_deep"], answers["counted"]
    assert (len(first["ids"]), first["has_more"], first["total_count"]) == (100, True, None)
    assert len({*first["ids"], *deep["ids"]}) == 200
    assert (counted["ids"], counted["total_count"]) == (first["ids"], 150)


@slow
@writes
def test_a_page_that_lacks_a_row_is_wrong(reader: Reader) -> None:
    [case] = [case for case in DEEP if case.name == "metadata"]
    MetadataEntry.objects.filter(key="channel", value="web").latest("created_at").delete()

    reader.deep(case)

    assert reader.wrong
    assert "1 of the 100 right ones are missing" in reader.wrong[0]


@slow
@writes
@pytest.mark.parametrize("name", ["newest", "cheapest"])
def test_pages_in_a_wrong_order_are_wrong(
    name: str, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = lists.ListQuery.is_upward
    monkeypatch.setattr(lists.ListQuery, "is_upward", property(lambda query: not real.fget(query)))
    [case] = [case for case in DEEP if case.name == name]

    reader.deep(case)

    assert len(reader.wrong) == 3


class OneWrong(NamedTuple):
    """A stage on which one page was wrong."""

    directory: Path

    def output_of(self, *_: object, **__: object) -> str:
        return json.dumps({"wrong": ["sort=-created: 1 is missing"], "figures": {}})


def test_a_wrong_page_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(
        CannotContinue, match="1 pages were wrong; one is sort=-created: 1 is missing"
    ):
        bench_lists.read_pages(OneWrong(tmp_path), depth=1)


class OnePage(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        content = json.dumps({"data": [{"id": "pi_1"}, {"id": "pi_2"}], "has_more": True}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({}, None),
        ({"ids": ["pi_2", "pi_1"]}, "ids"),
        ({"ids": ["pi_1"], "has_more": False}, "ids, has_more"),
        ({"total_count": 2}, "total_count"),
    ],
)
def test_the_endpoints_answer_is_held_against_the_plain_query(
    change: dict[str, Any], wrong: str | None
) -> None:
    right = {"ids": ["pi_1", "pi_2"], "has_more": True, "total_count": None, **change}
    with http.server.HTTPServer(("127.0.0.1", 0), OnePage) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        call = ClientCall(server.server_port, "/v1/payment_intents", {})

        with pytest.raises(CannotContinue, match=f"wrong in {wrong}") if wrong else nullcontext():
            assert bench_lists.right_answer(call, right)["has_more"]


# --- Bars ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "verdict"), [(0, True), (1, False)])
def test_a_bar_holds_or_does_not(change: int, verdict: bool) -> None:
    figures = {bar.figure: 1.0 for bar in lists_report.BARS}
    figures |= {"status_away_percent": 20 + change, "few_metadata_buffers": 500 + change}
    figures |= {"page_p50_ms": 25 + change, "counted_p50_ms": 60 + change}

    verdicts = lists_report.verdicts(figures)

    changed = ("status_away_percent", "few_metadata_buffers", "page_p50_ms", "counted_p50_ms")
    assert {verdicts[figure] for figure in changed} == {verdict}
