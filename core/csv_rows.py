"""CSV as spreadsheets read it: UTF-8 with a mark, formulas escaped, written in small pieces."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from core import formulas

CONTENT_TYPE = "text/csv; charset=utf-8"
# Without it spreadsheets read UTF-8 as their own country's encoding.
MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
PIECE_CHARACTERS = 65_536


class WrittenNumber(str):
    """A number in the notation of a country, such as `-12,50`: it stays, as other numbers do."""

    __slots__ = ()


def pieces(
    header: Sequence[str], rows: Iterable[Sequence[Any]], *, delimiter: str = ","
) -> Iterator[bytes]:
    """Return a file piece by piece: the mark and the header at once, then rows as they come.

    :param rows: of values: text, numbers, truth, None, or what is written as JSON.
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    text.write(MARK)
    writer.writerow(header)
    yield _taken(text)
    for row in rows:
        writer.writerow([cell(value) for value in row])
        if text.tell() >= PIECE_CHARACTERS:
            yield _taken(text)
    if text.tell():
        yield _taken(text)


def cell(value: Any) -> Any:
    """Return a value as a cell holds it: texts cannot be formulas, numbers stay.

    Source of the rule: panel contract, Exports.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return formulas.plain_json(value)
    is_text = isinstance(value, str) and not isinstance(value, WrittenNumber)
    return formulas.plain(value) if is_text else value


def _taken(text: io.StringIO) -> bytes:
    written = text.getvalue().encode()
    text.seek(0)
    text.truncate()
    return written
