"""Exports: the rows of a list as a CSV file, with the list's own filter (panel contract: Exports).

A file is streamed: each page of rows is a short question of its own, and while a slow client reads
the database's connection belongs to others. No file is kept.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    QueryDict,
    StreamingHttpResponse,
)
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _

from core import clock, connections, csv_rows
from core.errors import DomainError
from core.rest import list_walks
from core.rest.list_query import CURSORS
from merchants import audit_log
from merchants.models import Member
from panel.merchants import addresses, export_columns, export_parts, listing
from panel.merchants.export_lists import LISTS, Exported
from panel.merchants.export_turns import AnotherIsRunning, Turn, TurnsAway
from panel.merchants.filter_words import in_words, moment_of
from panel.merchants.list_forms import AMOUNTS, BOUNDS
from panel.merchants.pages import page, proof_required, show
from panel.patience import TookTooLong, limited

TEMPLATE = "panel/exports/export.html"
ROWS_MOST = 100_000
PAGE_ROWS = 1_000
# More than a page of the panel has: an export that gave up in the middle would be begun again.
PAGE_MS = 10_000
# Inputs of the lists that only their own page translates into the API's terms.
OF_PEOPLE = {*BOUNDS, *AMOUNTS, "metadata_key", "metadata_value"}
# Filters with texts that a merchant may have to forget, with a customer.
OF_PAYERS = {"email", "q", "metadata"}
TOO_LONG = _("This took too long. Narrow the time, and try again.")
NOT_SHOWN = _("This address asks for something that the list cannot show.")
RUNNING = _("Another export of yours is running. Wait until it has ended.")
AWAY = _("Exports are not possible at the moment. Try again in a minute.")


class Asked(NamedTuple):
    """An export that a person asks for.

    :param query: the list's filter and order, in the API's terms.
    """

    listed: Exported
    member: Member
    query: QueryDict

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
        return _shown(request, Asked(LISTS[listed], member, QueryDict()), problem=problem)
    asked = Asked(LISTS[listed], member, _filter(request.GET, LISTS[listed]))
    try:
        with limited():
            count = list_walks.count(*asked.source, most=ROWS_MOST)
            parts = export_parts.parts(*asked.source, most=ROWS_MOST) if count > ROWS_MOST else None
        if request.method == "POST" and parts is None:
            return _file(asked, count)
    except TookTooLong:
        return _shown(request, asked, problem=TOO_LONG)
    except AnotherIsRunning:
        return _shown(request, asked, problem=RUNNING, status=409)
    except TurnsAway:
        return _shown(request, asked, problem=AWAY, status=503)
    except DomainError:
        return _shown(request, asked, problem=NOT_SHOWN)
    status = 400 if request.method == "POST" else 200
    return _shown(request, asked, count=count, parts=parts, status=status)


def _filter(query: QueryDict, listed: Exported) -> QueryDict:
    asked = listing.asked(query, listed.spec)
    for name in CURSORS:
        asked.pop(name, None)
    return asked


def _shown(request: HttpRequest, asked: Asked, *, status: int = 400, **facts: Any) -> HttpResponse:
    listed, merchant = asked.listed, asked.member.merchant
    way = reverse(f"panel:{listed.page}", args=[merchant.id])
    query = asked.query.urlencode()
    facts |= {
        "label": listed.label,
        "back": f"{way}?{query}" if query else way,
        "words": in_words(asked.query, listed.form(asked.query, zone=merchant.timezone)),
        "most": number_format(ROWS_MOST, force_grouping=True),
        "rows": number_format(facts.get("count") or 0, force_grouping=True),
        "has_amounts": "amount_major" in listed.columns,
    }
    return show(request, TEMPLATE, facts, status=status)


# --- The file -----------------------------------------------------------------------------------


def _file(asked: Asked, count: int) -> HttpResponse:
    """Answer the file, once its row of the audit log is written.

    :raises AnotherIsRunning: the person's last export has not ended.
    :raises TurnsAway: it is not known whether it has.
    """
    turn = Turn(asked.member.user_id)
    try:
        _record(asked, count)
    except BaseException:
        turn.end()
        raise
    name = _name(asked)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    # Of Any: a page's answer is an HttpResponse, of which this is a cousin.
    answer: Any = StreamingHttpResponse(
        Download(asked, turn), content_type=csv_rows.CONTENT_TYPE, headers=headers
    )
    return answer


@transaction.atomic(durable=True)
def _record(asked: Asked, count: int) -> None:
    audit_log.record(
        "export.made",
        merchant=asked.member.merchant,
        subject=asked.listed.page,
        after={"filter": _kept(asked.query), "rows": count},
    )


def _kept(query: QueryDict) -> dict[str, list[str]]:
    """Return a filter for the log, which forgets nothing: without texts that may be of people."""
    return {
        name: ["…"] if name.partition("[")[0] in OF_PAYERS else values
        for name, values in query.lists()
    }


def _name(asked: Asked) -> str:
    """Return the file's name: the list, the merchant and the time that its rows are from."""
    begin = moment_of(asked.query.get("created[gte]") or asked.query.get("created[gt]") or "")
    end = moment_of(asked.query.get("created[lt]") or asked.query.get("created[lte]") or "")
    since = export_columns.utc(begin) if begin else "first"
    until = export_columns.utc(end or clock.now())
    range_ = f"{since}_{until}".replace(":", "").replace("-", "")
    return f"{asked.listed.page}_{asked.member.merchant_id}_{range_}.csv"


class Download:
    """The pieces of a file; closed when all are sent, or when the client is gone."""

    def __init__(self, asked: Asked, turn: Turn) -> None:
        self.turn = turn
        self.pieces = csv_rows.pieces(asked.listed.columns, _rows(asked, turn))

    def __iter__(self) -> Iterator[bytes]:
        return self.pieces

    def close(self) -> None:
        # A generator that was never begun would not end the turn itself.
        self.pieces.close()  # type: ignore[attr-defined]
        self.turn.end()


def _rows(asked: Asked, turn: Turn) -> Iterator[Sequence[Any]]:
    """Return the cells of all rows, page by page.

    :raises TookTooLong: a page was not found in time; the client sees that the file is cut off.
    :raises AnotherIsRunning: the client was so slow that the turn was lost to another export.
    """
    pages = list_walks.walk(*asked.source, size=PAGE_ROWS)
    has_more = True
    while has_more:
        with limited(PAGE_MS):
            rows = next(pages, None)
            cells = list(asked.listed.cells(asked.member, rows or ()))
        connections.give_back()
        turn.renew()
        yield from cells
        has_more = rows is not None
