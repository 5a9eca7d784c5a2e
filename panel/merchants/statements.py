"""Statements by currency and month: listed, shown to be printed, and as CSV files."""

import re
from collections.abc import Iterator
from datetime import date, datetime
from itertools import groupby
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from core import local_days
from ledger.models import Account
from merchants.models import Member, Merchant
from panel import permissions
from panel.merchants import downloads, statement_rows
from panel.merchants.downloads import AnotherIsRunning, CsvFile, TurnsAway
from panel.merchants.exports import AWAY, RUNNING
from panel.merchants.pages import page, proof_required, show
from panel.permissions import Right
from payouts.statements import drafting
from payouts.statements.models import Statement

# A month and a currency: `2026-11-try`.
NAME = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-([a-z]{3})", re.ASCII)


class Sheet(NamedTuple):
    """A statement as it is shown; one of the running month is provisional."""

    statement: Statement
    is_final: bool

    @property
    def name(self) -> str:
        return f"{self.statement.month:%Y-%m}-{self.statement.currency}"

    @property
    def shift(self) -> int:
        """Return by how many minutes the period is longer because its zone changed."""
        made = self.statement
        midnight = local_days.begins(made.month, made.timezone)
        return round((midnight - made.begins_at).total_seconds() / 60)


@page()
def statements(request: HttpRequest, member: Member) -> HttpResponse:
    """List the statements of all currencies, the newest first, and the month that runs."""
    shown = {"books": [*_books(member.merchant)]}
    return show(request, "panel/statements/list.html", shown)


@page()
def statement(request: HttpRequest, member: Member, statement: str) -> HttpResponse:
    """Show the statement of a month, to be read and printed."""
    sheet = _find(member.merchant, statement)
    made = sheet.statement
    shown = {
        "sheet": sheet,
        "made": made,
        "lines": statement_rows.lines(made),
        "whole": statement_rows.whole(made),
        "payouts": statement_rows.payouts(made),
        **_times(made),
        "months": _beside(member.merchant, sheet),
        "hours": abs(sheet.shift) / 60,
        "may_export": permissions.may(member, Right.EXPORT),
    }
    return show(request, "panel/statements/statement.html", shown)


@page("POST")
@proof_required
def export_statement(request: HttpRequest, member: Member, statement: str) -> HttpResponse:
    """Say what the file of a statement has, and send it."""
    sheet = _find(member.merchant, statement)
    try:
        if request.method == "POST":
            return downloads.answer(member, _file(sheet))
    except AnotherIsRunning:
        return _asked(request, sheet, problem=RUNNING, status=409)
    except TurnsAway:
        return _asked(request, sheet, problem=AWAY, status=503)
    return _asked(request, sheet)


def _asked(
    request: HttpRequest, sheet: Sheet, *, status: int = 200, problem: Any = ""
) -> HttpResponse:
    back = reverse("panel:statement", args=[sheet.statement.merchant_id, sheet.name])
    shown = {"sheet": sheet, "made": sheet.statement, "back": back, "problem": problem}
    return show(request, "panel/statements/export.html", shown, status=status)


def _file(sheet: Sheet) -> CsvFile:
    def pages() -> Iterator[list[tuple[Any, ...]]]:
        yield statement_rows.cells(sheet.statement, is_final=sheet.is_final)

    return CsvFile(
        name=f"statement_{sheet.statement.merchant_id}_{sheet.name}.csv",
        columns=statement_rows.COLUMNS,
        pages=pages(),
        subject=sheet.statement.id if sheet.is_final else sheet.name,
        kept={"month": f"{sheet.statement.month:%Y-%m}", "currency": sheet.statement.currency},
    )


def _books(merchant: Merchant) -> Iterator[tuple[str, list[Sheet]]]:
    kept = Statement.objects.for_merchant(merchant).defer("lines", "payouts")
    rows = {
        currency: [Sheet(row, is_final=True) for row in found]
        for currency, found in groupby(kept.order_by("currency", "-month"), _currency)
    }
    accounts = Account.objects.for_merchant(merchant).filter(kind=Account.Kind.AVAILABLE)
    for currency in accounts.order_by("currency").values_list("currency", flat=True):
        final = rows.get(currency, [])
        last = final[0].statement if final else None
        month = drafting.next_month(merchant, currency, last)
        if month:
            running = Statement(merchant=merchant, currency=currency, month=month)
            running.opening = last.closing if last else 0
            yield currency, [Sheet(running, is_final=False), *final]


def _currency(row: Statement) -> str:
    return row.currency


def _find(merchant: Merchant, name: str) -> Sheet:
    """Return the statement of a month in a currency.

    :raises Http404: the month lies before the first movement or is to come, or is none.
    """
    parts = NAME.fullmatch(name)
    if parts is None or parts[1] == "0000":
        raise Http404
    month, currency = date(int(parts[1]), int(parts[2]), 1), parts[3]
    rows = Statement.objects.for_merchant(merchant)
    kept = rows.filter(currency=currency, month=month).first()
    if kept is not None:
        return Sheet(kept, is_final=True)
    running = drafting.running(merchant, currency)
    if running is None or running.month != month:
        raise Http404
    return Sheet(running, is_final=False)


def _times(made: Statement) -> dict[str, datetime]:
    """Return the instants of a statement by the clocks of its own zone."""
    moments = {"begins": made.begins_at, "ends": made.ends_at, "made_at": made.created_at}
    return {name: local_days.shown(moment, made.timezone) for name, moment in moments.items()}


def _beside(merchant: Merchant, sheet: Sheet) -> dict[str, date | None]:
    """Return the months before and after, as far as they have statements."""
    made = sheet.statement
    rows = Statement.objects.for_merchant(merchant).filter(currency=made.currency)
    before = rows.filter(month__lt=made.month).order_by("-month").values_list("month", flat=True)
    after = drafting.following(made.month) if sheet.is_final else None
    return {"before": before.first(), "after": after}
