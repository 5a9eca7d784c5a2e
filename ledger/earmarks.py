"""Available money that is waited for: what refunds need of it is not paid out (contract-money).

The rooms that wait lie above the ledger; their apps register them.
"""

from collections.abc import Callable

from core.registry import Registry

Needed = Callable[[str, str], int]
EARMARKS: Registry[Needed] = Registry("earmark")


def register(needed: Needed) -> None:
    """Add a function that says how much of a merchant's money in a currency is waited for.

    Called in `AppConfig.ready()`.
    """
    EARMARKS.add(f"{needed.__module__}.{needed.__qualname__}", needed)


def of(merchant_id: str, currency: str) -> int:
    """Return how much of a merchant's available money is waited for, in minor units.

    Read it under the account's lock: what waits now may have taken it meanwhile.
    """
    return sum(needed(merchant_id, currency) for needed in EARMARKS.values())
