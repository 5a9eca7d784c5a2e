"""The figures of the overview, worked out at most once a minute for a merchant in each process."""

from collections import OrderedDict
from datetime import timedelta
from threading import Lock

from core import clock
from merchants.models import Merchant
from panel.merchants import figures
from panel.merchants.figures import Figures
from panel.patience import TookTooLong, limited

OLDEST = timedelta(minutes=1)
LIMIT_MS = 2_000
# Merchants whose figures a process keeps, those that were asked for last.
MERCHANTS_MOST = 500


# By the merchant's id, when they were worked out (movable clock, unix seconds), and the figures.
_kept: OrderedDict[str, tuple[float, Figures | None]] = OrderedDict()
_lock = Lock()


def of(merchant: Merchant) -> Figures | None:
    """Return a merchant's figures, at most a minute old; None if the database is not done in time.

    The clock is the movable one: figures of before it was moved are too old.
    """
    now = clock.now().timestamp()
    with _lock:
        known = _kept.get(merchant.id)
    if known and 0 <= now - known[0] < OLDEST.total_seconds():
        return known[1]
    found = _read(merchant)
    with _lock:
        _kept[merchant.id] = (now, found)
        _kept.move_to_end(merchant.id)
        while len(_kept) > MERCHANTS_MOST:
            _kept.popitem(last=False)
    return found


def forget() -> None:
    """Let nothing be kept: tests change rows within the minute."""
    with _lock:
        _kept.clear()


def _read(merchant: Merchant) -> Figures | None:
    try:
        with limited(LIMIT_MS):
            return figures.read(merchant)
    except TookTooLong:
        return None
