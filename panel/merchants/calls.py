"""Calls of the API as commands to paste, for pages that do what the API does."""

import shlex
from collections.abc import Iterable

from django.conf import settings
from django.http import QueryDict

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
