"""The parts of a settlement as a CSV file: each with the balance transaction that it is of."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _

from core import money
from ledger import parts
from ledger.models import LedgerEntry, Run
from merchants.models import Member
from panel.merchants import csv_forms, downloads, listing
from panel.merchants.csv_forms import CsvForm
from panel.merchants.downloads import AnotherIsRunning, CsvFile, CsvPage, TurnsAway
from panel.merchants.export_columns import utc
from panel.merchants.exports import AWAY, RUNNING, TEMPLATE
from panel.merchants.pages import page, proof_required, show
from panel.patience import TookTooLong, limited

PAGE_ROWS = 1_000
# The part first, then the whole transaction as the API shows it; `settled` sums to the settlement.
COLUMNS = (
    "id", "type", "source", "settled", "settled_major", "currency", "available_on", "created",
    "amount", "fee", "net",
)  # fmt: skip
TOO_LONG = _("This took too long. Try again in a moment.")


@page("POST")
@proof_required
def export_settlement(request: HttpRequest, member: Member, settlement: str) -> HttpResponse:
    """Say how many parts the file will have, and send it."""
    run: Run = listing.find(Run.objects.for_merchant(member.merchant), settlement)
    try:
        with limited():
            count = parts.settled_by(run).count()
        if request.method == "POST":
            form = csv_forms.chosen(request)
            file = _file(run, count, form, member.merchant.timezone)
            return csv_forms.remember(downloads.answer(member, file), form)
    except TookTooLong:
        return _shown(request, run, problem=TOO_LONG)
    except AnotherIsRunning:
        return _shown(request, run, problem=RUNNING, status=409)
    except TurnsAway:
        return _shown(request, run, problem=AWAY, status=503)
    return _shown(request, run, status=200, count=count)


def _shown(request: HttpRequest, run: Run, *, status: int = 400, **facts: Any) -> HttpResponse:
    facts |= {
        "label": _("Settlement"),
        "back": reverse("panel:settlement", args=[run.merchant_id, run.id]),
        "of": f"{run.date} {run.currency.upper()}",
        "forms": csv_forms.offered(),
        "form_chosen": csv_forms.chosen(request),
        "rows": number_format(facts.get("count") or 0, force_grouping=True),
    }
    return show(request, TEMPLATE, facts, status=status)


def _file(run: Run, count: int, form: CsvForm, zone: str) -> CsvFile:
    return CsvFile(
        name=f"settlement_{run.merchant_id}_{run.date:%Y%m%d}_{run.currency}.csv",
        columns=COLUMNS,
        pages=_pages(run),
        subject=run.id,
        kept={"rows": count},
        form=form,
        zone=zone,
    )


def _pages(run: Run) -> Iterator[CsvPage]:
    rows = parts.settled_by(run).select_related("movement").order_by("id")
    last = 0
    while found := list(rows.filter(id__gt=last)[:PAGE_ROWS]):
        yield list(downloads.breathing(map(_cells, found)))
        last = found[-1].id


def _cells(entry: LedgerEntry) -> Sequence[Any]:
    movement = entry.movement
    return (
        movement.id, movement.type, movement.source_id,
        entry.amount, money.major(entry.amount, entry.currency), entry.currency,
        str(entry.available_on), utc(movement.created_at),
        movement.amount, movement.fee, movement.net,
    )  # fmt: skip
