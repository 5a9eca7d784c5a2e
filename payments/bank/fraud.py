"""The verdict about an attempt as its payment shows it (`fraud`), and what the bank adds to it."""

from dataclasses import asdict
from typing import Any

from acquirers.outcomes import Outcome
from core import clock
from payments.intents.models import Attempt, PaymentIntent
from payments.risk import verdicts
from payments.risk.verdicts import FraudStatus, Level, RiskVerdict


def verdict_of(attempt: Attempt) -> RiskVerdict:
    """Return the attempt's verdict; the lowest one if nothing judged it."""
    if attempt.risk:
        return RiskVerdict(**attempt.risk)
    at = clock.unix(attempt.created_at)
    return RiskVerdict(Level.NORMAL.value, verdicts.LOWEST_SCORE, None, FraudStatus.CLEAR.value, at)


def hear_bank(attempt: Attempt, outcome: Outcome) -> None:
    """Add what the bank's answer says of the risk to a locked attempt; the caller saves it."""
    verdict = verdict_of(attempt)
    told = verdicts.with_banks_answer(
        verdict, outcome.risk_level, outcome.risk_score, at=clock.unix(clock.now())
    )
    if told != verdict:
        attempt.risk = asdict(told)


def show(intent: PaymentIntent, attempt: Attempt) -> None:
    """Let a locked payment show the verdict about the attempt; the caller saves it."""
    verdict = verdict_of(attempt)
    intent.fraud = {
        "status": verdict.status,
        "risk_level": verdict.level,
        "risk_score": verdict.score,
        "rule": verdict.rule,
        "updated": verdict.at,
    }


def successor_of(attempt: Attempt) -> dict[str, Any]:
    """Return the columns of the attempt that follows a soft decline, which is not judged again.

    The two are one try of the payer's, so the declined one is no longer counted.
    """
    attempt.is_counted = False
    names = ("risk", "card_fingerprint", "email_fingerprint", "network_fingerprint")
    return {name: getattr(attempt, name) for name in names}
