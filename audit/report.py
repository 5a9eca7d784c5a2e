"""The audit: ledger, payments, events and the bank's statement must agree (I7).

Safe under traffic: all checks within our database read one snapshot, and the statement is fetched
after it. The audit locks nothing, and writes only that a bank was asked; `audit.contradictions`
opens the cases afterwards.
"""

from dataclasses import dataclass, field

from audit import (
    asked,
    balances,
    bank,
    counted_days,
    events,
    incoming,
    keys,
    queries,
    settlements,
    statements,
    transfers,
    untold,
)
from audit.asked import Pace
from audit.findings import Findings
from core.snapshots import snapshot

OUR_OWN = (
    *queries.CHECKS, events.check, events.jumps, *balances.CHECKS, *settlements.CHECKS,
    *statements.CHECKS, untold.check, transfers.untold, keys.check, counted_days.check,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of all checks of one audit."""

    findings: list[Findings] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not any(found.differences or found.unvouched for found in self.findings)

    @property
    def contradicted(self) -> dict[str, str]:
        """Return by attempt how the bank's book differs from ours."""
        return {key: said for found in self.findings for key, said in found.contradicted.items()}

    @property
    def agreed(self) -> list[str]:
        """Return the attempts with an open case about a difference that is over."""
        return [attempt for found in self.findings for attempt in found.agreed]


def run(pace: Pace | None = None) -> Report:
    """Make every check.

    :param pace: of the questions to banks that give no statement.
    :raises acquirers.gateway.StatementUnreadable: the bank did not give its whole statement.
    """
    with snapshot():
        findings = [check() for check in OUR_OWN]
    return Report([*findings, bank.check(), asked.check(pace), transfers.check(), incoming.check()])
