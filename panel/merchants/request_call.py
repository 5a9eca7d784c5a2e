"""A request as a command to paste: without the key, and without the card."""

import json
import shlex
from typing import Any
from urllib.parse import quote

from django.conf import settings

from merchants.models import RequestLog

CARD = "card"
# Characters that an address may hold as they are.
PLAIN = "/:@!$&'()*+,;=-._~"


def curl(row: RequestLog) -> str:
    """Return the command that makes the request again; nothing if it cannot be put together.

    A body that was cut is none to send. Cards are left out, and an idempotency key is a new one:
    with the old one the answer would be the first one again.
    """
    body = _body(row)
    if row.kind != RequestLog.Kind.API or (row.request_body and body is None):
        return ""
    lines = [f"curl {_method(row.method or 'GET')}{shlex.quote(_address(row))}"]
    lines.append('-H "Authorization: Bearer $SECRET_KEY"')
    if row.idempotency_key:
        lines.append('-H "Idempotency-Key: $(uuidgen)"')
    if row.request_body:
        lines.append("-H 'Content-Type: application/json'")
        lines.append(f"-d {shlex.quote(json.dumps(body))}")
    return " \\\n  ".join(lines)


def _method(method: str) -> str:
    special = {"GET": "", "HEAD": "--head "}
    return special.get(method, f"-X {shlex.quote(method)} ")


def _address(row: RequestLog) -> str:
    address = settings.BASE_URL + quote(row.path, safe=PLAIN)
    # The query is as it was sent, but for what is not plain text.
    return f"{address}?{quote(row.query, safe=PLAIN + '?%[]')}" if row.query else address


def _body(row: RequestLog) -> Any:
    try:
        return _without_card(json.loads(row.request_body or ""))
    except (ValueError, RecursionError):
        return None


def _without_card(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_card(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without_card(inner)
        for name, inner in value.items()
        # `payment_method_options[card]` says nothing of a card, and stays.
        if not (name == CARD and isinstance(inner, dict) and "number" in inner)
    }
