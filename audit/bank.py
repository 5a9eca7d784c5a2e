"""The check of the bank's statement: it is read side by side with our attempts, by reference."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import groupby, starmap
from typing import Any

from django.db.models import (
    Aggregate,
    BigIntegerField,
    Exists,
    F,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.db.models.functions import Coalesce

import acquirers
from acquirers.gateway import StatementLine
from acquirers.models import BankExchange, Terminal
from audit import untold
from audit.findings import Findings
from cases.cases import DECIDED_BY_PERSON
from cases.models import Case
from cases.states import CaseKind, CaseStatus
from core import clock
from core.errors import UpstreamUnavailable
from payments.disputes.models import Dispute, DisputeDelivery
from payments.disputes.states import DeliveryStatus, DisputeStatus
from payments.intents.deadlines import ASKED_AT, AUTHORIZATION_LIVES
from payments.intents.models import Attempt, Modification
from payments.intents.states import (
    OPEN_ATTEMPT,
    SUCCESSFUL_ATTEMPT,
    AttemptStatus,
    ModificationStatus,
)
from payments.refunds.models import Refund
from payments.refunds.states import Method, RefundStatus

# Attempts that one query reads.
CHUNK = 2000
UNDER_WAY = Modification.objects.filter(
    attempt=OuterRef("pk"), status=ModificationStatus.PROCESSING
)
# A late charge that came after the bank's day is refunded, one that was disputed charged back: the
# bank keeps both as captured.
REFUNDED_LATE = Modification.objects.filter(
    Q(refund_reference__isnull=False) | Q(dispute_reference__isnull=False),
    attempt=OuterRef("pk"),
    status=ModificationStatus.SUCCEEDED,
)
REFUNDS = Refund.objects.filter(attempt=OuterRef("pk"))
ON_THEIR_WAY = REFUNDS.filter(status=RefundStatus.PENDING, sent_at__isnull=False)
DONE = REFUNDS.filter(status=RefundStatus.SUCCEEDED)


class _Amounts(Aggregate):
    """Amounts by reference, as one JSON object."""

    function = "jsonb_object_agg"
    output_field = JSONField()


REFUNDED = DONE.filter(method=Method.REFUND).order_by().values("attempt")
BY_REFERENCE = REFUNDED.values(amounts=_Amounts("acquirer_reference", "amount"))
GIVEN_BACK = DONE.order_by().values("attempt").values(total=Sum("amount"))
DISPUTES = Dispute.objects.filter(attempt=OuterRef("pk"))
LOST = DISPUTES.filter(status=DisputeStatus.LOST)
CHARGED_BACK = LOST.order_by().values("attempt").values(total=Sum("amount"))
# The bank has not acknowledged that its dispute was accepted.
BEING_ACCEPTED = DisputeDelivery.objects.filter(
    dispute__attempt=OuterRef("pk"), status=DeliveryStatus.OWED
)
# The bank's word was replaced by an operator's, who has heard it by telephone, say.
DECIDED = Case.objects.filter(DECIDED_BY_PERSON, attempt=OuterRef("pk"))


@dataclass(frozen=True, slots=True)
class Ours:
    """One attempt with the amounts, in minor units, that the bank should have for it."""

    reference: str
    attempt_id: str
    intent_id: str
    merchant_id: str
    status: str
    is_modified: bool
    asked_at: datetime
    currency: str
    installments: int
    amount: int
    taken: int
    is_refunded_late: bool
    is_being_refunded: bool
    is_voided: bool
    given_back: int
    charged_back: int
    is_being_accepted: bool
    is_decided: bool
    by_reference: dict[str, int] | None

    @property
    def refunds(self) -> dict[str, int]:
        """Return what succeeded, by the refund's own reference; voids have none."""
        return self.by_reference or {}

    @property
    def authorized(self) -> int:
        is_held = self.status in SUCCESSFUL_ATTEMPT and not self.is_voided
        return self.amount if is_held or self.is_refunded_late else 0

    @property
    def captured(self) -> int:
        if self.is_voided:
            return 0
        return self.amount if self.is_refunded_late else self.taken

    @property
    def moved(self) -> int:
        return self.taken - self.given_back - self.charged_back

    @property
    def is_unknown(self) -> bool:
        is_asked = self.is_modified or self.is_being_refunded or self.is_being_accepted
        return self.status in OPEN_ATTEMPT or is_asked or self._is_over

    @property
    def _is_over(self) -> bool:
        # The bank lets an authorisation lapse by itself, and the sweeper has not canceled it yet.
        is_held = self.status == AttemptStatus.AUTHORIZED
        return is_held and self.asked_at + AUTHORIZATION_LIVES <= clock.now()

    @property
    def awaits_payer(self) -> bool:
        return self.status == AttemptStatus.REQUIRES_ACTION

    def __str__(self) -> str:
        return f"attempt {self.attempt_id} of {self.intent_id} ({self.reference})"


def check() -> Findings:
    """Compare every attempt with the statement's line, and find lines without an attempt."""
    found = Findings("the bank's book is ours")
    statements, known = _statements(), contradicted()
    attempts = _attempts(list(statements))
    for ours, line in _side_by_side(attempts, _merged(statements.values())):
        found.looked_at += 1
        if ours is not None:
            agrees = _compare(ours, line, found)
            if agrees and ours.attempt_id in known:
                found.agreed.append(ours.attempt_id)
        elif line is not None:
            found.differences += _unexpected(line)
    return found


def side_by_side(unproved: list[str]) -> Iterator[tuple[Ours | None, StatementLine | None]]:
    """Yield every attempt with its line of the banks' statements; one of the two may be missing.

    :param unproved: gets a sentence for each terminal with attempts and without a statement.
    :raises acquirers.gateway.StatementUnreadable: a bank did not give its whole statement.
    """
    statements = _statements()
    for terminal in without_statement():
        count = Attempt.objects.filter(terminal=terminal).count()
        unproved.append(f"terminal {terminal}: no statement vouches for {count} attempts")
    yield from _side_by_side(_attempts(list(statements)), _merged(statements.values()))


def ours_of(reference: str) -> Ours:
    """Return an attempt as it is now."""
    [row] = _rows(Attempt.objects.filter(acquirer_reference=reference))
    return Ours(*row)


def said_otherwise(ours: Ours, line: StatementLine | None) -> list[str]:
    """Return a sentence for each difference; none while the attempt's own end is not known."""
    return [] if ours.is_unknown else _compared(ours, line)


def without_statement() -> list[Terminal]:
    """Return the terminals that have attempts, and whose bank gives no statement."""
    used = Exists(Attempt.objects.filter(terminal=OuterRef("pk")))
    return [one for one in Terminal.objects.filter(used).order_by("name") if not _statement(one)]


def contradicted() -> frozenset[str]:
    """Return the attempts with an open case of a bank that contradicts our book."""
    rows = Case.objects.filter(status=CaseStatus.OPEN, kind=CaseKind.BANK_CONTRADICTS_BOOK)
    return frozenset(rows.values_list("attempt_id", flat=True))


def _statements() -> dict[str, Iterator[StatementLine]]:
    """Return the statement of each terminal whose bank gives one, by the terminal's id."""
    found = {one.id: _statement(one) for one in Terminal.objects.order_by("name")}
    return {key: statement for key, statement in found.items() if statement is not None}


def _statement(terminal: Terminal) -> Iterator[StatementLine] | None:
    try:
        return acquirers.at(terminal).statement(terminal)
    except UpstreamUnavailable:
        return None


def _merged(statements: Iterable[Iterator[StatementLine]]) -> Iterator[StatementLine]:
    """Return all statements in order of the references; terminals of one bank give the same."""
    lines = merge(*statements, key=lambda line: line.reference)
    return (line for line, _same in groupby(lines))


def _attempts(terminals: list[str]) -> Iterator[Ours]:
    rows = _rows(Attempt.objects.filter(terminal__in=terminals).order_by("acquirer_reference"))
    chunk = list(rows[:CHUNK])
    # No server-side cursor: it would keep a transaction open while the statement is fetched.
    while chunk:
        yield from starmap(Ours, chunk)
        chunk = list(rows.filter(acquirer_reference__gt=chunk[-1][0])[:CHUNK])


def _rows(attempts: QuerySet[Attempt]) -> QuerySet[Any]:
    return attempts.values_list(
        "acquirer_reference", "id", "intent_id", "merchant_id", "status",
        Exists(UNDER_WAY), ASKED_AT, "currency", "installments",
        F("amount") + F("surcharge"), "captured_minor",
        Exists(REFUNDED_LATE), Exists(ON_THEIR_WAY), Exists(DONE.filter(method=Method.VOID)),
        _sum(GIVEN_BACK), _sum(CHARGED_BACK), Exists(BEING_ACCEPTED), Exists(DECIDED),
        Subquery(BY_REFERENCE),
    )  # fmt: skip


def _sum(amounts: QuerySet[Any]) -> Coalesce:
    return Coalesce(Subquery(amounts), 0, output_field=BigIntegerField())


def _side_by_side(
    ours: Iterator[Ours], lines: Iterator[StatementLine]
) -> Iterator[tuple[Ours | None, StatementLine | None]]:
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


def _compare(ours: Ours, line: StatementLine | None, found: Findings) -> bool:
    """Return whether the bank and we have the same; note what they have not."""
    if ours.awaits_payer and line is None:
        return True  # Nothing was sent to the bank yet.
    if line is not None and line.is_pending and ours.is_decided:
        found.decided.append(f"{ours} is {ours.status}; the bank has not decided")
    elif ours.is_unknown:
        found.unknown.append(f"{ours}: the bank {_said(line)}, and has not told us")
    elif _compared(ours, line):
        _compare_again(ours.reference, line, found)
    else:
        return True
    return False


def _compare_again(reference: str, line: StatementLine | None, found: Findings) -> None:
    """Report a difference unless a notice of the bank's explains it, applied since or not yet."""
    is_told = reference in untold.orders()
    ours = ours_of(reference)
    for said in _compared(ours, line):
        if is_told or ours.is_unknown:
            found.unknown.append(f"{said}; a notice of it is not applied yet")
        else:
            found.differences.append(_with_exchanges(said, ours))
            found.contradicted[ours.attempt_id] = said


def _with_exchanges(sentence: str, ours: Ours) -> str:
    rows = BankExchange.objects.filter(attempt=ours.attempt_id).order_by("sent_at", "id")
    return "\n    ".join([sentence, *map(str, rows)])


def _compared(ours: Ours, line: StatementLine | None) -> list[str]:
    expected = (
        ours.merchant_id, ours.authorized, ours.captured, ours.moved, ours.currency,
        ours.installments,
    )  # fmt: skip
    if line is None:
        is_missing = ours.authorized > 0
        return [f"{ours} is {ours.status}, and the bank has no line of it"] if is_missing else []
    told = (
        line.merchant_id, line.authorized, line.captured, line.moved, line.currency,
        line.installments,
    )  # fmt: skip
    if expected == told:
        return _refunds_compared(ours, line)
    return [
        f"{ours} is {ours.status} with {ours.authorized} authorised and {ours.captured} captured"
        f"{_left(ours.moved, ours.captured)} {ours.currency}{_split(ours.installments)}"
        f" for {ours.merchant_id};"
        f" the bank {_said(line)} for {line.merchant_id}"
    ]


def _refunds_compared(ours: Ours, line: StatementLine) -> list[str]:
    """Compare each refund; a late charge that was refunded is known by its sum alone."""
    told = {reference: amount for reference, amount in line.refunds.items() if amount}
    if ours.is_refunded_late or told == ours.refunds:
        return []
    return [f"{ours} has the refunds {ours.refunds}; the bank has {told}"]


def _said(line: StatementLine | None) -> str:
    if line is None:
        return "has no line of it"
    moved = _left(line.moved, line.captured)
    return (
        f"has {line.authorized} authorised and {line.captured} captured{moved} {line.currency}"
        f"{_split(line.installments)}"
    )


def _split(installments: int) -> str:
    return "" if installments == 1 else f" in {installments} installments"


def _left(moved: int, captured: int) -> str:
    """Say how much of the captured money has moved in the end, where it is not all of it."""
    return "" if moved == captured else f" ({moved} moved)"
