"""Do the books agree: ledger, payments, events, and the bank's own (I7)?

Safe under traffic: what is compared within our database is read in one snapshot, and
the bank is read after us. Reads only, locks nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection, transaction

from payments.audit import balances, bank, events, statements
from payments.audit.findings import Findings

OUR_OWN = (*statements.CHECKS, events.check, balances.check)


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit found."""

    findings: list[Findings] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not any(found.differences for found in self.findings)


def run() -> Report:
    """Make every check.

    :raises payments.gateways.base.StatementUnreadable: the bank did not give its book.
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
