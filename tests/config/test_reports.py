"""Reports to Sentry: what the log has of an error, no card, and nothing unless it is asked for."""

import gzip
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from config.logs import logging_config
from config.reports import LONGEST_QUEUE, SentryHandler
from tests.stage.client import ApiClient
from tests.stage.kills import until
from tests.stage.leaks import APPROVED, CRASHED, CVC, Written
from tests.stage.processes import run
from tests.stage.receivers import Receiver, receiver
from tests.stage.redis_places import listener
from tests.stage.web_process import WebProcess

KEY, MAIL, LOCAL = "a1B2c3D4e5" * 4 + "9xYz", "jane.roe@shop.example", "a-variable-of-the-frame"
SECRETS = (KEY, MAIL, LOCAL, "x-of-the-query", "x-of-the-headers")
SAYS_LOADED = "import sys, config.wsgi; print('sentry_sdk' in sys.modules)"
SETS_UP = "import django; django.setup()"
MISSING = f"import sys; sys.modules['sentry_sdk'] = None; {SETS_UP}"


class Sentry:
    """A receiver of reports, and the handler that sends to it from this process."""

    def __init__(self, host: str) -> None:
        dsn = f"http://key@{host}/1"
        self.handler = SentryHandler(dsn=dsn, release="1.0", environment="sandbox")
        options = logging_config(level="INFO")["formatters"]["json"]
        self.handler.setFormatter(options.pop("()")(**options))

    def __enter__(self) -> "Sentry":
        logging.getLogger().addHandler(self.handler)
        return self

    def __exit__(self, *_problem: object) -> None:
        logging.getLogger().removeHandler(self.handler)
        self.handler.flush_and_close()


class Reports:
    """A Sentry that answers; `all()` waits until each report has come."""

    def __init__(self, sentry: Sentry, ours: Receiver) -> None:
        self._sentry, self._ours = sentry, ours

    def all(self) -> list[str]:
        self._sentry.handler.flush_and_close()
        return ["\n".join(one.head) + "\n" + _body(one.body) for one in self._ours.requests]


def _body(sent: bytes) -> str:
    return (gzip.decompress(sent) if sent.startswith(b"\x1f\x8b") else sent).decode()


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reports]:
    monkeypatch.setattr("sys.argv", ["/opt/pay/.venv/bin/celery", "--app", "config", "worker"])
    with receiver() as ours, Sentry(ours.host) as sentry:
        yield Reports(sentry, ours)


def crash(number: str) -> None:
    variable = "-".join(["a", "variable", "of", "the", "frame"])  # noqa: F841 - It must stay here.
    try:
        raise KeyError(number)
    except KeyError as problem:
        text = f"cvc={CVC} of {number}, {MAIL}, sk_live_{KEY}"
        raise RuntimeError(f"{text} at https://x.example/y?name=x-of-the-query") from problem


def log_a_crash() -> None:
    try:
        crash(APPROVED)
    except RuntimeError:
        structlog.get_logger("payments").exception(
            "payment_lost", card_number=APPROVED, url=f"/v1/x?card={APPROVED}&n=x-of-the-query",
            headers={"Authorization": "Bearer x-of-the-headers"}, body={"card": {"cvc": CVC}},
            customer={"email": MAIL},
        )  # fmt: skip


def test_a_report_is_the_line_of_the_log_without_cards_mails_and_queries(reports: Reports) -> None:
    log_a_crash()

    [report] = reports.all()
    event = json.loads(report.splitlines()[-1])
    assert (event["logentry"]["formatted"], event["logger"]) == ("payment_lost", "payments")
    assert event["fingerprint"][-1].endswith("test_reports.py:crash")
    assert "RuntimeError" in event["extra"]["exception"]
    assert (event["release"], event["environment"]) == ("1.0", "sandbox")
    assert event["server_name"] == "celery worker"
    assert set(event) <= {
        "level", "logger", "logentry", "fingerprint", "extra", "tags", "event_id", "timestamp",
        "release", "environment", "server_name", "sdk", "platform",
    }  # fmt: skip
    assert Written(lines=[report]).leaks(*SECRETS) == []


def test_the_search_finds_a_number_that_a_report_would_have(
    reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.logs.scrub", lambda event: event)

    log_a_crash()

    assert Written(lines=reports.all()).leaks()


def test_a_request_that_crashes_is_reported_without_what_it_brought(
    reports: Reports, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_arguments: Any, **_options: Any) -> None:
        crash(CRASHED)

    monkeypatch.setattr("payments.customers.customers.create", fails)

    answer = acme.post("/v1/customers", {"email": MAIL, "metadata": {"a": LOCAL}})

    sent = reports.all()
    assert answer.status == 500
    assert "request_crashed" in "".join(sent)
    assert Written(lines=sent).leaks(*SECRETS) == []


def test_a_warning_is_not_reported(reports: Reports) -> None:
    structlog.get_logger("payments").warning("payment_slow")

    assert reports.all() == []


@pytest.mark.timeout(30)
def test_a_sentry_that_never_answers_keeps_no_one_waiting() -> None:
    with listener() as port, Sentry(f"127.0.0.1:{port}"):
        # More than the queue holds; one answer alone would be waited for longer than this test has.
        for number in range(LONGEST_QUEUE * 2):
            structlog.get_logger("payments").error("payment_lost", number=number)


@pytest.mark.slow
def test_without_the_setting_the_library_is_not_even_loaded() -> None:
    status, said = run("-c", SAYS_LOADED, is_fresh=True)

    assert (status, said.split()[-1]) == (0, "False")


@pytest.mark.slow
def test_a_process_with_the_setting_reports_its_crash() -> None:
    code = f"{SETS_UP}; import logging; logging.getLogger('ours').error('it_is_lost')"
    with receiver() as ours:
        status, _said = run("-c", code, SENTRY_DSN=f"http://key@{ours.host}/1")

        assert status == 0
        assert ["it_is_lost" in _body(one.body) for one in ours.requests] == [True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dsn", "code", "sentence"),
    [
        ("https://c4nary@sentry.example/1", MISSING, "install requirements-sentry.txt"),
        ("http://c4nary@sentry.example/1", SETS_UP, "Set SENTRY_DSN to"),
        ("https://sentry.example/c4nary", SETS_UP, "Set SENTRY_DSN to"),
    ],
    ids=["no library", "no TLS", "no project"],
)
def test_a_start_that_cannot_report_says_so(dsn: str, code: str, sentence: str) -> None:
    status, said = run("-c", code, SENTRY_DSN=dsn)

    assert status == 1
    assert sentence in said
    assert "c4nary" not in said


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_process_that_was_forked_reports_from_there(tmp_path: Path) -> None:
    with receiver() as ours:
        dsn = f"http://key@{ours.host}/1"
        web = WebProcess(tmp_path / "web.log", "tests.stage.reporting_wsgi", SENTRY_DSN=dsn)
        web.send(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        until(lambda: any("it_is_lost" in _body(one.body) for one in ours.requests))
        web.stop()
