"""The rules by which a payment is judged, with the settings of installation and merchant.

contract-terms, "risk and `fraud`". A merchant's row goes over the installation's setting, that one
over the default. In a sandbox all rules but the lists are off by default.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from merchants.models import RuleEffect, RuleName

HOUR, DAY = timedelta(hours=1), timedelta(hours=24)
# The part of a merchant's attempts that must be declined, in percent, and how long the demand for
# authentication holds from the last time that so many were.
CARD_TESTING_PERCENT = 60
CARD_TESTING_HOLDS = timedelta(minutes=30)


class Rule(NamedTuple):
    """One rule as it applies.

    :param threshold: the count from which it hits; of amounts: the highest that passes, in minor
        units; None for a rule that counts nothing.
    :param window: how far back is counted.
    """

    deed: RuleEffect
    threshold: int | None = None
    window: timedelta | None = None

    @property
    def is_on(self) -> bool:
        """Return whether the rule can hit at all."""
        return self.deed != RuleEffect.OFF


class Setting(NamedTuple):
    """A rule as it is asked for; None takes the value that is there."""

    rule: str
    currency: str
    deed: str
    threshold: int | None = None
    window_seconds: int | None = None


Rules = Mapping[RuleName, Rule]

DEFAULTS: Rules = {
    RuleName.BLOCK_LIST: Rule(RuleEffect.BLOCK),
    RuleName.CARD_VELOCITY: Rule(RuleEffect.BLOCK, 10, HOUR),
    RuleName.CARD_DECLINES: Rule(RuleEffect.BLOCK, 8, DAY),
    RuleName.EMAIL_VELOCITY: Rule(RuleEffect.BLOCK, 20, HOUR),
    RuleName.EMAIL_CARDS: Rule(RuleEffect.BLOCK, 5, DAY),
    RuleName.CARD_TESTING: Rule(RuleEffect.AUTHENTICATE, 30, timedelta(minutes=10)),
    RuleName.ADDRESS_DECLINES: Rule(RuleEffect.AUTHENTICATE, 10, HOUR),
    RuleName.COUNTRY_MISMATCH: Rule(RuleEffect.AUTHENTICATE),
    RuleName.AMOUNT: Rule(RuleEffect.OFF),
}


def of_installation(currency: str) -> Rules:
    """Return the rules of a merchant without settings of its own.

    :raises ImproperlyConfigured: `RISK_RULES` cannot be read.
    """
    return _of_installation(settings.LIVEMODE, tuple(settings.RISK_RULES.items()), currency)


def with_settings(base: Rules, wanted: Iterable[Setting], currency: str) -> Rules:
    """Return the rules with a merchant's own settings for payments in a currency."""
    changed = dict(base)
    for one in wanted:
        if one.currency in ("", currency):
            name = RuleName(one.rule)
            changed[name] = _over(changed[name], one)
    return changed


def _over(rule: Rule, wanted: Setting) -> Rule:
    window = wanted.window_seconds
    return Rule(
        RuleEffect(wanted.deed),
        rule.threshold if wanted.threshold is None else wanted.threshold,
        rule.window if window is None else timedelta(seconds=window),
    )


@cache
def _of_installation(live: bool, wanted: tuple[tuple[str, str], ...], currency: str) -> Rules:
    base = DEFAULTS if live else _lists_only()
    return with_settings(base, [_read(name, value) for name, value in wanted], currency)


def _lists_only() -> Rules:
    return {
        name: rule if name == RuleName.BLOCK_LIST else rule._replace(deed=RuleEffect.OFF)
        for name, rule in DEFAULTS.items()
    }


def _read(name: str, value: str) -> Setting:
    """Read one setting of the environment, such as `card_velocity` and `block/10/3600`."""
    rule, _, currency = name.partition(":")
    deed, *numbers = value.split("/")
    is_known = rule in RuleName.values and deed in RuleEffect.values and len(numbers) <= 2
    is_counted = all(one.isascii() and one.isdecimal() and int(one) >= 1 for one in numbers)
    if not is_known or not is_counted or bool(currency) != (rule == RuleName.AMOUNT):
        raise ImproperlyConfigured(
            "Set RISK_RULES to rule=deed, rule=deed/n or rule=deed/n/seconds, separated by commas, "
            f"such as card_velocity=block/10/3600 or amount:try=review/500000: {name} is not."
        )
    return Setting(rule, currency, deed, *map(int, numbers))
