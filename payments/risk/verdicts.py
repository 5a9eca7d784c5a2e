"""Verdicts about attempts: of the rules, then of the bank, then of a person.

Nothing here reads a table: the numbers are handed in. A verdict is kept with its attempt, and the
payment shows that of the attempt it shows (contract-terms, "risk and `fraud`").
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db import models

from merchants.models import RuleEffect, RuleName
from payments.risk.rules import Rules

LOWEST_SCORE = 10
ELEVATED_FROM, HIGHEST_FROM = 65, 75
# Of the bank's warning and of a person's `fraud`: it is no guess any more.
CERTAIN = 100
SCORES = {
    RuleName.BLOCK_LIST: 100,
    RuleName.CARD_DECLINES: 90,
    RuleName.CARD_VELOCITY: 85,
    RuleName.EMAIL_CARDS: 85,
    RuleName.EMAIL_VELOCITY: 80,
    RuleName.CARD_TESTING: 70,
    RuleName.ADDRESS_DECLINES: 70,
    RuleName.AMOUNT: 70,
    RuleName.COUNTRY_MISMATCH: 65,
}
# Words for `rule` that are no rule of ours.
BANK_BLOCK, BANK_WARNING, PERSON = "block_highest_risk", "bank_warning", "person"


class Level(models.TextChoices):
    """`risk_level`, from the lowest to the highest."""

    NORMAL = "normal"
    ELEVATED = "elevated"
    HIGHEST = "highest"


class FraudStatus(models.TextChoices):
    """`fraud.status`; `pending` is reserved."""

    PENDING = "pending"
    CLEAR = "clear"
    REVIEW = "review"
    FRAUD = "fraud"


class Counts(NamedTuple):
    """Attempts of the merchant without the one that is judged, each in its rule's window."""

    card_attempts: int = 0
    card_declines: int = 0
    email_attempts: int = 0
    email_cards: int = 0
    network_declines: int = 0


class Facts(NamedTuple):
    """The facts that the rules look at.

    :param amount: in minor units, without the surcharge.
    :param card_country: of the issuer, None if unknown; `billing_country` likewise.
    """

    amount: int
    counts: Counts = Counts()
    is_block_listed: bool = False
    is_allow_listed: bool = False
    is_card_testing: bool = False
    card_country: str | None = None
    billing_country: str | None = None


@dataclass(frozen=True, slots=True)
class RiskVerdict:
    """A verdict about one attempt; a row keeps its fields by their names.

    :param rule: the heaviest hit, None if there was none.
    :param at: when it was given, unix seconds.
    :param demands_authentication: the payer must authenticate.
    :param is_warned: the bank has warned of fraud, which it does once.
    """

    level: str
    score: int
    rule: str | None
    status: str
    at: int
    demands_authentication: bool = False
    is_warned: bool = False

    @property
    def is_blocked(self) -> bool:
        """Return whether a rule of ours has blocked the attempt."""
        return self.status == FraudStatus.FRAUD and self.rule in RuleName.values


def judge(rules: Rules, facts: Facts, *, at: int) -> RiskVerdict:
    """Return the verdict of the rules, before the bank is asked."""
    hits = hits_of(rules, facts)
    deeds = {rules[name].deed for name in hits}
    # Of two that weigh the same, the first in the contract's order.
    heaviest = max(hits, key=lambda name: SCORES[name], default=None)
    score = max([LOWEST_SCORE, *(SCORES[name] for name in hits)])
    # A block is shown by the rule that blocked: a heavier one may only want a review.
    if RuleEffect.BLOCK in deeds:
        heaviest = max(
            (name for name in hits if rules[name].deed == RuleEffect.BLOCK),
            key=lambda name: SCORES[name],
        )
    return RiskVerdict(
        level=level_of(score),
        score=score,
        rule=heaviest and heaviest.value,
        status=_status(deeds),
        at=at,
        demands_authentication=RuleEffect.AUTHENTICATE in deeds,
    )


def hits_of(rules: Rules, facts: Facts) -> list[RuleName]:
    """Return the rules that hit and are on, in the contract's order.

    The block list beats the allow list, which beats all other rules.
    """
    listed = [RuleName.BLOCK_LIST] if facts.is_block_listed else []
    found = listed if facts.is_allow_listed else [*listed, *_counted(rules, facts), *_told(facts)]
    found += [] if facts.is_allow_listed else _by_amount(rules, facts)
    return [name for name in RuleName if name in found and rules[name].is_on]


def _counted(rules: Rules, facts: Facts) -> list[RuleName]:
    counted = {
        RuleName.CARD_VELOCITY: facts.counts.card_attempts,
        RuleName.CARD_DECLINES: facts.counts.card_declines,
        RuleName.EMAIL_VELOCITY: facts.counts.email_attempts,
        RuleName.EMAIL_CARDS: facts.counts.email_cards,
        RuleName.ADDRESS_DECLINES: facts.counts.network_declines,
    }
    return [name for name, count in counted.items() if count >= (rules[name].threshold or 1)]


def _told(facts: Facts) -> list[RuleName]:
    known = facts.card_country and facts.billing_country
    differs = known and facts.card_country != facts.billing_country
    testing = [RuleName.CARD_TESTING] if facts.is_card_testing else []
    return [*testing, *([RuleName.COUNTRY_MISMATCH] if differs else [])]


def _by_amount(rules: Rules, facts: Facts) -> list[RuleName]:
    highest = rules[RuleName.AMOUNT].threshold
    return [RuleName.AMOUNT] if highest is not None and facts.amount > highest else []


def _status(deeds: Iterable[RuleEffect]) -> str:
    if RuleEffect.BLOCK in deeds:
        return FraudStatus.FRAUD.value
    return FraudStatus.REVIEW.value if RuleEffect.REVIEW in deeds else FraudStatus.CLEAR.value


def level_of(score: int) -> str:
    """Return the level of a score of 0 to 100."""
    if score >= HIGHEST_FROM:
        return Level.HIGHEST.value
    return Level.ELEVATED.value if score >= ELEVATED_FROM else Level.NORMAL.value


def with_banks_answer(
    verdict: RiskVerdict, level: str | None, score: int | None, *, at: int
) -> RiskVerdict:
    """Return the verdict with what the bank's answer says; unchanged if it says nothing new.

    The bank's highest risk is its block. A person's judgement stands until the bank says so.
    """
    if level is None or (verdict.rule == PERSON and level != Level.HIGHEST):
        return verdict
    together = max(verdict.score, score or 0)
    heard = replace(verdict, score=together, level=_higher(level_of(together), level))
    if level == Level.HIGHEST:
        heard = replace(heard, rule=BANK_BLOCK, status=FraudStatus.FRAUD.value)
    return verdict if heard == verdict else replace(heard, at=at)


def with_banks_warning(verdict: RiskVerdict, *, at: int) -> RiskVerdict:
    """Return the verdict once the bank has warned of fraud; unchanged from the second time on."""
    if verdict.is_warned:
        return verdict
    told = _certain(verdict, rule=BANK_WARNING, at=at)
    return replace(told, is_warned=True)


def by_person(verdict: RiskVerdict, status: FraudStatus, *, at: int) -> RiskVerdict:
    """Return a person's verdict, `clear` or `fraud`."""
    if (verdict.rule, verdict.status) == (PERSON, status.value):
        return verdict
    if status == FraudStatus.FRAUD:
        return _certain(verdict, rule=PERSON, at=at)
    cleared = replace(verdict, rule=PERSON, status=status.value, at=at)
    return replace(cleared, score=LOWEST_SCORE, level=level_of(LOWEST_SCORE))


def _certain(verdict: RiskVerdict, *, rule: str, at: int) -> RiskVerdict:
    level = level_of(CERTAIN)
    return replace(
        verdict, level=level, score=CERTAIN, rule=rule, status=FraudStatus.FRAUD.value, at=at
    )


def _higher(one: str, other: str) -> str:
    order = Level.values
    return max(one, other, key=order.index)
