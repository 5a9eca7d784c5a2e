"""Exports: a list's rows as a CSV file, with its own filter (panel contract: Exports)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _

from core import clock, standby
from core.errors import DomainError
from core.querysets import MerchantRows
from core.rest import list_walks
from core.rest.list_query import CURSORS
from core.rest.list_walks import Newest
from core.rest.lists import ListSpec
from merchants.models import Member
from panel.merchants import addresses, csv_forms, downloads, export_columns, listing
from panel.merchants.csv_forms import CsvForm
from panel.merchants.downloads import AnotherIsRunning, CsvFile, CsvPage, TurnsAway
from panel.merchants.export_lists import LISTS, Exported
from panel.merchants.filter_words import in_words, moment_of
from panel.merchants.list_forms import AMOUNTS, BOUNDS
from panel.merchants.pages import page, proof_required, show
from panel.patience import TookTooLong, limited

TEMPLATE = "panel/exports/export.html"
ROWS_MOST = 100_000
PAGE_ROWS = 1_000
# Inputs of the lists that only their own page translates into the API's terms.
OF_PEOPLE = {*BOUNDS, *AMOUNTS, "metadata_key", "metadata_value"}
# Filters with texts that a merchant may have to forget, with a customer.
OF_PAYERS = {"email", "q", "metadata"}
TOO_LONG = _("This took too long. Narrow the time, and try again.")
NOT_SHOWN = _("This address asks for something that the list cannot show.")
RUNNING = _("Another export of yours is running. Wait until it has ended.")
AWAY = _("Exports are not possible at the moment. Try again in a minute.")


# The newest ones; the rest is offered as one, whose page offers its own parts.
PARTS_MOST = 3
BEGIN, END = "created[gte]", "created[lt]"


class ExportPart(NamedTuple):
    """A part of the rows.

    :param query: the whole filter, with the part's time.
    :param begins_at: None where the filter names none.
    :param is_rest: it may again be too large.
    """

    query: str
    begins_at: datetime | None
    ends_at: datetime | None
    is_rest: bool = False


def _in_parts(
    rows: MerchantRows, query: QueryDict, spec: ListSpec, newest: Newest
) -> list[ExportPart]:
    """Return parts with as many rows as a file has, the newest first; none if one second has more.

    :param newest: the newest rows of all, one more than a file has.
    :raises DomainError: as `core.rest.lists.page` does.
    """
    found: list[ExportPart] = []
    left = query.copy()
    while newest.number > ROWS_MOST and newest.since:
        border = str(clock.unix(newest.since) + 1)
        if left.get(END) == border:
            return []
        newer = left.copy()
        newer[BEGIN] = left[END] = border
        found.append(_part(newer))
        if len(found) == PARTS_MOST:
            return [*found, _part(left)._replace(is_rest=True)]
        newest = list_walks.newest(rows, left, spec, most=ROWS_MOST)
    return [*found, _part(left)]


def _part(query: QueryDict) -> ExportPart:
    return ExportPart(query.urlencode(), moment_of(query.get(BEGIN)), moment_of(query.get(END)))


class AskedExport(NamedTuple):
    """An export that a person asks for.

    :param query: the list's filter and order, in the API's terms.
    """

    listed: Exported
    member: Member
    query: QueryDict
    form: CsvForm = csv_forms.PROGRAMS

    @property
    def source(self) -> tuple[Any, QueryDict, Any]:
        return self.listed.rows(self.member.merchant), self.query, self.listed.spec


@page("POST")
@proof_required
def export(request: HttpRequest, member: Member, listed: str) -> HttpResponse:
    """Say which rows the file will have, and send it; too many are offered in parts by time."""
    if any(name in request.GET for name in OF_PEOPLE):
        way = reverse(f"panel:{listed}", args=[member.merchant_id])
        return HttpResponseRedirect(f"{way}?{request.GET.urlencode()}")
    if problem := addresses.unsafe(request):
        return _shown(request, AskedExport(LISTS[listed], member, QueryDict()), problem=problem)
    form, query = csv_forms.chosen(request), _filter(request.GET, LISTS[listed])
    asked = AskedExport(LISTS[listed], member, query, form)
    try:
        with limited():
            newest = list_walks.newest(*asked.source, most=ROWS_MOST)
            is_too_large = newest.number > ROWS_MOST
            parts = _in_parts(*asked.source, newest) if is_too_large else None
        if request.method == "POST" and parts is None:
            return _file(asked, newest.number)
    except TookTooLong:
        return _shown(request, asked, problem=TOO_LONG)
    except AnotherIsRunning:
        return _shown(request, asked, problem=RUNNING, status=409)
    except TurnsAway:
        return _shown(request, asked, problem=AWAY, status=503)
    except DomainError:
        return _shown(request, asked, problem=NOT_SHOWN)
    status = 400 if request.method == "POST" else 200
    return _shown(request, asked, count=newest.number, parts=parts, status=status)


def _filter(query: QueryDict, listed: Exported) -> QueryDict:
    asked = listing.asked(query, listed.spec)
    for name in CURSORS:
        asked.pop(name, None)
    return asked


def _shown(
    request: HttpRequest, asked: AskedExport, *, status: int = 400, **facts: Any
) -> HttpResponse:
    listed, merchant = asked.listed, asked.member.merchant
    way = reverse(f"panel:{listed.page}", args=[merchant.id])
    query = asked.query.urlencode()
    facts |= {
        "label": listed.label,
        "back": f"{way}?{query}" if query else way,
        "words": in_words(asked.query, listed.form(asked.query, zone=merchant.timezone)),
        "most": number_format(ROWS_MOST, force_grouping=True),
        "rows": number_format(facts.get("count") or 0, force_grouping=True),
        "seconds_behind": standby.most_seconds_behind(),
        "forms": csv_forms.offered(),
        "form_chosen": asked.form,
    }
    return show(request, TEMPLATE, facts, status=status)


# --- The file -----------------------------------------------------------------------------------


def _file(asked: AskedExport, count: int) -> HttpResponse:
    """Answer the file.

    :raises AnotherIsRunning: the person's last export has not ended.
    :raises TurnsAway: it is not known whether it has.
    """
    kept = {"filter": _kept(asked.query), "rows": count}
    file = CsvFile(
        _name(asked), asked.listed.columns, _pages(asked), asked.listed.page, kept,
        form=asked.form, zone=asked.member.merchant.timezone,
    )  # fmt: skip
    return csv_forms.remember(downloads.answer(asked.member, file), asked.form)


def _pages(asked: AskedExport) -> Iterator[CsvPage]:
    for rows in list_walks.walk(*asked.source, size=PAGE_ROWS):
        yield list(downloads.breathing(asked.listed.cells(asked.member, rows)))


def _kept(query: QueryDict) -> dict[str, list[str]]:
    """Return a filter for the log, which forgets nothing: without texts that may be of people."""
    return {
        name: ["…"] if name.partition("[")[0] in OF_PAYERS else values
        for name, values in query.lists()
    }


def _name(asked: AskedExport) -> str:
    """Return the file's name: the list, the merchant and the time that its rows are from."""
    begin = moment_of(asked.query.get("created[gte]") or asked.query.get("created[gt]") or "")
    end = moment_of(asked.query.get("created[lt]") or asked.query.get("created[lte]") or "")
    since = export_columns.utc(begin) if begin else "first"
    until = export_columns.utc(end or clock.now())
    range_ = f"{since}_{until}".replace(":", "").replace("-", "")
    return f"{asked.listed.page}_{asked.member.merchant_id}_{range_}.csv"
