"""Lines of the service's processes as a developer reads them: a line for each of their requests."""

import json
import re

# Asked by the launcher and by pages for themselves; nobody waits for their line.
UNSEEN = re.compile(r"/(livez$|readyz$|healthz$|static/|favicon\.ico$)")
# The bank is asked by the service, twice a second; only its page for payers is a person's.
PAYERS_PAGE = "acs/"
GUNICORNS_CHATTER = re.compile(r"\[[^]]+\] \[\d+\] \[INFO\] ")
# Every line has these, and a developer does not look for them.
COMMON = {"event", "level", "logger", "timestamp", "exception"}


def readable(line: str) -> str | None:
    """Return the line as text, None for one that shows nothing of the developer's doing.

    A line that is no log line, such as a traceback of Python, stays as it is.
    """
    try:
        told = json.loads(line)
    except ValueError:
        return None if GUNICORNS_CHATTER.match(line) else line
    if not isinstance(told, dict) or "event" not in told:
        return line
    if told.get("level") not in ("debug", "info"):
        return _trouble(told)
    if told["event"] == "request" and not UNSEEN.match(told["path"]):
        return _request(told, told["path"])
    if told["event"] == "bank_request" and str(told["route"]).startswith(PAYERS_PAGE):
        return _request(told, told["route"])
    return None


def _request(told: dict, path: str) -> str:
    shown = f"{told['method']} {path}  {told['status']}  {round(told['duration_ms'])} ms"
    return f"{shown}  {told['request_id']}" if "request_id" in told else shown


def _trouble(told: dict) -> str:
    facts = [f"{name}={value}" for name, value in told.items() if name not in COMMON]
    first = " ".join([str(told.get("level", "")).upper(), str(told["event"]), *facts])
    return "\n".join([first, *str(told.get("exception") or "").splitlines()])
