"""No text of a file is a formula, wherever a spreadsheet cuts it."""

import csv
import io
import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from core import csv_rows, formulas

SIGNS = "=+-@＝＋－＠\t\r"
# Before a sign: nothing, blanks, line breaks, what nobody sees, and quotes.
BEFORE = [
    "", " ", "\xa0", "\u3000", "\u200b", "\ufeff", "\xad", "\u202e", "\x00", "\n", "\r\n", "\u2028",
    "\x0b", '"', ' "\u2060 ',
]  # fmt: skip
CUTS = [";", ",", "\t", "\n", "\r"]
# A file with commas, as others read it: with one separator or all, minding quotes or not.
READERS = [*product([";", ",", "\t", ";,\t"], [True, False])]


def texts() -> Iterator[str]:
    for sign, before in product(SIGNS, BEFORE):
        yield f"{before}{sign}1+1"
        for cut in CUTS:
            yield f"a{cut}{before}{sign}1+1"
            yield f'"{cut}{before}{sign}1+1"{cut}{sign}2'


def file_of(values: list[Any]) -> str:
    pieces = csv_rows.pieces(["id", "value", "next"], [["id_1", one, "x"] for one in values])
    return b"".join(pieces).decode("utf-8-sig")


def cells(file: str, separators: str, *, minds_quotes: bool) -> Iterator[str]:
    """Yield the cells that a spreadsheet makes of a file."""
    if minds_quotes and len(separators) == 1:
        for row in csv.reader(io.StringIO(file, newline=""), delimiter=separators):
            yield from row
        return
    # A cell with a quote at its beginning ends at the next lone one, if quotes are minded.
    quoted = r'"(?:[^"]|"")*"|' if minds_quotes else ""
    for found in re.finditer(rf"(?:{quoted})[^{separators}\r\n]*", file):
        yield found[0]


def is_formula(cell: str) -> bool:
    """Tell whether a spreadsheet that drops blanks, quotes and what nobody sees finds a sign.

    A number is none.
    """
    if re.fullmatch(r'-\d+(\.\d+)?[]}"]*', cell):
        return False
    dropped = ("Zs", "Zl", "Zp", "Cc", "Cf")
    seen = (char for char in cell if char != '"' and unicodedata.category(char) not in dropped)
    return next(seen, "") in tuple("=+-@＝＋－＠")


def formulas_in(values: list[Any]) -> list[str]:
    file = file_of(values)
    read = [
        (cell, reader)
        for reader in READERS
        for cell in cells(file, reader[0], minds_quotes=reader[1])
    ]
    assert len(read) > 20 * len(values)
    return [f"{cell!r} by {reader}" for cell, reader in read if is_formula(cell)]


def test_no_cell_of_a_file_is_a_formula() -> None:
    tried = [*texts()]

    assert formulas_in(tried) == []
    assert len(tried) == 1650


def test_no_cell_of_json_is_a_formula_and_it_reads_as_it_was() -> None:
    tried = [{"note": text, text: [text, -5, {"a": text}]} for text in texts()]

    assert formulas_in(tried) == []
    assert [json.loads(formulas.plain_json(one)) for one in tried] == tried


def test_a_file_as_it_was_before_has_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas, "plain", lambda text: f"'{text}" if text[0] in SIGNS else text)
    monkeypatch.setattr(formulas, "plain_json", json.dumps)

    assert len(formulas_in([*texts()])) > 1000
    assert formulas_in([{"a": "x;=1"}, {"a": 1, "=2": 3}])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1", "'=1"), ("\t=1", "'\t'=1"), ("\r=1", "'\r'=1"), ("  =1", "  '=1"),
        ("a;=1", "a;'=1"), ("a, -1", "a, '-1"), ("a\t＠b", "a\t'＠b"), ("a\r\n+1", "a\r\n'+1"),
        ("a;\u200b\xa0＝1", "a;\u200b\xa0'＝1"), ('x;"=1', 'x;"\'=1'),
    ],
)  # fmt: skip
def test_the_mark_stands_before_the_sign(text: str, written: str) -> None:
    assert formulas.plain(text) == written


@pytest.mark.parametrize(
    "text", ["", "2026-11-24T08:30:00Z", "a=b", "ada+shop@x.example", "a;b-c", "1,250", "x = y; z"]
)
def test_other_texts_stay(text: str) -> None:
    assert formulas.plain(text) == text


def test_numbers_of_json_stay() -> None:
    assert formulas.plain_json([1, -5, {"a": -1.5, "b": ";-1"}]) == (
        '[1,-5,{"a":-1.5,"b":";\\u002d1"}]'
    )


def test_all_that_nobody_sees_is_not_counted() -> None:
    unseen = [
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(char) in ("Zs", "Zl", "Zp", "Cc", "Cf")
    ]

    assert [char for char in unseen if formulas.plain(f";{char}=") not in written(char)] == []
    assert len(unseen) > 200


def written(char: str) -> tuple[str, ...]:
    return f";{char}'=", f";'{char}'="


@pytest.mark.parametrize("text", [";" * 500_000 + "=", "; " * 250_000 + "=", " " * 500_000 + "x-"])
def test_a_long_text_takes_no_longer_than_its_length(text: str) -> None:
    assert len(formulas.plain(text)) - len(text) == text.endswith("=")
