"""Traces: one of each request, round and delivery, without cards and queries, and none unasked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from structlog.testing import capture_logs

from config.celery import note_failed_round
from core import traces
from core.traces import sender
from core.traces.sender import SpanSender
from ledger.tasks import settle_due
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.draining import endpoint_at, run_until, tell
from tests.stage.factories import GOOD_CARD, SILENT_CARD, payment
from tests.stage.kills import until
from tests.stage.leaks import APPROVED, CVC, Written
from tests.stage.processes import run
from tests.stage.receivers import Receiver, receiver
from tests.stage.redis_places import listener
from tests.stage.transfers import pay_out, rich, sent
from tests.stage.web_process import Running, WebProcess
from tests.stage.webhook_workers import worker
from webhooks.models import Lane

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

MAIL, QUERY, TOKEN = "jane.roe@shop.example", "x-of-the-query", "c4nary-of-the-headers"
PARENT = "ab" * 16
# Redis' client loads the library's API by itself where it is installed, and uses none of it.
SAYS_LOADED = """
import sys, config.wsgi
print({"core.traces.sender", "opentelemetry.sdk.trace", "opentelemetry.exporter"} & {*sys.modules})
"""
SETS_UP = "import django; django.setup()"
MISSING = f"import sys; sys.modules['opentelemetry'] = None; {SETS_UP}"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
ROUND = "payments.charging.tasks.watch_cases"
SERVER_ERROR = b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"


class Seen(NamedTuple):
    """A span as the collector has it."""

    name: str
    kind: int
    trace: str
    id: str
    parent: str
    facts: dict[str, Any]
    is_failed: bool


def spans(collector: Receiver) -> list[Seen]:
    """Return all spans that have come."""
    read = [ExportTraceServiceRequest.FromString(one.body) for one in collector.requests]
    return [
        Seen(
            span.name, span.kind, span.trace_id.hex(), span.span_id.hex(),
            span.parent_span_id.hex(),
            {one.key: one.value.string_value or one.value.int_value for one in span.attributes},
            span.status.code == span.status.STATUS_CODE_ERROR,
        )
        for request in read
        for of_resource in request.resource_spans
        for of_scope in of_resource.scope_spans
        for span in of_scope.spans
    ]  # fmt: skip


def written(collector: Receiver) -> Written:
    """Return all that the collector got, to search it."""
    lines = [text for one in collector.requests for text in (*one.head, str(one.body))]
    return Written(lines=[*lines, *map(str, spans(collector))])


class Traced(NamedTuple):
    """This process with traces on, and their collector."""

    collector: Receiver

    def all(self) -> list[Seen]:
        """Wait until each span has come."""
        traces.end()
        return spans(self.collector)

    def by_name(self, name: str) -> Seen:
        [found] = [one for one in self.all() if one.name == name]
        return found


def switch_on(host: str) -> None:
    traces.state.sender = SpanSender(
        "web", endpoint=f"http://{host}/v1/traces", headers={"x-token": TOKEN}, ratio=1.0,
        service="",
    )  # fmt: skip


@pytest.fixture
def traced() -> Iterator[Traced]:
    with receiver() as collector:
        switch_on(collector.host)
        yield Traced(collector)
        traces.end()


def test_a_payment_is_a_trace_with_the_banks_answer_in_it(
    traced: Traced, acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay()

    request, call = sorted(traced.all(), key=lambda span: span.parent)
    assert (request.name, request.kind) == ("POST v1/payment_intents", 2)
    assert request.facts == {
        "http.request.method": "POST",
        "http.route": "v1/payment_intents",
        "http.response.status_code": 200,
        "pay.request_id": answer.headers["Request-Id"],
        "pay.waited_ms": 0,
    }
    assert (call.name, call.kind) == ("bank authorize", 3)
    assert (call.trace, call.parent) == (request.trace, request.id)
    assert call.facts == {
        "pay.terminal": "sandbox",
        "pay.operation": "authorize",
        "pay.result": "approved",
        "pay.request_id": answer.headers["Request-Id"],
    }
    assert not request.is_failed
    [sent_to] = {one.head[0] for one in traced.collector.requests}
    assert sent_to == "POST /v1/traces HTTP/1.1"
    assert traced.collector.requests[0].headers["x-token"] == TOKEN


def test_a_silent_bank_is_a_failed_call(
    traced: Traced, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "cut_after"

    acme.pay(SILENT_CARD)

    call = traced.by_name("bank authorize")
    assert (call.facts["pay.result"], call.is_failed) == ("unknown", True)


def test_a_refused_request_has_its_code_and_no_path(traced: Traced, acme: ApiClient) -> None:
    acme.get(f"/v1/payment_intents/pi_404?email={MAIL}&q={QUERY}")

    span = traced.by_name("GET v1/payment_intents/<str:intent_id>")
    assert span.facts["http.response.status_code"] == 400
    assert span.facts["error.type"] == "parameter_invalid"
    assert "pi_404" not in str(written(traced.collector))


def pay_with_everything_secret(acme: ApiClient) -> None:
    acme.pay(APPROVED, receipt_email=MAIL, metadata={"a": APPROVED})
    acme.pay("5526080000000014", receipt_email=MAIL)
    acme.get(f"/v1/customers?email={MAIL}&starting_after={QUERY}")
    acme.get(f"/v1/payment_intents/{APPROVED}?n={QUERY}")
    acme.get(f"/{APPROVED}")


def test_no_card_key_mail_or_query_leaves(
    traced: Traced, acme: ApiClient, bank: BankTransport
) -> None:
    pay_with_everything_secret(acme)

    assert len(traced.all()) >= 5
    key = acme.key
    assert written(traced.collector).leaks(MAIL, QUERY, key, key[-20:], f"sk_{key[3:20]}") == []


def test_the_search_finds_what_a_span_would_have(
    traced: Traced, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.traces.scrub", lambda value: value)
    monkeypatch.setattr("config.request_counts._route", lambda request: request.get_full_path())
    monkeypatch.setattr("config.request_counts.ROUTES.shown", lambda route: route)

    acme.get(f"/v1/payment_intents/{APPROVED}?n={QUERY}")

    traced.all()
    assert written(traced.collector).leaks()
    assert Written(lines=written(traced.collector).lines).leaks(QUERY)


def test_the_scrubber_hides_a_number_even_in_a_listed_fact(traced: Traced) -> None:
    traces.note_call("bank x", seconds=0, is_failed=False, terminal=f"{APPROVED} cvc={CVC}")

    traced.all()
    assert written(traced.collector).leaks() == []


def test_a_fact_that_is_not_listed_ends_the_tracing_and_no_payment(traced: Traced) -> None:
    with capture_logs() as logs:
        traces.note_call("bank x", seconds=0, is_failed=False, number=APPROVED)

    assert [one["event"] for one in logs] == ["traces_lost"]
    assert not traces.is_on()
    assert traced.all() == []


def test_a_callers_trace_is_not_gone_on_with_and_none_is_sent_to_the_bank(
    traced: Traced, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    send = BankTransport.send

    def listens(self: BankTransport, request: Any, **options: Any) -> Any:
        asked.extend(request.headers)
        return send(self, request, **options)

    monkeypatch.setattr(BankTransport, "send", listens)

    acme.post("/v1/payment_intents", payment(), traceparent=f"00-{PARENT}-{'cd' * 8}-01")

    assert len(traced.all()) == 2
    assert PARENT not in str(spans(traced.collector))
    assert asked
    assert not {"traceparent", "tracestate", "baggage"} & {name.lower() for name in asked}


def test_a_delivery_is_a_trace_by_itself_and_its_receiver_hears_nothing_of_it(
    traced: Traced, acme: ApiClient, settings: Any
) -> None:
    with receiver() as theirs:
        event = tell(endpoint_at(theirs, settings).merchant)
        run_until(lambda: not Lane.objects.exists())
        [delivered] = theirs.requests

    span = traced.by_name("webhook")
    assert (span.kind, span.parent, span.is_failed) == (3, "", False)
    assert span.facts["pay.event_id"] == event
    assert (span.facts["http.response.status_code"], span.facts["pay.attempt"]) == (200, 1)
    assert theirs.host not in str(written(traced.collector))
    assert "traceparent" not in delivered.headers


def test_a_round_and_a_transfer_are_traces(
    traced: Traced, acme: ApiClient, bank: BankTransport
) -> None:
    sent(pay_out(rich(acme))["id"])
    settle_due.apply()
    traces.open_trace()
    note_failed_round(sender=settle_due)

    found = {(one.name, one.is_failed): one for one in traced.all()}
    assert found["transfer send", False].facts["pay.result"] == "pending"
    assert found["ledger.tasks.settle_due", False].facts == {"pay.result": "succeeded"}
    assert found["ledger.tasks.settle_due", True].facts == {"pay.result": "failed"}


def test_a_look_at_the_health_is_no_trace(traced: Traced) -> None:
    assert Client().get("/livez").status_code == 200

    assert traced.all() == []


def test_a_collector_that_never_answers_keeps_no_one_waiting(
    acme: ApiClient, bank: BankTransport
) -> None:
    with listener() as port:
        switch_on(f"127.0.0.1:{port}")

        # More than the queue holds; one answer alone would be waited for longer than this test has.
        for _ in range(sender.LONGEST_QUEUE * 2):
            traces.note_call("bank x", seconds=0, is_failed=False)
        assert acme.pay(GOOD_CARD)["status"] == "succeeded"
        traces.end()


def test_a_collector_that_refuses_is_said_once(acme: ApiClient) -> None:
    with receiver(SERVER_ERROR) as collector, capture_logs() as logs:
        switch_on(collector.host)
        for _ in range(sender.BATCH * 2):
            traces.note_call("bank x", seconds=0, is_failed=False)
        traces.end()

    assert [one["event"] for one in logs] == ["traces_not_taken"]


@pytest.mark.slow
def test_without_the_setting_the_library_is_not_even_loaded() -> None:
    status, said = run("-c", SAYS_LOADED, is_fresh=True)

    assert (status, said.split()[-1]) == (0, "set()")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_headers_of_traces_may_come_from_a_file_and_a_named_protocol_is_the_one_spoken(
    tmp_path: Path,
) -> None:
    secret = tmp_path / "headers"
    secret.write_text(f"authorization=Bearer%20{TOKEN}\n")
    secret.chmod(0o400)
    code = f"{SETS_UP}; from core import traces; traces.begin('web');"
    code += "traces.note_call('bank x', seconds=0, is_failed=False); traces.end()"
    with receiver() as collector:
        named = {ENDPOINT: f"http://{collector.host}", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
        named["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"

        done = run("-c", code, **named, OTEL_EXPORTER_OTLP_TRACES_HEADERS_FILE=str(secret))

    assert done == (0, "")
    [asked] = collector.requests
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_process_that_was_forked_sends_from_there(tmp_path: Path) -> None:
    with receiver() as collector:
        web = WebProcess(tmp_path / "web.log", **{ENDPOINT: f"http://{collector.host}"})
        web.send(b"GET /v1/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        until(lambda: spans(collector))
        web.send(b"GET /v1/more HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        web.stop()

        assert len(spans(collector)) == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_worker_sends_its_rounds(tmp_path: Path, pool: str) -> None:
    options = ["-Q", "default", "-c", "1", "--pool", pool, "--without-mingle"]
    beat = ["-B", "-s", str(tmp_path / "schedule"), "--pidfile="]
    command = ["celery", "-A", "config", "worker", *options, *beat]
    with receiver() as collector:
        ours = Running(tmp_path / "log", command, **{ENDPOINT: f"http://{collector.host}"})
        until(lambda: ROUND in {span.name for span in spans(collector)})
        ours.stop()

    assert {one.is_failed for one in spans(collector) if one.name == ROUND} == {False}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_sender_of_webhooks_sends_its_attempts(tmp_path: Path, settings: Any) -> None:
    with receiver() as collector, receiver(SERVER_ERROR) as theirs:
        event = tell(endpoint_at(theirs, settings).merchant)
        with worker(tmp_path / "log", theirs.host, **{ENDPOINT: f"http://{collector.host}"}):
            until(lambda: spans(collector))

    [span] = spans(collector)
    assert (span.name, span.is_failed, span.facts["pay.event_id"]) == ("webhook", True, event)
    assert (span.facts["error.type"], span.facts["http.response.status_code"]) == (
        "http_status",
        500,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "code", "sentence"),
    [
        ({ENDPOINT: "https://c4nary.example"}, MISSING, "install requirements-otel.txt"),
        ({ENDPOINT: "http://c4nary.example"}, SETS_UP, f"Set {ENDPOINT} to"),
        ({ENDPOINT: "https://me:c4nary@otel.example"}, SETS_UP, f"Set {ENDPOINT} to"),
        (
            {ENDPOINT: "https://otel.example", "OTEL_EXPORTER_OTLP_HEADERS": "c4nary"},
            SETS_UP,
            "Set OTEL_EXPORTER_OTLP_HEADERS to",
        ),
        (
            {ENDPOINT: "https://otel.example", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "c4nary"},
            SETS_UP,
            "Set OTEL_EXPORTER_OTLP_TRACES_HEADERS to",
        ),
        (
            {
                ENDPOINT: "https://otel.example",
                "OTEL_EXPORTER_OTLP_HEADERS": "x=c4nary",
                "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "y=c4nary",
            },
            SETS_UP,
            "Set OTEL_EXPORTER_OTLP_HEADERS or OTEL_EXPORTER_OTLP_TRACES_HEADERS, and not both.",
        ),
        (
            {ENDPOINT: "https://otel.example", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            SETS_UP,
            "Set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf",
        ),
        (
            {
                ENDPOINT: "https://otel.example",
                "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json",
            },
            SETS_UP,
            "Set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL to http/protobuf",
        ),
        (
            {ENDPOINT: "https://otel.example", "OTEL_TRACES_SAMPLER_ARG": "2"},
            SETS_UP,
            "Set OTEL_TRACES_SAMPLER_ARG to",
        ),
    ],
    ids=[
        "no library",
        "no TLS",
        "a password",
        "no header",
        "no header of traces",
        "both headers",
        "gRPC",
        "JSON",
        "no ratio",
    ],
)
def test_a_start_that_cannot_trace_says_so(
    settings: dict[str, str], code: str, sentence: str
) -> None:
    status, said = run("-c", code, **settings)

    assert status == 1
    assert sentence in said
    assert "c4nary" not in said
