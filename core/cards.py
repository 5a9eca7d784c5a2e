"""Card numbers: their brands, lengths and masks; and the one object that carries a card.

Nothing here needs Django: the log formatter uses it while the settings are being read.
"""

from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, NoReturn, SupportsIndex

# --- Brands -----------------------------------------------------------------------------------

# Public IIN ranges: first and last prefix, brand, lengths that the brand issues. The longest
# prefix wins, so 9792 and 65 are Troy's although Discover once listed 65.
_RANGES: list[tuple[int, int, str, tuple[int, ...]]] = [
    (4, 4, "visa", (16, 19)),
    (51, 55, "mastercard", (16,)),
    (2221, 2720, "mastercard", (16,)),
    (65, 65, "troy", (16,)),
    (9792, 9792, "troy", (16,)),
    (34, 34, "amex", (15,)),
    (37, 37, "amex", (15,)),
    (50, 50, "maestro", (16, 18, 19)),
    (56, 59, "maestro", (16, 18, 19)),
    (63, 63, "maestro", (16, 18, 19)),
    (67, 67, "maestro", (16, 18, 19)),
    (3528, 3589, "jcb", (16,)),
    (62, 62, "unionpay", (16, 17, 18, 19)),
    (810, 817, "unionpay", (16, 17, 18, 19)),
    (6011, 6011, "discover", (16,)),
    (644, 649, "discover", (16,)),
    (300, 305, "diners", (14, 16)),
    (3095, 3095, "diners", (14, 16)),
    (36, 36, "diners", (14, 16)),
    (38, 39, "diners", (14, 16)),
]
BRANDS = tuple(dict.fromkeys(brand for _first, _last, brand, _lengths in _RANGES))
_ISSUED = {
    str(prefix): (brand, lengths)
    for first, last, brand, lengths in _RANGES
    for prefix in range(first, last + 1)
}
LONGEST_PREFIX = 4
SHORTEST_NUMBER, LONGEST_NUMBER = 13, 19
# A day ends last where clocks are this far behind UTC.
LAST_ON_EARTH = timedelta(hours=12)
_NOBODY: tuple[str | None, tuple[int, ...]] = (None, ())


def brand_of(number: str) -> str | None:
    """Return the brand by the number's (or BIN's) first digits, None if no brand's."""
    return _issuer(number[:LONGEST_PREFIX])[0]


def luhn_valid(digits: str) -> bool:
    """Return whether the check digit is right; anything but ASCII digits is not valid."""
    if not (digits.isascii() and digits.isdigit()):
        return False
    return is_luhn_part(luhn_sums(digits), 0, len(digits))


def looks_like_card_number(digits: str) -> bool:
    """Return whether a brand issues numbers of this start and length, and Luhn holds."""
    return len(digits) in lengths_issued(digits) and luhn_valid(digits)


def lengths_issued(start: str) -> tuple[int, ...]:
    """Return the lengths of numbers that a brand issues with this start; empty if none does."""
    return _issuer(start[:LONGEST_PREFIX])[1]


def is_expired(year: int, month: int, *, now: datetime) -> bool:
    """Return whether a card's last month is over everywhere on earth.

    :param now: in UTC.
    """
    last = now - LAST_ON_EARTH
    return (year, month) < (last.year, last.month)


def masked(number: str) -> str:
    """Return the first six, length − 10 asterisks, and the last four (contract 10).

    A number too short to hide anything that way is asterisks only.
    """
    if len(number) < SHORTEST_NUMBER:
        return "*" * len(number)
    return f"{number[:6]}{'*' * (len(number) - 10)}{number[-4:]}"


def _issuer(start: str) -> tuple[str | None, tuple[int, ...]]:
    for length in range(len(start), 0, -1):
        if start[:length] in _ISSUED:
            return _ISSUED[start[:length]]
    return _NOBODY


_ONCE = bytes.maketrans(b"0123456789", bytes(range(10)))
_TWICE = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))


def luhn_sums(digits: str) -> tuple[list[int], list[int]]:
    """Return running sums with the even places doubled, and with the odd places doubled.

    With them Luhn of any part of a long run costs one subtraction.
    """
    once, twice = digits.encode().translate(_ONCE), digits.encode().translate(_TWICE)
    even, odd = bytearray(once), bytearray(once)
    even[0::2], odd[1::2] = twice[0::2], twice[1::2]
    return list(accumulate(even, initial=0)), list(accumulate(odd, initial=0))


def is_luhn_part(sums: tuple[list[int], list[int]], start: int, stop: int) -> bool:
    """Return whether Luhn holds for the digits from `start` up to `stop`."""
    # Doubled is every second place before the last one: those of `stop`'s parity.
    running = sums[stop % 2]
    return (running[stop] - running[start]) % 10 == 0


# --- The card in the air -----------------------------------------------------------------------


class CardData:
    """A card as the payer typed it; it lives in memory for one request.

    It shows nothing of itself where values usually leak (text, tracebacks, logs) and
    refuses every way to be written down (pickle, copy, JSON). No dataclass: orjson
    would write one.
    """

    __slots__ = ("cvc", "exp_month", "exp_year", "holder_name", "number")
    # Not hashable, so that no cache or set keeps it; equality stays identity.
    __hash__ = None  # type: ignore[assignment]

    number: str
    exp_month: int
    exp_year: int
    cvc: str | None
    holder_name: str | None

    def __init__(
        self,
        number: str,
        exp_month: int,
        exp_year: int,
        cvc: str | None = None,
        holder_name: str | None = None,
    ) -> None:
        self.number = number
        self.exp_month = exp_month
        self.exp_year = exp_year
        self.cvc = cvc
        self.holder_name = holder_name

    @property
    def bin(self) -> str:
        return self.number[:6]

    @property
    def last4(self) -> str:
        return self.number[-4:]

    @property
    def masked(self) -> str:
        return masked(self.number)

    @property
    def brand(self) -> str | None:
        return brand_of(self.number)

    def __repr__(self) -> str:
        return "<CardData>"

    def __format__(self, _spec: str) -> str:
        return "<CardData>"

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError("CardData refuses to be copied or written down.")

    def __getstate__(self) -> Any:
        raise TypeError("CardData refuses to be copied or written down.")
