"""The table of URLs below `/admin/`."""

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver

ARGUMENT = re.compile(r"<(?:\w+:)?\w+>")


def table(patterns: list[Any], before: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Yield each page of a table of URLs with the address at which it is tried."""
    for one in patterns:
        address = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from table(one.url_patterns, address)
        else:
            yield ARGUMENT.sub("1", address), one
