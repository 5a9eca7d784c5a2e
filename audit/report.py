"""The audit: ledger, payments, events and the bank's statement must agree (I7).

Safe under traffic: all checks within our database read one snapshot, and the statement is fetched
after it. The audit only reads, and locks nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection, transaction

from audit import balances, bank, events, queries, untold
from audit.findings import Findings

OUR_OWN = (*queries.CHECKS, events.check, *balances.CHECKS, untold.check)


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of all checks of one audit."""

    findings: list[Findings] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not any(found.differences for found in self.findings)


def run() -> Report:
    """Make every check.

    :raises acquirers.gateway.StatementUnreadable: the bank did not give its whole statement.
    """
    with _snapshot():
        findings = [check() for check in OUR_OWN]
    return Report([*findings, bank.check()])


@contextmanager
def _snapshot() -> Iterator[None]:
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield
