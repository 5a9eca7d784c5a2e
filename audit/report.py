"""The audit: ledger, payments, events and the bank's statement must agree (I7).

Safe under traffic: all checks within our database read one snapshot, and the statement is fetched
after it. The audit only reads, and locks nothing; `audit.contradictions` opens the cases
afterwards.
"""

from dataclasses import dataclass, field

from audit import balances, bank, events, incoming, keys, queries, settlements, transfers, untold
from audit.findings import Findings
from core.snapshots import snapshot

OUR_OWN = (
    *queries.CHECKS, events.check, events.jumps, *balances.CHECKS, *settlements.CHECKS,
    untold.check, transfers.untold, keys.check,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of all checks of one audit."""

    findings: list[Findings] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not any(found.differences for found in self.findings)

    @property
    def contradicted(self) -> dict[str, str]:
        """Return by attempt how the bank's book differs from ours."""
        return {key: said for found in self.findings for key, said in found.contradicted.items()}

    @property
    def agreed(self) -> list[str]:
        """Return the attempts with an open case about a difference that is over."""
        return [attempt for found in self.findings for attempt in found.agreed]


def run() -> Report:
    """Make every check.

    :raises acquirers.gateway.StatementUnreadable: the bank did not give its whole statement.
    """
    with snapshot():
        findings = [check() for check in OUR_OWN]
    return Report([*findings, bank.check(), transfers.check(), incoming.check()])
