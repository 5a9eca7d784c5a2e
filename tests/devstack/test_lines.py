"""The terminal of `./dev up` has a line for each request of the developer's, none for our own."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from devstack.console import pump
from devstack.lines import readable


def request(**told: Any) -> str:
    line = {"method": "POST", "path": "/v1/payment_intents", "status": 200, "duration_ms": 57.3}
    line |= {"ip": "127.0.0.1", "event": "request", "level": "info", "logger": "access"}
    return json.dumps({**line, "timestamp": "2026-11-27T17:29:28Z", "request_id": "req_1", **told})


def bank(route: str | None, **told: Any) -> str:
    line = {"route": route, "method": "GET", "status": 200, "duration_ms": 3}
    return json.dumps({**line, "event": "bank_request", "level": "info", **told})


def test_a_request_is_a_short_line_with_its_id() -> None:
    assert readable(request()) == "POST /v1/payment_intents  200  57 ms  req_1"


@pytest.mark.parametrize(
    "line",
    [
        request(path="/healthz"),
        request(path="/static/panel.4f2a.css"),
        bank("notices"),
        bank("transfer_notices", status=400),
        bank(None, status=404),
        '{"event": "acquirer_traffic", "level": "info"}',
        '{"event": "Booting worker with pid: 6", "level": "info", "logger": "gunicorn.error"}',
        "[2026-11-27 17:29:10 +0000] [6050] [INFO] Listening at: http://127.0.0.1:8100 (6050)",
    ],
)
def test_our_own_polling_and_the_servers_chatter_have_no_line(line: str) -> None:
    assert readable(line) is None


def test_the_banks_page_for_payers_is_a_persons_request() -> None:
    assert readable(bank("acs/<str:transaction_id>")) == "GET acs/<str:transaction_id>  200  3 ms"


def test_trouble_is_shown_whole_in_words() -> None:
    line = {"event": "request_crashed", "level": "error", "logger": "config.errors"}
    line |= {"request_id": "req_1", "exception": "Traceback …\nKeyError: 'x'", "timestamp": "…"}

    shown = readable(json.dumps(line))

    assert shown == "ERROR request_crashed request_id=req_1\nTraceback …\nKeyError: 'x'"


@pytest.mark.parametrize("line", ["Traceback (most recent call last):", "7", '{"a": 1}', "[1]", ""])
def test_a_line_that_is_no_log_line_stays_as_it_is(line: str) -> None:
    assert readable(line) == line


def test_whole_lines_are_kept_and_a_full_disk_stops_no_child(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [request(path="/v1/balance") + "\n", "Traceback …\n"]

    for whole in (tmp_path / "web.log", Path("/dev/full")):
        pump("web", io.StringIO("".join(lines)), whole).join()
        assert "/v1/balance" in (shown := capsys.readouterr().out)
        assert "web     | Traceback …" in shown

    assert (tmp_path / "web.log").read_text() == "".join(lines)
