"""Checks of the transfers that came in against the bank's list (I7)."""

from collections.abc import Iterator

from django.conf import settings

from acquirers import rails
from acquirers.rails import IncomingLine
from audit.findings import Findings
from audit.transfer_notices import TransferNews
from core.errors import UpstreamUnavailable
from payouts.topups.models import IncomingTransfer
from payouts.topups.states import Arrival

CHUNK = 1000


def check() -> Findings:
    """Compare the transfers that came in with the bank's, by the bank's references, both ways.

    :raises acquirers.gateway.StatementUnreadable: the bank did not give its whole statement.
    """
    found = Findings("transfers that came in are the bank's")
    told = TransferNews()
    lines = _statement()
    if lines is None:
        return found
    ours, line = _ours(), next(lines, None)
    one = next(ours, None)
    while one or line:
        found.looked_at += 1
        if line is None or (one and one.reference < line.reference):
            _compare(one, None, told, found)
            one = next(ours, None)
        elif one is None or line.reference < one.reference:
            _compare(None, line, told, found)
            line = next(lines, None)
        else:
            _compare(one, line, told, found)
            one, line = next(ours, None), next(lines, None)
    return found


def _statement() -> Iterator[IncomingLine] | None:
    try:
        return rails.rail().incoming()
    except UpstreamUnavailable:
        return None


def _ours() -> Iterator[IncomingTransfer]:
    rows = IncomingTransfer.objects.filter(rail=settings.TRANSFERS).order_by("reference")
    chunk = list(rows[:CHUNK])
    # No server-side cursor: it would keep a transaction open while the statement is fetched.
    while chunk:
        yield from chunk
        chunk = list(rows.filter(reference__gt=chunk[-1].reference)[:CHUNK])


def _compare(
    ours: IncomingTransfer | None, line: IncomingLine | None, told: TransferNews, found: Findings
) -> None:
    reference = ours.reference if ours else line.reference if line else ""
    if not _differs(ours, line):
        if ours is not None and ours.status == Arrival.UNMATCHED:
            found.unknown.append(f"{_said(ours, line)}: an operator decides")
        return
    is_told = reference in told.references()
    # After that: what was to be told may have been applied meanwhile.
    rows = IncomingTransfer.objects.filter(rail=settings.TRANSFERS, reference=reference)
    ours = rows.first()
    if not _differs(ours, line):
        return
    if is_told:
        found.unknown.append(_said(ours, line))
    elif ours is not None and ours.status == Arrival.SENT_BACK and line and line.moved:
        found.decided.append(_said(ours, line))
    else:
        found.differences.append(_said(ours, line))


def _differs(ours: IncomingTransfer | None, line: IncomingLine | None) -> bool:
    if ours is None or line is None:
        return True
    is_gone = ours.status in (Arrival.REVERSED, Arrival.SENT_BACK)
    expected = (ours.amount, ours.currency, 0 if is_gone else ours.amount)
    return expected != (line.amount, line.currency, line.moved)


def _said(ours: IncomingTransfer | None, line: IncomingLine | None) -> str:
    known = f"is {ours.status} with {ours.amount} {ours.currency}" if ours else "is unknown here"
    reference = ours.reference if ours else line.reference if line else ""
    if line is None:
        return f"transfer {reference} {known}; the bank has none of it"
    return (
        f"transfer {reference} {known}; the bank has {line.moved} of {line.amount} {line.currency}"
    )
