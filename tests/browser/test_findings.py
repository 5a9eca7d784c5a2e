"""The browser tests' own eyes: each kind of fault is found, and fails the test that met it."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import pytest

from tests.browser.chromium import Chromium
from tests.browser.page import PATIENCE_SECONDS, Page
from tests.stage.web_process import WebProcess

APPLICATION = "tests.browser.payer_pages_wsgi"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]


class HalfTable:
    """A server of one page: the rest of its table comes when its first half has been painted."""

    FIRST = (
        '<!doctype html><html lang="en"><head><title>Half</title><link rel="icon" href="data:,">'
        "</head><body><main><h1>Half a table</h1><table><tr><th>A<th>B<th>C"
        f"{'<tr><td>1<td>2<td>3' * 20}"
        "<script>requestAnimationFrame(() => requestAnimationFrame(() => fetch('/painted')))"
        "</script>"
    )
    REST = f"<tr><td>{'wide' * 10}<td>The last row<td>3</table></main></body></html>"

    def __enter__(self) -> Self:
        is_painted = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                if self.path == "/painted":
                    is_painted.set()
                    return
                self.wfile.write(HalfTable.FIRST.encode())
                assert is_painted.wait(PATIENCE_SECONDS)
                self.wfile.write(HalfTable.REST.encode())

            def log_message(self, *_words: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_a_page_without_faults_passes(page: Page) -> None:
    page.visit("/faults/none")

    assert page.take_findings() == ""


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        ("inline-script", "script-src-elem refuses inline"),
        ("inline-style", "style-src-attr refuses inline"),
        ("foreign-picture", "img-src refuses https://elsewhere.example/x.png"),
        ("console", "console: it hurts"),
        ("uncaught", "uncaught: Cannot read properties of null"),
        ("missing-file", "404 for "),
        ("no-label", "axe label: "),
        ("low-contrast", "axe color-contrast: "),
        ("small-target", "axe target-size: "),
        ("wide", "scrolls sideways: "),
        ("overlap", "runs out of its cell: Words that run"),
        ("no-edge", "no edge to be seen: <input"),
        ("two-headings", "not one h1"),
    ],
)
def test_a_fault_is_found(page: Page, fault: str, finding: str) -> None:
    page.visit(f"/faults/{fault}")

    assert finding in page.take_findings()


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        ("inline-style", "console: Applying inline style violates"),
        ("missing-file", "404 for "),
        ("no-label", "no label: <input>"),
        ("wide", "scrolls sideways: "),
    ],
)
def test_a_fault_is_found_without_scripts_too(
    open_page: Callable[..., Page], fault: str, finding: str
) -> None:
    page = open_page(scripts=False)

    page.visit(f"/faults/{fault}")

    assert finding in page.take_findings()


@pytest.mark.parametrize("fault", ["wide-box", "cut-text"])
def test_a_box_that_is_wider_than_its_frame_is_found(page: Page, fault: str) -> None:
    page.visit(f"/faults/{fault}")
    seen = page.take_findings()

    page.note_wide_boxes(390)

    assert seen == ""
    assert "at 390 px: wider than its frame" in page.take_findings()


def test_a_layout_that_shifts_is_found(page: Page) -> None:
    page.visit("/faults/shift")
    page.see("A text that comes late")

    assert "the layout shifts by 0." in page.take_findings()


def test_a_table_whose_cells_move_when_all_has_come_is_found(page: Page) -> None:
    page.visit("/faults/late-cell")
    page.see("A text that comes late")

    assert "the layout shifts by 0." in page.take_findings()


def test_columns_that_get_wider_with_the_rest_of_a_table_are_no_fault(page: Page) -> None:
    with HalfTable() as server:
        page.visit(server.url)
        page.see("The last row")

    assert "shifts" not in page.take_findings()


def test_a_status_that_was_not_expected_is_found(page: Page) -> None:
    page.visit("/nothing")
    page.visit("/faults/none", status=404)

    assert page.take_findings().count("expected") == 2


def test_a_place_off_this_machine_is_never_reached(page: Page) -> None:
    page.evaluate("fetch('https://acme.example').catch(() => {})")

    assert "net::ERR_NAME_NOT_RESOLVED for https://acme.example/" in page.take_findings()


def test_a_finding_fails_the_test_at_its_end(chromium: Chromium, web: WebProcess) -> None:
    with (
        pytest.raises(pytest.fail.Exception, match="console: it hurts"),
        chromium.pages(web.url) as open_page,
    ):
        open_page().visit("/faults/console")
