"""Available money that is waited for: what refunds need of it is not paid out (contract-money).

The rooms that wait lie above the ledger; they name themselves in `settings.EARMARKS`.
"""

from collections.abc import Callable

from django.conf import settings
from django.utils.module_loading import import_string

Needed = Callable[[str, str], int]


def of(merchant_id: str, currency: str) -> int:
    """Return how much of a merchant's available money is waited for, in minor units.

    Read it under the account's lock: what waits now may have taken it meanwhile.
    """
    needs: list[Needed] = [import_string(path) for path in settings.EARMARKS]
    return sum(needed(merchant_id, currency) for needed in needs)
