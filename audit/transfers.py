"""Checks of payouts against the transfers of the bank that pays out (I7)."""

from collections.abc import Iterator

from acquirers import rails
from acquirers.rails import TransferLine
from acquirers.transfers.models import TransferNotice
from audit.findings import Findings
from audit.transfer_notices import TransferNews
from core.errors import UpstreamUnavailable
from payouts.models import Payout
from payouts.states import PayoutStatus

CHUNK = 1000


def untold() -> Findings:
    """List the stored notices of transfers that are not applied; the next run tries them again."""
    found = Findings("notices of transfers are applied", TransferNotice.objects.count())
    for notice in TransferNotice.objects.filter(applied_at=None).order_by("rail", "number"):
        tried = f" after {notice.tries} tries ({notice.last_error})" if notice.tries else ""
        found.unknown.append(f"notice {notice} is not applied{tried}")
    return found


def check() -> Findings:
    """Compare payouts with the bank's transfers, reference by reference.

    :raises acquirers.gateway.StatementUnreadable: the bank did not give its whole statement.
    """
    found = Findings("payouts are the bank's transfers")
    told = TransferNews()
    statement = _statement()
    if statement is None:
        return found
    for ours, line in _side_by_side(_payouts(), statement):
        found.looked_at += 1
        _compare(ours, line, told, found)
    return found


def side_by_side(unproved: list[str]) -> Iterator[tuple[Payout | None, TransferLine | None]]:
    """Yield every payout with its line of the bank's statement; nothing where it has none.

    :param unproved: gets a sentence if there are payouts, and no statement.
    :raises acquirers.gateway.StatementUnreadable: the bank did not give its whole statement.
    """
    statement = _statement()
    if statement is not None:
        yield from _side_by_side(_payouts(), statement)
    elif count := Payout.objects.count():
        unproved.append(f"payouts: no statement vouches for {count}")


def gives_statement() -> bool:
    """Return whether the bank that pays out has a statement to compare with."""
    return _statement() is not None


def _statement() -> Iterator[TransferLine] | None:
    try:
        return rails.rail().statement()
    except UpstreamUnavailable:
        return None


def _payouts() -> Iterator[Payout]:
    rows = Payout.objects.order_by("acquirer_reference")
    chunk = list(rows[:CHUNK])
    # No server-side cursor: it would keep a transaction open while the statement is fetched.
    while chunk:
        yield from chunk
        chunk = list(rows.filter(acquirer_reference__gt=chunk[-1].acquirer_reference)[:CHUNK])


def _side_by_side(
    ours: Iterator[Payout], lines: Iterator[TransferLine]
) -> Iterator[tuple[Payout | None, TransferLine | None]]:
    one, line = next(ours, None), next(lines, None)
    while one or line:
        if line is None or (one and one.acquirer_reference < line.reference):
            yield one, None
            one = next(ours, None)
        elif one is None or line.reference < one.acquirer_reference:
            yield None, line
            line = next(lines, None)
        else:
            yield one, line
            one, line = next(ours, None), next(lines, None)


def _compare(
    ours: Payout | None, line: TransferLine | None, told: TransferNews, found: Findings
) -> None:
    if ours is None:
        assert line is not None
        # It may have begun since our payouts were read.
        ours = Payout.objects.filter(acquirer_reference=line.reference).first()
    if _differs(ours, line):
        _compare_again(ours, line, told, found)


def _compare_again(
    ours: Payout | None, line: TransferLine | None, told: TransferNews, found: Findings
) -> None:
    """Report a difference unless a notice explains it, also one since the line was read."""
    if ours is None:
        assert line is not None
        found.differences.append(
            f"the bank {_said(line)} under {line.reference} for {line.merchant_id},"
            " and we never asked"
        )
        return
    news = told.references()
    # After that: what was to be told may have been applied meanwhile.
    ours.refresh_from_db()
    said = f"payout {ours.id} is {ours.status} with {ours.amount} {ours.currency}; the bank "
    said += _said(line)
    if ours.status == PayoutStatus.IN_TRANSIT or ours.acquirer_reference in news:
        found.unknown.append(said)
    elif _differs(ours, line):
        found.differences.append(said)


def _differs(ours: Payout | None, line: TransferLine | None) -> bool:
    if ours is None:
        return True
    moved = ours.amount if ours.status == PayoutStatus.PAID else 0
    if line is None:
        return ours.status in (PayoutStatus.IN_TRANSIT, PayoutStatus.PAID)
    told = (line.merchant_id, line.amount, line.currency, line.moved)
    expected = (ours.merchant_id, ours.amount, ours.currency, moved)
    return (
        told != expected
        or line.is_pending
        or ours.status in (PayoutStatus.PENDING, PayoutStatus.CANCELED)
    )


def _said(line: TransferLine | None) -> str:
    if line is None:
        return "has no transfer of it"
    state = " and has not decided" if line.is_pending else ""
    return f"has {line.moved} of {line.amount} {line.currency} moved{state}"
