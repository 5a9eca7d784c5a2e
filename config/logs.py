"""One JSON line per log record, every line through the scrubber."""

from typing import Any

import structlog

from core import context
from core.scrub import scrub


def logging_config(*, level: str) -> dict[str, Any]:
    """Return the `logging` configuration that every process of the service uses."""
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
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # The access log tells the same in one line, without the query.
            "django.request": {"level": "CRITICAL"},
            "django.server": {"level": "CRITICAL"},
            # gunicorn's own access log prints queries.
            "gunicorn.access": {"level": "CRITICAL", "propagate": False},
            "gunicorn.error": {"handlers": ["stderr"], "level": level, "propagate": False},
        },
    }


def configure_structlog() -> None:
    """Send structlog's records through the standard library's handlers."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _with_request_id(_logger: Any, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    work = context.current()
    if work:
        event.setdefault("request_id", work.request_id)
    return event


def _scrub_line(_logger: Any, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    return {key: scrub(value, name=key) for key, value in event.items()}


_SHARED = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
    _with_request_id,
]
