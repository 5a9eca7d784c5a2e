"""Calls of the API as commands to paste, for pages that do what the API does."""

import json
import shlex
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.http import QueryDict

from merchants.models import RequestLog

# The value of each `-d` is percent-encoded by curl where it has to be: `--data-urlencode`.
Field = tuple[str, str]


_METHOD = "payment_method_data"
_PAYER = f"{_METHOD}[billing_details]"


def first_payment(currency: str) -> tuple[str, list[Field]]:
    """Return path and fields of a payment by a test card that is approved at once."""
    return "/v1/payment_intents", [
        ("amount", "12500"),
        ("currency", currency),
        ("confirm", "true"),
        ("description", "First payment"),
        (f"{_METHOD}[type]", "card"),
        (f"{_METHOD}[card][number]", "4242424242424242"),
        (f"{_METHOD}[card][exp_month]", "12"),
        (f"{_METHOD}[card][exp_year]", "2040"),
        (f"{_METHOD}[card][cvc]", "123"),
        (f"{_PAYER}[name]", "Ada Test"),
        (f"{_PAYER}[email]", "ada@shop.example"),
        (f"{_PAYER}[address][line1]", "Test Street 1"),
        (f"{_PAYER}[address][city]", "Istanbul"),
        (f"{_PAYER}[address][country]", "TR"),
    ]


def listing(path: str, query: QueryDict) -> str:
    """Return the command that asks for a list.

    :param query: the list's filter, in the API's terms.
    """
    asked = query.urlencode()
    return curl("GET", f"{path}?{asked}" if asked else path)


def curl(method: str, path: str, fields: Iterable[Field] = ()) -> str:
    """Return the command that makes a call; the key is read from `$SECRET_KEY`.

    :param fields: of the form that is sent, each name with one value.
    """
    verb = "" if method in ("GET", "POST") else f"-X {method} "
    lines = [f"curl {verb}{shlex.quote(settings.BASE_URL + path)}"]
    lines.append('-H "Authorization: Bearer $SECRET_KEY"')
    given = [f"--data-urlencode {shlex.quote(f'{name}={value}')}" for name, value in fields]
    # Without a field curl would GET.
    if method == "POST" and not given:
        lines.append("-X POST")
    return " \\\n  ".join([*lines, *given])


CARD = "card"
# Characters that an address may hold as they are.
PLAIN = "/:@!$&'()*+,;=-._~"


def again(row: RequestLog) -> str:
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
