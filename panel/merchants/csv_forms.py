"""The forms of a file: for programs, as the API writes values, and for a person's spreadsheet.

Source of the rule: panel contract, Exports.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from core import csv_rows, local_days, money
from panel import look
from panel.merchants.column_words import COLUMNS

Row = Sequence[Any]
# The input of the form, and the cookie that keeps the choice.
NAME = "csv_form"
# Amounts in minor units; a file with one has the currency too.
AMOUNTS = frozenset({
    "amount", "surcharge", "amount_received", "amount_capturable", "captured_minor",
    "refunded_minor", "amount_refundable", "fee", "net", "settled",
})  # fmt: skip
# Moments, written in UTC for programs.
INSTANTS = frozenset({"created", "canceled_at", "evidence_due_by"})
# Beside an amount the same in major units: a spreadsheet's amounts are all so.
MAJOR = "_major"


class CsvForm(NamedTuple):
    """One way to write a file.

    :param decimal: the decimal mark of amounts in major units; none: they stay in minor units.
    """

    name: str
    label: str | Promise
    delimiter: str = ","
    decimal: str = ""


PROGRAMS = CsvForm("programs", _("For programs: the API's names, UTC, minor units"))
EXCEL = CsvForm(
    "excel", _("For Excel: names in words, local time, 1234,50 between semicolons"), ";", ","
)
# As an English Excel reads a file.
POINTS = CsvForm(
    "excel_points", _("For Excel in English: the same, 1234.50 between commas"), decimal="."
)


def offered() -> list[CsvForm]:
    """Return the forms that a person of the page's language may choose."""
    is_english = (get_language() or "en").startswith("en")
    return [PROGRAMS, EXCEL, POINTS] if is_english else [PROGRAMS, EXCEL]


def chosen(request: HttpRequest) -> CsvForm:
    """Return the form that was chosen on the page, or the last time; else that for programs."""
    by_name = {form.name: form for form in offered()}
    wanted = request.POST.get(NAME) or request.COOKIES.get(NAME, "")
    return by_name.get(wanted, PROGRAMS)


def remember(response: HttpResponse, form: CsvForm) -> HttpResponse:
    """Let the browser keep the choice for the next file."""
    look.remember(response, {NAME: form.name})
    return response


def header(form: CsvForm, columns: Sequence[str]) -> list[str]:
    """Return the header: the API's names, or those of people in the page's language."""
    if form is PROGRAMS:
        return [*columns]
    return [str(COLUMNS.get(name, name)) for name in _kept(columns)]


def writer(form: CsvForm, columns: Sequence[str], zone: str) -> Callable[[Row], Row]:
    """Return the function that writes a row, given as it is for programs, in a form.

    :param zone: of the merchant, for moments.
    """
    if form is PROGRAMS:
        return list
    currency_at = columns.index("currency") if "currency" in columns else None
    places = [(columns.index(name), name) for name in _kept(columns)]

    def written(row: Row) -> Row:
        currency = row[currency_at] if currency_at is not None else None
        return [_written(form, name, row[place], currency, zone) for place, name in places]

    return written


def _kept(columns: Sequence[str]) -> list[str]:
    return [name for name in columns if not name.endswith(MAJOR)]


def _written(form: CsvForm, name: str, value: Any, currency: str | None, zone: str) -> Any:
    if name in AMOUNTS and currency and isinstance(value, int):
        number = f"{money.major(value, currency):f}".replace(".", form.decimal)
        return csv_rows.WrittenNumber(number)
    if name in INSTANTS and value:
        local = local_days.shown(datetime.fromisoformat(value), zone)
        return local.strftime("%Y-%m-%d %H:%M:%S")
    return value
