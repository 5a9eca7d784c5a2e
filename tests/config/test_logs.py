"""Every process logs one JSON line per record, and no line shows a card number or a secret."""

import io
import json
import logging
import os
import subprocess
import sys

import pytest

from config.logs import LineHandler
from devstack.state import ROOT

CARD = "4242424242424242"
KEY = "sk_sandbox_" + "a1B2c3D4e5" * 4 + "9xYz"
# The message in two parts: since Python 3.13 a traceback shows the line that raises it, too.
CRASH = f"""
def crash():
    try:
        raise ValueError('Failing row ' + 'contains ({CARD}, {KEY}).')
    except ValueError as cause:
        raise RuntimeError('no luck with 4242 4242 4242 4242') from cause
"""
SETUP = "import django; django.setup()\n"
LOGGING = {
    "standard library": f"""
import logging
log = logging.getLogger("somebody.elses")
log.warning("paid with %s", {CARD!r})
log.warning({{"number": {CARD!r}, "cvc": "987"}})
try:
    crash()
except RuntimeError:
    log.exception("crashed with %s", {KEY!r}, stack_info=True)
""",
    "structlog": f"""
import structlog
log = structlog.get_logger("ours")
log.info("paid", number="987", note="with {CARD}", nested={{"a": [{CARD!r}], "cvc": "987"}})
try:
    crash()
except RuntimeError:
    log.exception("crashed", key={KEY!r})
log.info("of an int", amount={CARD}, raw=b"{CARD}")
log.info("as a name", **{{"{CARD}": 1, "4242 4242 4242 4242": {{"{CARD}": 2}}, "{KEY}": 3}})
""",
    "arguments that do not fit": f"""
import logging
log = logging.getLogger("somebody.elses")
log.warning("one %s two %s", {CARD!r})
log.warning("a number %d", {CARD!r})
log.warning("after")
""",
    "celery": f"""
from celery.utils.log import get_task_logger
from config.celery import app
app.log.setup(loglevel="INFO", redirect_stdouts=True)
log = get_task_logger("payments.charging.tasks")
log.warning("paid with %s", {CARD!r})
try:
    crash()
except RuntimeError:
    log.exception("task crashed")
import logging
logging.getLogger("celery.worker").warning("paid with %s", {CARD!r})
logging.getLogger("celery.app.trace").error("Task %s raised", "t", exc_info=None)
""",
    "gunicorn": f"""
from gunicorn.app.base import BaseApplication
from gunicorn.config import Config
from gunicorn.glogging import Logger
from config import gunicorn
config = Config()
config.set("logconfig_dict", gunicorn.logconfig_dict)
log = Logger(config)
log.warning("Invalid request from %s", {CARD!r})
try:
    crash()
except RuntimeError:
    log.exception("Socket error processing request.")
    log.error("Exception in worker process", exc_info=True)
""",
    "warnings": f"""
import warnings
warnings.warn("old way to pay with {CARD}")
""",
    "a crash of the process": "crash()",
    "a crash of a thread": """
import threading
thread = threading.Thread(target=crash)
thread.start()
thread.join()
""",
}


def lines_of(code: str) -> list[dict[str, object]]:
    """Run the code in a process of the service; return what it logged."""
    done = subprocess.run(
        [sys.executable, "-c", SETUP + CRASH + code],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert done.stdout == ""
    return [json.loads(line) for line in done.stderr.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGGING)
def test_what_is_logged_is_json_lines_without_secrets(name: str) -> None:
    lines = lines_of(LOGGING[name])

    # The time's digits may be any.
    text = json.dumps([{**line, "timestamp": ""} for line in lines])
    assert lines
    for secret in (CARD, "4242 4242 4242 4242", KEY, "987"):
        assert secret not in text
    for line in lines:
        assert line.keys() >= {"event", "level", "logger", "timestamp"}
    if "crash()" in LOGGING[name] or "=crash" in LOGGING[name]:
        assert "RuntimeError: no luck with 424242******4242" in text
        assert "ValueError: Failing row contains ([redacted])." in text


def test_a_line_that_cannot_be_written_does_not_stop_the_next() -> None:
    lines = lines_of(LOGGING["arguments that do not fit"])

    assert [line["event"] for line in lines] == [
        "The line of <string>:11 could not be written: TypeError",
        "The line of <string>:12 could not be written: TypeError",
        "after",
    ]
    assert lines[0]["logger"] == "somebody.elses"


def test_a_stream_that_is_gone_stops_nobody() -> None:
    stream = io.StringIO()
    stream.close()
    handler = LineHandler(stream)

    handler.handle(logging.LogRecord("a", logging.INFO, "", 0, "text", (), None))


# --- A database that is away ------------------------------------------------------------------

OUTAGE = """
import logging, time
import structlog
from django.db import OperationalError
from config import logs
log, other = structlog.get_logger("ours"), logging.getLogger("celery.app.trace")

def round():
    try:
        raise OperationalError("connection refused\\n  Is the server running?")
    except OperationalError:
        log.exception("rows_not_looked_for")
        other.error("Task raised unexpected", exc_info=True)
    log.error("database_unavailable", sqlstate=None)
    logging.getLogger("psycopg.pool").warning("error connecting in %r", "pool-1")
    log.error("something_else")

for _ in range(50):
    round()
logs.OUTAGE_SECONDS = 0.0
round()
"""


def test_an_outage_is_a_line_of_each_kind_and_hides_nothing_else() -> None:
    lines = lines_of(SETUP + OUTAGE)

    told = [line["event"] for line in lines]
    kinds = ["rows_not_looked_for", "Task raised unexpected", "database_unavailable"]
    assert [told.count(kind) for kind in kinds] == [2, 2, 2]
    assert told.count("error connecting in 'pool-1'") == 2
    assert told.count("something_else") == 51
    assert [line.get("left_out_before") for line in lines if line["event"] == kinds[0]] == [
        None,
        49,
    ]
