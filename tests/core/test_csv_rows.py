"""CSV that spreadsheets read as it was meant."""

import csv
import io
from decimal import Decimal

import pytest

from core import csv_rows


def read(*rows):
    """Return the cells that a spreadsheet reads."""
    csv.field_size_limit(2**21)
    text = b"".join(csv_rows.pieces(["id"], rows)).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))[1:]


@pytest.mark.parametrize("text", ['=HYPERLINK("x")', "+1", "-1", "@SUM(A1)"])
def test_a_text_is_no_formula(text):
    assert read([text]) == [[f"'{text}"]]


@pytest.mark.parametrize("number", [-5, 0, Decimal("-12.50")])
def test_a_number_stays(number):
    assert read([number]) == [[str(number)]]


@pytest.mark.parametrize(
    "text", ['say "hi"', "a,b", "one\ntwo", "one\r\ntwo", "İğne;", "1" * 2**20]
)
def test_a_text_comes_back_as_it_was(text):
    assert read([text, "next"]) == [[text, "next"]]


def test_other_values_have_one_form_each():
    assert read([None, True, False, {"a": [1, "ş"]}]) == [["", "true", "false", '{"a":[1,"ş"]}']]


def test_a_file_begins_with_the_mark_and_its_header():
    assert list(csv_rows.pieces(["id", "amount"], [])) == [b"\xef\xbb\xbfid,amount\r\n"]


def test_rows_are_asked_for_as_they_are_written():
    asked = []
    rows = (asked.append(number) or ["x" * 1000] for number in range(10_000))

    file = csv_rows.pieces(["id"], rows)

    assert next(file).endswith(b"id\r\n")
    assert not asked
    assert len(next(file)) < 2 * csv_rows.PIECE_CHARACTERS
    assert len(asked) < 100
