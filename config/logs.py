"""One JSON line per log record, every line through the scrubber."""

import logging
import re
import sys
import threading
import time
from types import TracebackType
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

from core import context
from core.scrub import scrub

CELERY_CHATTER = (
    "celery.beat", "celery.worker.strategy", "celery.app.trace", "celery.worker.request",
)  # fmt: skip
LOST_LINE = "The line of %s could not be written: %s"


# While the database is away every request, round and connection says so: one line of each kind in
# so many seconds, with the number of those that were left out.
OUTAGE_SECONDS = 10.0
OUTAGE_EVENTS = frozenset({"database_unavailable", "webhook_database_away"})
OUTAGE_LOGGERS = frozenset({"psycopg.pool"})
OUTAGE_ERRORS = ("OperationalError", "PoolTimeout")
# Of a traceback; a message may have more lines.
OUTAGE_TRACE = re.compile(rf"^[\w.]*({'|'.join(OUTAGE_ERRORS)})\b", re.MULTILINE)


class OneLineOfAnOutage(logging.Filter):
    """Let a line about a database that is away through, and no other of its kind for a while."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._said_at: dict[tuple[str, str], float] = {}
        self._left_out: dict[tuple[str, str], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        event = record.msg if isinstance(record.msg, dict) else {"event": str(record.msg)}
        if not _is_of_an_outage(record, event):
            return True
        kind, now = (record.name, str(event.get("event"))), time.monotonic()
        with self._lock:
            if now - self._said_at.get(kind, -OUTAGE_SECONDS) < OUTAGE_SECONDS:
                self._left_out[kind] = self._left_out.get(kind, 0) + 1
                return False
            self._said_at[kind] = now
            left_out = self._left_out.pop(kind, 0)
        if left_out and isinstance(record.msg, dict):
            record.msg = {**record.msg, "left_out_before": left_out}
        return True


def _is_of_an_outage(record: logging.LogRecord, event: dict[str, Any]) -> bool:
    if record.name in OUTAGE_LOGGERS or event.get("event") in OUTAGE_EVENTS:
        return True
    if record.exc_info and record.exc_info[0]:
        return record.exc_info[0].__name__ in OUTAGE_ERRORS
    return bool(OUTAGE_TRACE.search(str(event.get("exception", ""))))


class LineHandler(logging.StreamHandler):
    """Write lines to stderr, also in the place of one that cannot be written."""

    def handleError(self, record: logging.LogRecord) -> None:
        # The standard library's prints the record's arguments as they are.
        if record.msg == LOST_LINE:
            return  # Nobody can be told: the stream itself is gone.
        reason, place = _name(sys.exc_info()[0]), f"{record.module}:{record.lineno}"
        told = (LOST_LINE, (place, reason), None)
        self.emit(logging.LogRecord(record.name, logging.ERROR, "", 0, *told))


def logging_config(*, level: str, reports: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the `logging` configuration that every process of the service uses.

    :param reports: terms of `config.reports.SentryHandler`; without them nothing of it is loaded.
    """
    handlers = ["stderr", "reports"] if reports else ["stderr"]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    # Last before the line is written, so that tracebacks are scrubbed too:
                    # a database error prints the neighbouring columns.
                    _scrub_line,
                    structlog.processors.JSONRenderer(),
                ],
            },
        },
        # One for each handler: it counts what it has seen.
        "filters": {f"outage_{name}": {"()": OneLineOfAnOutage} for name in handlers},
        "handlers": {
            name: {
                **({"()": LineHandler} if name == "stderr" else _reporter(reports)),
                "formatter": "json",
                "filters": [f"outage_{name}"],
            }
            for name in handlers
        },
        "root": {"handlers": handlers, "level": level},
        "loggers": {
            # The access log tells the same in one line, without the query.
            "django.request": {"level": "CRITICAL"},
            "django.server": {"level": "CRITICAL"},
            # Three lines for each run of each task, every second or two; one for each expired.
            **{name: {"level": "WARNING"} for name in CELERY_CHATTER},
            # Four lines for each request.
            "psycopg.pool": {"level": "WARNING"},
            # A line for each batch that a collector does not take; `traces_not_taken` says it once.
            "opentelemetry": {"level": "CRITICAL"},
            # gunicorn's own access log prints queries.
            "gunicorn.access": {"level": "CRITICAL", "propagate": False},
            "gunicorn.error": {"handlers": handlers, "level": level, "propagate": False},
        },
    }


def _reporter(terms: dict[str, str] | None) -> dict[str, Any]:
    # By its name: the library is there only where reports are wanted.
    return {"()": "config.reports.SentryHandler", **(terms or {})}


def configure_logs() -> None:
    """Send structlog's records, warnings and crashes through the standard library's handlers."""
    logging.captureWarnings(True)
    sys.excepthook = _log_crash
    threading.excepthook = lambda crash: _log_crash(
        crash.exc_type, crash.exc_value or crash.exc_type(), crash.exc_traceback
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _log_crash(
    kind: type[BaseException], problem: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, Exception):
        sys.__excepthook__(kind, problem, trace)  # Ctrl-C is no crash.
        return
    logging.getLogger("process").critical("process_crashed", exc_info=(kind, problem, trace))


def _name(kind: type[BaseException] | None) -> str:
    return kind.__name__ if kind else "unknown"


def _with_request_id(_logger: Any, _method: str, event: EventDict) -> EventDict:
    work = context.current()
    if work:
        event.setdefault("request_id", work.request_id)
    return event


def _scrub_line(_logger: Any, _method: str, event: EventDict) -> EventDict:
    # As a whole: a name may be what somebody sent.
    return scrub(event)


_SHARED: list[Processor] = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
    _with_request_id,
]
