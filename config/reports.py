"""Reports of errors to Sentry, where `SENTRY_DSN` is set.

A report is a line of the log, as the log has it after the scrubber, without e-mail addresses and
queries. All that the library would collect by itself is off.
"""

import atexit
import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

from sentry_sdk import Client

# The loggers of the sending itself: a report of their errors would cause the next report.
SENDERS = ("sentry_sdk", "urllib3")
# A process waits so long at its end for reports that are on their way.
PATIENCE_SECONDS = 2.0
# Reports that wait to be sent; further ones are dropped.
LONGEST_QUEUE = 100

MAIL = re.compile(r"[^\s\"'<>()\[\]@=:;,/\\]+(?:@|%40)[\w-]+(?:\.[\w-]+)+")
QUERY = re.compile(r"\?[^\s\"'<>()]*=[^\s\"'<>()]*")
PLACE = re.compile(r'File "([^"]+)", line \d+, in (\S+)')


class SentryHandler(logging.Handler):
    """Report each line of level error; a thread of its own sends, and drops what it cannot send."""

    def __init__(self, *, dsn: str, release: str, environment: str) -> None:
        super().__init__(logging.ERROR)
        self._client = Client(
            dsn=dsn, release=release, environment=environment, server_name=process_name(),
            default_integrations=False, auto_enabling_integrations=False, integrations=[],
            include_local_variables=False, include_source_context=False,
            max_request_body_size="never", max_breadcrumbs=0, attach_stacktrace=False,
            traces_sample_rate=None, auto_session_tracking=False, send_client_reports=False,
            enable_backpressure_handling=False, transport_queue_size=LONGEST_QUEUE,
            debug=False, spotlight=False,
        )  # fmt: skip
        atexit.register(self.flush_and_close)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(SENDERS):
            return
        try:
            self._client.capture_event(_event(json.loads(self.format(record))))
        except Exception:  # noqa: BLE001 - A report that fails costs nothing but itself.
            return

    def flush_and_close(self) -> None:
        self._client.close(timeout=PATIENCE_SECONDS)


def process_name() -> str:
    """Return the program's name with its command, such as `celery worker`."""
    program, *arguments = sys.argv
    command = [one for one in arguments if one.isidentifier() and one != "config"]
    return " ".join([Path(program).name, *command[:1]])


def _event(line: dict[str, Any]) -> Any:
    shown = {name: _shown(value) for name, value in line.items()}
    level, logger, text = (shown.pop(name, "") for name in ("level", "logger", "event"))
    # Sentry makes one issue of all reports with the same line and place.
    places = [":".join(place) for place in PLACE.findall(shown.get("exception", ""))]
    event = {
        "level": "fatal" if level == "critical" else "error",
        "logger": logger,
        "logentry": {"formatted": text},
        "fingerprint": [logger, text, *places[-1:]],
        "extra": shown,
    }
    if "request_id" in shown:
        event["tags"] = {"request_id": shown["request_id"]}
    return event


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return MAIL.sub("[e-mail]", QUERY.sub("?[query]", text))
