"""The evidence of a case: all that the service and the bank have of its payment, to read."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import acquirers
from acquirers import slots
from acquirers.gateway import StatementLine, StatementUnreadable
from acquirers.models import BankExchange
from cases.models import Case
from core import money
from core.errors import UpstreamUnavailable
from events.models import Event
from ledger.models import LedgerEntry
from merchants.models import RequestLog
from payments.intents.models import Attempt, Modification
from payments.refunds.models import Refund

ROWS_MAX = 100
UNREADABLE = "The bank's statement cannot be read at this moment. Load the page again."
NO_STATEMENT = "This bank gives no statement: its answers are all that it tells."
NO_LINE = "The bank's statement has no line under this reference."


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that bears on a case; the newest first, where there can be many.

    :param line: of the bank's statement; None with `line_told`, which says why there is none.
    :param next_inquiry_at: in the movable clock; None if the bank is asked no more.
    """

    attempts: list[dict[str, Any]]
    inquiries: list[BankExchange]
    line: dict[str, str] | None
    line_told: str | None
    entries: list[tuple[LedgerEntry, str]]
    events: list[Event]
    request_logs: list[RequestLog]
    next_inquiry_at: datetime | None


def facts_of(case: Case) -> dict[str, Any]:
    """Return what each page about a case shows of it."""
    intent = case.intent
    return {
        "amount": money.written(case.amount, case.currency),
        "status": intent.status,
        "card": case.attempt.card.get("masked"),
        "email": (intent.billing_details or {}).get("email"),
        "reference": case.attempt.acquirer_reference,
        "terminal": str(case.attempt.terminal),
        "asked_for": _named(case),
    }


def of(case: Case) -> Evidence:
    """Gather the evidence; the bank is asked for its line, with no transaction open."""
    attempts = list(case.intent.attempts.order_by("created_at", "id"))
    inquiries = BankExchange.objects.filter(attempt__in=attempts).order_by("-sent_at", "-id")
    events = Event.objects.filter(aggregate_id=case.intent_id, merchant=case.merchant_id)
    told = list(events.order_by("-sequence")[:ROWS_MAX])
    asked = list(inquiries[:ROWS_MAX])
    line, line_told = _banks_line(case.attempt)
    return Evidence(
        attempts=[_shown(attempt) for attempt in attempts],
        inquiries=asked,
        line=line,
        line_told=line_told,
        entries=_entries(case, attempts),
        events=told,
        request_logs=_logs(case, [*attempts, *asked, *told]),
        next_inquiry_at=_next_inquiry(case),
    )


def _shown(attempt: Attempt) -> dict[str, Any]:
    amount = attempt.amount + attempt.surcharge
    return {
        "row": attempt,
        "amount": money.written(amount, attempt.currency),
        "card": attempt.card.get("masked"),
        "error": (attempt.error or {}).get("reason"),
    }


def _banks_line(attempt: Attempt) -> tuple[dict[str, str] | None, str | None]:
    try:
        with slots.for_merchant(attempt.merchant_id):
            return _read_line(attempt)
    except (StatementUnreadable, UpstreamUnavailable):
        return None, UNREADABLE


def _read_line(attempt: Attempt) -> tuple[dict[str, str] | None, str | None]:
    reference = attempt.acquirer_reference
    # Its own beginning is just before it.
    statement = acquirers.at(attempt.terminal).statement(attempt.terminal, after=reference[:-1])
    if statement is None:
        return None, NO_STATEMENT
    line = next((one for one in statement if one.reference >= reference), None)
    if line is None or line.reference != reference:
        return None, NO_LINE
    return _written(line), None


def _written(line: StatementLine) -> dict[str, str]:
    amounts = {
        "Authorised": line.authorized,
        "Captured": line.captured,
        "Moved in the end": line.moved,
        "Charged back": line.charged_back,
    }
    told = {name: money.written(amount, line.currency) for name, amount in amounts.items()}
    state = "pending: not decided" if line.is_pending else "decided"
    return {"Reference": line.reference, "State": state, **told}


def _entries(case: Case, attempts: Iterable[Attempt]) -> list[tuple[LedgerEntry, str]]:
    causes = [attempt.id for attempt in attempts]
    causes += Refund.objects.filter(intent=case.intent_id).values_list("id", flat=True)
    rows = LedgerEntry.objects.filter(merchant=case.merchant_id, movement__cause_id__in=causes)
    found = rows.select_related("movement", "account").order_by("id")[:ROWS_MAX]
    return [(entry, money.written(entry.amount, entry.currency)) for entry in found]


def _logs(case: Case, of_rows: Iterable[Any]) -> list[RequestLog]:
    ids = {row.request_id for row in of_rows} | {
        change.request_id for change in case.changes.all()[:ROWS_MAX]
    }
    rows = RequestLog.objects.filter(id__in=ids).order_by("-created_at", "-id")
    return list(rows[:ROWS_MAX])


def _next_inquiry(case: Case) -> datetime | None:
    row = case.attempt if case.operation_id is None else _asked_for(case)
    return row.due_at if row else None


def _asked_for(case: Case) -> Modification | Refund | None:
    """Return the capture, release or refund that the case is about; None for the authorisation."""
    modification: Modification | None = Modification.objects.filter(id=case.operation_id).first()
    refund: Refund | None = Refund.objects.filter(id=case.operation_id).first()
    return modification or refund


def _named(case: Case) -> str | None:
    row = _asked_for(case) if case.operation_id else None
    if row is None:
        return None
    name = "refund" if isinstance(row, Refund) else row.get_kind_display().lower()
    return f"{name} of {money.written(row.amount, case.currency)}" if row.amount else name
