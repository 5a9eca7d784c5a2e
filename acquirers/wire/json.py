"""JSON to a bank and back."""

import json
from typing import Any

import requests
import structlog

from acquirers.wire.http import NoAnswer, Received, get, post

JSON = "application/json"

log = structlog.get_logger(__name__)


def post_json(session: requests.Session, url: str, sent: dict[str, Any], *, seconds: float) -> Any:
    """Send an object once and return the answer's JSON, all within `seconds` of real time.

    :raises NotSent: nothing left this machine; safe to call failed.
    :raises NoAnswer: anything else but a whole, readable 200.
    """
    return _read(post(session, url, json.dumps(sent).encode(), JSON, seconds=seconds))


def get_json(session: requests.Session, url: str, *, seconds: float) -> Any:
    """Ask for something that changes nothing at the bank, and return the answer's JSON.

    :raises NoAnswer: anything else but a whole, readable 200.
    """
    return _read(get(session, url, seconds=seconds))


def _read(received: Received) -> Any:
    try:
        return json.loads(received.content)
    except (ValueError, RecursionError) as error:
        log.warning("bank_answer_unreadable", error=type(error).__name__)
        # `from None`: a JSONDecodeError carries the whole document.
        raise NoAnswer from None
