"""The topup that a transfer is for: by the reference that its sender wrote, amount and currency."""

import re

from payouts.topups import steps
from payouts.topups.models import Topup
from payouts.topups.states import TopupStatus

# Ours have so many characters (`acquirers.references`).
REFERENCE = re.compile(r"[0-9A-Z]{20}")
NO_PART = re.compile(r"[^0-9A-Z]+")


def waiting(remittance: str, amount: int, currency: str) -> Topup | None:
    """Return the one pending topup that a transfer is for, locked; None if there is no such one.

    :param remittance: the text that the sender wrote.
    :param amount: in minor units.
    """
    named = list(Topup.objects.filter(reference__in=_references(remittance))[:2])
    if len(named) != 1:
        return None
    topup = steps.locked(named[0].id)
    return topup if is_for(topup, amount, currency) else None


def is_for(topup: Topup, amount: int, currency: str) -> bool:
    """Return whether a topup waits for a transfer of an amount, in minor units."""
    told = (topup.status, topup.amount, topup.currency)
    return told == (TopupStatus.PENDING, amount, currency)


def _references(remittance: str) -> set[str]:
    words = NO_PART.split(remittance.upper())
    return {word for word in (*words, "".join(words)) if REFERENCE.fullmatch(word)}
