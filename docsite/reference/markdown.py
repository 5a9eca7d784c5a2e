"""Markdown as Sphinx and MyST read it."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import orjson


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a cell's line ends and bars are written so that it stays one cell."""
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def slug(text: str) -> str:
    """Return the fragment of a heading, as MyST and GitHub make it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def heading(level: int, name: str, *, anchor: str | None = None) -> str:
    """Return a heading of a name in code.

    :param anchor: a fragment that leads to it; Sphinx's own would have `-` in the place of `_`.
    """
    place = f'<a id="{anchor}"></a>\n\n' if anchor else ""
    return f"{place}{'#' * level} `{name}`\n"


def codes(names: Iterable[str]) -> str:
    """Return names in code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def json_block(value: Any) -> str:
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return f"```json\n{text}\n```\n"
