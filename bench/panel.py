"""The measurement of the merchants' panel: every page at a million rows, filters and depth too.

A page that is none, or a figure beyond its bar, fails the run.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from bench import bars, panel_download, panel_sign_in
from bench.bars import Bar, Figures
from bench.load import LoadTerms
from bench.stage import Stage
from devstack.console import say
from devstack.state import CannotContinue

ROWS, DEPTH, ROUNDS = 1_000_000, 10_000, 5
# On a busy machine.
SECONDS = 1500
PARTS = ["pages", "sign-in", "books"]
# Of the books: payments in 90 days, movements in a month, and before it.
PAYMENTS, MONTH, BEFORE = 1_000_000, 1_000_000, 10_000_000
BOOKS_SECONDS = 7200
STATEMENTS_MOST, MS_MOST = 15, 100
# A payment's page shows all that belongs to it, and the overview everything that waits: they may
# ask more, and take longer.
# Before the names of the pages of a large merchant's books, charts and desk.
BOOKS = "books, "
CHARTS = [f"{BOOKS}overview, {days} days, cold" for days in (1, 7, 30, 90)]
DESK = [f"{BOOKS}desk, {page}" for page in ("work", "merchant")]
STATEMENTS_MORE = dict.fromkeys(["payment", "payment_now", "payment, full", "overview, cold"], 5)
# Of the books, the statements that read or write rows.
QUESTIONS_MORE = dict.fromkeys([*CHARTS, *DESK], 5)
MS_MOST_OF = {
    **dict.fromkeys(["overview, cold", *CHARTS], 200),
    **dict.fromkeys(["payment, full", *DESK], 150),
}
# A page gives its questions three seconds each, and all of it ends within five. One that no index
# helps may take them, too.
RARE_MS_MOST, LATE_MS_MOST = 3_000, 5_000
# Of page 1 without a filter: no page reads a table whole. Counts end at 10,000 rows.
BUFFERS_MOST = 5_000
# A page at depth may read so many buffers more than page 1, which finds rows closer together.
BUFFERS_MORE = 150
SIGN_IN = [
    Bar("a sign-in, ms", "sign_in_ms", most=400),
    Bar("the API's p99 beside 20 of them / alone", "api_p99_times", most=3),
    Bar("  alone, ms", "api_p99_ms"),
    Bar("  beside them, ms", "api_beside_p99_ms"),
    Bar("  signed in meanwhile", "signed_in"),
    Bar("  told to come back", "told_to_come_back"),
]


EXPORT = [
    Bar("an export, s", "export_s", most=20),
    Bar("  to its first byte, s", "export_first_byte_s", most=1),
    Bar("  more memory of the process, MiB", "export_more_memory_mib", most=150),
    Bar("  rows", "export_rows"),
    Bar("  MiB", "export_mib"),
    Bar("a payment's p99 beside downloads / alone", "download_beside_times", most=2),
    Bar("  beside them, p99 ms", "download_beside_p99_ms"),
    Bar("  alone, p99 ms", "download_alone_p99_ms"),
    Bar("  beside them, p50 ms", "download_beside_p50_ms"),
    Bar("  alone, p50 ms", "download_alone_p50_ms"),
    Bar("  rows of a file", "download_rows"),
]


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = PARTS) -> Figures:
    """Fill a merchant and open its pages; then let people sign in.

    :param parts: names from `PARTS`.
    :raises CannotContinue: an address answered no page, or a sign-in failed.
    """
    told = stage.open_merchant()
    figures: Figures = {}
    if "pages" in parts:
        figures |= _pages(stage, told, terms)
    if "sign-in" in parts:
        figures |= panel_sign_in.measure(stage, told, terms)
    if "books" in parts:
        figures |= _books(stage, terms)
    return figures


def _books(stage: Stage, terms: LoadTerms) -> Figures:
    told = stage.open_another("--email", "owner@books.example")
    sizes = {"payments": PAYMENTS, "month": MONTH, "before": BEFORE}
    rows = {name: terms.scale.of(count) for name, count in sizes.items()}
    say("bench", f"{rows['payments']} payments, {rows['month'] + rows['before']} movements")
    order = {"merchant_id": told["merchant_id"], "rounds": terms.rounds or ROUNDS, **rows}
    figures = _read(stage, "bench.panel_books", order, seconds=BOOKS_SECONDS)["figures"]
    return {f"books_{name}": count for name, count in rows.items()} | figures


def _read(stage: Stage, module: str, order: dict[str, Any], *, seconds: float) -> dict[str, Any]:
    """Return what a program found that fills a merchant and opens its pages.

    :raises CannotContinue: a page was none.
    """
    file = stage.directory / f"{module}.json"
    file.write_text(json.dumps(order))
    read = json.loads(stage.output_of([sys.executable, "-m", module, str(file)], seconds=seconds))
    if read["wrong"]:
        raise CannotContinue(f"{len(read['wrong'])} pages were wrong: {'; '.join(read['wrong'])}.")
    return read


def _pages(stage: Stage, told: dict[str, str], terms: LoadTerms) -> Figures:
    rows, depth = terms.scale.of(ROWS), terms.scale.of(DEPTH)
    say("bench", f"{rows} rows of each kind, and all pages")
    order = {"merchant_id": told["merchant_id"], "rows": rows, "depth": depth}
    order["rounds"] = terms.rounds or ROUNDS
    read = _read(stage, "bench.panel_reads", order, seconds=SECONDS)
    downloads = panel_download.measure(stage, told, terms, since=read["newest_since"])
    return {"rows": rows, "depth": depth, **read["figures"], **downloads}


def bars_of(figures: Figures) -> list[Bar]:
    """Return the bars of the pages that were opened."""
    found = [bar for bar in (*SIGN_IN, *EXPORT) if bar.figure in figures]
    for figure in figures:
        name, colon, what = figure.partition(": ")
        if colon and (bar := _bar(name, what, figures)):
            found.append(bar._replace(figure=figure))
    return found


def table(figures: Figures) -> str:
    """Return what was measured."""
    return bars.table(bars_of(figures), figures, last=_last(figures))


def _last(figures: Figures) -> str:
    if "books_payments" in figures:
        return (
            f"{figures['books_payments']} payments, {figures['books_month']} movements in the month"
            f" and {figures['books_before']} before it"
        )
    if "rows" not in figures:
        return "No page was opened."
    filled = f"; filled in {figures['fill_seconds']:.0f} s" if "fill_seconds" in figures else ""
    return (
        f"{figures['rows']} payments, requests, events and deliveries; depth {figures['depth']}"
        f"{filled}"
    )


def is_narrowed(name: str) -> bool:
    """Return whether a figure is of a page with a filter, or behind a cursor."""
    return "?" in name or ", " in name


def _bar(name: str, what: str, figures: Figures) -> Bar | None:
    is_late = bool(figures.get(f"{name}: is_late"))
    is_of_books = name.startswith(BOOKS)
    asked, statements = STATEMENTS_MOST, STATEMENTS_MOST + STATEMENTS_MORE.get(name, 0)
    most = {
        "statements": None if is_of_books else statements,
        "questions": asked + QUESTIONS_MORE.get(name, 0) if is_of_books else None,
        "ms": LATE_MS_MOST if is_late else _ms_most(name, figures),
        "bytes": None,
        "buffers": None if is_narrowed(name) else BUFFERS_MOST,
        "buffers more": BUFFERS_MORE,
    }
    if what not in most:
        return None
    title = name if what == "statements" else "  " + what
    if what == "ms" and is_late:
        title += ', and then "narrow the time"'
    return Bar(f"{title}, statements" if what == "statements" else title, "", most=most[what])


def _ms_most(name: str, figures: Figures) -> int:
    return RARE_MS_MOST if figures.get(f"{name}: may_be_late") else MS_MOST_OF.get(name, MS_MOST)
