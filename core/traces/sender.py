"""The sender of spans: OpenTelemetry's SDK, and OTLP by HTTP; loaded where traces are on.

Nothing that the library would find by itself is in a span: its resource is named here.
"""

import atexit
import time
from collections.abc import Mapping, Sequence
from threading import Lock

import structlog
from django.conf import settings
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Tracer
from opentelemetry.trace.status import StatusCode

from core.heartbeat import ProcessKind
from core.traces import Span

# The collector gets so long for one batch, with all tries.
ANSWER_SECONDS = 2.0
# At its end a process begins no further batch after this time.
PATIENCE_SECONDS = 2.0
# Spans that wait; further ones are dropped.
LONGEST_QUEUE, BATCH = 2048, 512
PAUSE_SECONDS = 2.0
KINDS = {
    "server": trace.SpanKind.SERVER,
    "client": trace.SpanKind.CLIENT,
    "internal": trace.SpanKind.INTERNAL,
}

log = structlog.get_logger(__name__)


class SpanSender:
    """Make the library's spans; its own thread sends them, and begins with the first one.

    So a process that was forked has a thread of its own.

    :param service: the name of the service; by default one for each kind of process.
    :param ratio: the part of traces that is sent, 0 to 1.
    """

    def __init__(
        self, kind: ProcessKind, *, endpoint: str, headers: Mapping[str, str], ratio: float,
        service: str,
    ) -> None:  # fmt: skip
        self._service, self._ratio = service or f"pay-{kind}", ratio
        self._endpoint, self._headers = endpoint, headers
        self._beginning = Lock()
        self._tracer: Tracer | None = None

    def send(self, root: Span, calls: Sequence[Span]) -> None:
        """Give a trace to the thread that sends; it never waits."""
        with self._beginning:
            tracer = self._tracer = self._tracer or self._begin()
        made = _started(tracer, root, Context())
        if made.is_recording():
            within = trace.set_span_in_context(made, Context())
            for call in calls:
                _end(_started(tracer, call, within), call)
        _end(made, root)

    def end(self) -> None:
        """Send what waits, for four seconds at most if the collector is silent."""
        atexit.unregister(self.end)
        if self._tracer:
            self._tracer = None
            self._exporter.close_soon()
            self._provider.shutdown()

    def _begin(self) -> Tracer:
        resource = Resource({
            "service.name": self._service,
            "service.version": settings.RELEASE,
            "deployment.environment.name": settings.INSTALLATION,
        })  # fmt: skip
        self._exporter = _Exporter(
            OTLPSpanExporter(self._endpoint, headers=self._headers, timeout=ANSWER_SECONDS)
        )
        # A caller's trace is never a parent, so the ratio decides about each root.
        sampler = ParentBased(TraceIdRatioBased(self._ratio))
        self._provider = TracerProvider(sampler, resource, shutdown_on_exit=False)
        processor = BatchSpanProcessor(
            self._exporter, LONGEST_QUEUE, PAUSE_SECONDS * 1000, BATCH, ANSWER_SECONDS * 1000
        )
        self._provider.add_span_processor(processor)
        atexit.register(self.end)
        return self._provider.get_tracer("pay", settings.RELEASE)


class _Exporter(SpanExporter):
    """Send by the library, say once that the collector takes nothing, and end in time."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._ends_at = float("inf")
        self._is_taken = True

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if time.monotonic() > self._ends_at:
            return SpanExportResult.FAILURE
        result = self._exporter.export(spans)
        is_taken = result is SpanExportResult.SUCCESS
        if self._is_taken and not is_taken:
            log.warning("traces_not_taken")
        self._is_taken = is_taken
        return result

    def close_soon(self) -> None:
        self._ends_at = time.monotonic() + PATIENCE_SECONDS

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _started(tracer: Tracer, span: Span, within: Context) -> trace.Span:
    made = tracer.start_span(
        span.name, within, KINDS[span.kind], span.attributes(),
        start_time=_nanoseconds(span.began_at),
    )  # fmt: skip
    if span.is_failed:
        made.set_status(StatusCode.ERROR)
    return made


def _end(made: trace.Span, span: Span) -> None:
    made.end(_nanoseconds(span.began_at + span.seconds))


def _nanoseconds(at: float) -> int:
    return int(at * 1_000_000_000)
