"""The old bank's rules about captured money that goes back: its day, its voids and its refunds."""

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from testbank import behaviours
from testbank.states import RefundState
from tests.stage.oldbank.book import Transaction
from tests.stage.oldbank.messages import CURRENCIES, Refused, minor

SETTLED, IS_REFUNDED = "E-3204", "E-3205"
NOTHING_TO_REFUND, ABOVE_CAPTURED, DAY_OPEN = "E-3301", "E-3302", "E-3303"
DAY_SECONDS = 86_400
# Unlike the sandbox's bank, it closes its day before midnight.
ZONE, DAY_ENDS = ZoneInfo("Europe/Istanbul"), time(22)
# State and code of a refund, by what becomes of it.
DONE, REFUSED = ("A", behaviours.APPROVED), ("D", behaviours.DO_NOT_HONOR)
WAITS = ("W", behaviours.IN_PROGRESS)


def end_of_day(at: float) -> float:
    """Return the end of the bank's day that a moment lies in, in seconds since 1970."""
    here = datetime.fromtimestamp(at, ZONE)
    end = datetime.combine(here.date(), DAY_ENDS, ZONE)
    return (end if here < end else end + timedelta(days=1)).timestamp()


def captures(lines: list[Transaction]) -> list[Transaction]:
    """Return what took money; a sale does so by itself."""
    return [one for one in lines if one.kind in "SC" and one.state == "A"]


def is_all_gone(lines: list[Transaction]) -> bool:
    """Return whether all that an order took or held has gone back."""
    if any(one.kind in "VL" and one.state == "A" for one in lines):
        return True
    took = sum(one.amount for one in captures(lines))
    return bool(took) and _refunded(lines) >= took


def refuse_void(lines: list[Transaction], now: float) -> None:
    """Refuse to void what was captured on an earlier day, or was refunded in part.

    :raises Refused: only a refund brings it back.
    """
    taken = captures(lines)
    if not taken:
        return
    behaviour = behaviours.BY_NAME[taken[-1].behaviour]
    is_over = now >= end_of_day(taken[-1].at) or behaviour.settles_at_once
    if is_over and not behaviour.refuses_void:
        raise Refused(SETTLED)
    if _refunded(lines):
        raise Refused(IS_REFUNDED)


def refuse_early(lines: list[Transaction], now: float, *, after_days: int) -> None:
    """Refuse to refund what was captured on a day that is not closed.

    :param after_days: so many ends of days it takes; 0 refunds at once.
    :raises Refused: not yet.
    """
    taken = captures(lines)
    if taken and after_days and now < end_of_day(taken[-1].at) + DAY_SECONDS * (after_days - 1):
        raise Refused(DAY_OPEN)


def refundable(lines: list[Transaction], held: Transaction | None, message: dict[str, str]) -> int:
    """Return the amount that a message may refund, in minor units.

    :raises Refused: nothing was captured, or not so much is left.
    """
    taken = sum(one.amount for one in captures(lines))
    amount = minor(message["Amount"])
    if held is None or not taken:
        raise Refused(NOTHING_TO_REFUND)
    is_other = CURRENCIES[message["Currency"]] != held.currency
    if is_other or amount + _refunded(lines) > taken:
        raise Refused(ABOVE_CAPTURED)
    return amount


def beginning(behaviour_name: str) -> tuple[str, str]:
    """Return state and code that a refund begins with, by the card's behaviour."""
    behaviour = behaviours.BY_NAME[behaviour_name]
    if behaviour.refuses_refund:
        return REFUSED
    return DONE if behaviour.refund_ends_as is None else WAITS


def end(behaviour_name: str) -> tuple[str, str]:
    """Return state and code that a refund takes which had to wait."""
    ends_as = behaviours.BY_NAME[behaviour_name].refund_ends_as
    return DONE if ends_as == RefundState.REFUNDED else REFUSED


def _refunded(lines: list[Transaction]) -> int:
    return sum(one.amount for one in lines if one.kind == "R" and one.state in "AW")
