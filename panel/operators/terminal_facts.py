"""Facts about a terminal for its page: how its bank has answered lately, and what is open."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from acquirers import terminals
from acquirers.models import BankExchange, Route, Terminal
from payments.intents.models import Attempt
from payments.intents.states import AttemptStatus

SHOWN = 20
# The error rate is about so many of the newest attempts.
NEWEST = 200


@dataclass(frozen=True, slots=True)
class Said:
    """One exchange with the bank; an authorisation that was answered at once is one too."""

    at: datetime
    attempt_id: str
    operation: str
    answer: str
    code: str
    milliseconds: int | None = None


@dataclass(frozen=True, slots=True)
class TerminalFacts:
    """How a terminal stands.

    :param attempts: the newest ones that `failures` of, which had no answer of the bank's own.
    """

    routes: Sequence[Route]
    exchanges: Sequence[Said]
    attempts: int
    failures: int
    in_doubt: Attempt | None
    day_ends_at: datetime | None

    @property
    def error_percent(self) -> int | None:
        return round(100 * self.failures / self.attempts) if self.attempts else None


def of(terminal: Terminal) -> TerminalFacts:
    """Return the facts about a terminal, as they are now."""
    newest = list(Attempt.objects.filter(terminal=terminal).order_by("-id")[:NEWEST])
    open_ones = Attempt.objects.filter(terminal=terminal, status=AttemptStatus.PROCESSING)
    return TerminalFacts(
        routes=list(terminal.routes.select_related("merchant").order_by("priority", "id")),
        exchanges=_exchanges(terminal, newest),
        attempts=len(newest),
        failures=sum(map(_has_failed, newest)),
        in_doubt=open_ones.order_by("asked_at").first(),
        day_ends_at=terminals.day_ends_at(terminal),
    )


def _has_failed(attempt: Attempt) -> bool:
    is_ours = (attempt.error or {}).get("type") == "api_error"
    return attempt.status == AttemptStatus.PROCESSING or is_ours


def _exchanges(terminal: Terminal, newest: list[Attempt]) -> list[Said]:
    rows = BankExchange.objects.filter(attempt__terminal=terminal).order_by("-id")[:SHOWN]
    said = [
        Said(one.sent_at, one.attempt_id, one.operation, one.answer, one.bank_code or "",
             one.milliseconds)
        for one in rows
    ]  # fmt: skip
    said += [
        Said(one.created_at, one.id, "authorization", one.status, one.bank_code or "")
        for one in newest[:SHOWN]
    ]
    return sorted(said, key=lambda one: one.at, reverse=True)[:SHOWN]
