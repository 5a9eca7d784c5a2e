"""The check of the bank's statement: it is read side by side with our attempts, by reference."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import groupby, starmap

from django.db.models import F

import acquirers
from acquirers.gateway import StatementLine
from acquirers.models import BankExchange, Terminal
from audit.findings import Findings
from core import clock
from core.errors import UpstreamUnavailable
from payments.intents.models import Attempt
from payments.intents.states import OPEN_ATTEMPT, SUCCESSFUL_ATTEMPT, AttemptStatus

# Attempts that one query reads.
CHUNK = 2000


@dataclass(frozen=True, slots=True)
class Ours:
    """One attempt with the amounts, in minor units, that the bank should have for it."""

    reference: str
    attempt_id: str
    intent_id: str
    merchant_id: str
    status: str
    operation: str | None
    due_at: datetime | None
    currency: str
    amount: int
    captured: int

    @property
    def authorized(self) -> int:
        return self.amount if self.status in SUCCESSFUL_ATTEMPT else 0

    @property
    def is_unknown(self) -> bool:
        return self.status in OPEN_ATTEMPT or self.operation is not None or self._is_over

    @property
    def _is_over(self) -> bool:
        # The bank lets an authorisation lapse by itself, and no inquiry has been made since.
        is_held = self.status == AttemptStatus.AUTHORIZED
        return is_held and self.due_at is not None and self.due_at <= clock.now()

    @property
    def awaits_payer(self) -> bool:
        return self.status == AttemptStatus.REQUIRES_ACTION

    def __str__(self) -> str:
        return f"attempt {self.attempt_id} of {self.intent_id} ({self.reference})"


def check() -> Findings:
    """Compare every attempt with the statement's line, and find lines without an attempt."""
    found = Findings("the bank's book is ours")
    statements = _statements(found)
    attempts = _attempts(list(statements))
    for ours, line in _side_by_side(attempts, _merged(statements.values())):
        found.looked_at += 1
        if ours is not None:
            _compare(ours, line, found)
        elif line is not None:
            found.differences += _unexpected(line)
    return found


def _statements(found: Findings) -> dict[str, Iterator[StatementLine]]:
    """Return the statement of each terminal, by its id; say which have none."""
    statements = {}
    for terminal in Terminal.objects.order_by("name"):
        statement = _statement(terminal)
        if statement is not None:
            statements[terminal.id] = statement
        elif count := Attempt.objects.filter(terminal=terminal).count():
            found.unknown.append(f"terminal {terminal}: no statement vouches for {count} attempts")
    return statements


def _statement(terminal: Terminal) -> Iterator[StatementLine] | None:
    try:
        return acquirers.at(terminal).statement(terminal)
    except UpstreamUnavailable:
        return None


def _merged(statements: Iterable[Iterator[StatementLine]]) -> Iterator[StatementLine]:
    """Return all statements in order of the references; terminals of one bank tell the same."""
    lines = merge(*statements, key=lambda line: line.reference)
    return (line for line, _same in groupby(lines))


def _attempts(terminals: list[str]) -> Iterator[Ours]:
    attempts = Attempt.objects.filter(terminal__in=terminals).order_by("acquirer_reference")
    rows = attempts.values_list(
        "acquirer_reference", "id", "intent_id", "merchant_id", "status",
        "operation", "due_at", "currency", F("amount") + F("surcharge"), "captured_minor",
    )  # fmt: skip
    chunk = list(rows[:CHUNK])
    # No server-side cursor: it would keep a transaction open while the statement is fetched.
    while chunk:
        yield from starmap(Ours, chunk)
        chunk = list(rows.filter(acquirer_reference__gt=chunk[-1][0])[:CHUNK])


def _side_by_side(
    ours: Iterator[Ours], lines: Iterator[StatementLine]
) -> Iterator[tuple[Ours | None, StatementLine | None]]:
    """Pair attempts and lines with the same reference; both come in its order."""
    one, line = next(ours, None), next(lines, None)
    while one or line:
        if line is None or (one and one.reference < line.reference):
            yield one, None
            one = next(ours, None)
        elif one is None or line.reference < one.reference:
            yield None, line
            line = next(lines, None)
        else:
            yield one, line
            one, line = next(ours, None), next(lines, None)


def _unexpected(line: StatementLine) -> list[str]:
    if Attempt.objects.filter(acquirer_reference=line.reference).exists():
        return []  # The attempt has begun since our attempts were read.
    return [
        f"the bank {_said(line)} under {line.reference} of {line.merchant_id}, and we never asked"
    ]


def _compare(ours: Ours, line: StatementLine | None, found: Findings) -> None:
    if ours.awaits_payer and line is None:
        return  # Nothing was sent to the bank yet.
    if ours.is_unknown:
        found.unknown.append(f"{ours}: the bank {_said(line)}, and has not told us")
    else:
        found.differences += [_with_exchanges(said, ours) for said in _compared(ours, line)]


def _with_exchanges(sentence: str, ours: Ours) -> str:
    """Return the sentence with a line for each exchange that is kept of the attempt."""
    rows = BankExchange.objects.filter(attempt=ours.attempt_id).order_by("sent_at", "id")
    return "\n    ".join([sentence, *map(str, rows)])


def _compared(ours: Ours, line: StatementLine | None) -> list[str]:
    expected = (ours.merchant_id, ours.authorized, ours.captured, ours.captured, ours.currency)
    if line is None:
        is_missing = ours.authorized > 0
        return [f"{ours} is {ours.status}, and the bank has no line of it"] if is_missing else []
    told = (line.merchant_id, line.authorized, line.captured, line.moved, line.currency)
    if expected == told:
        return []
    return [
        f"{ours} is {ours.status} with {ours.authorized} authorised and {ours.captured} captured"
        f" {ours.currency} for {ours.merchant_id}; the bank {_said(line)} for {line.merchant_id}"
    ]


def _said(line: StatementLine | None) -> str:
    if line is None:
        return "has no line of it"
    moved = "" if line.moved == line.captured else f" ({line.moved} moved)"
    return f"has {line.authorized} authorised and {line.captured} captured{moved} {line.currency}"
