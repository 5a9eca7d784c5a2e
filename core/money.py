"""Money: integers in minor units (ISO 4217), currencies by their lowercase code."""

import re
from decimal import Decimal

from django.conf import settings
from django.utils.translation import get_language
from iso4217 import Currency

NO_BREAK = "\N{NO-BREAK SPACE}"
MAX_REQUESTED_MINOR = 999_999_999_999
# ISO 4217: the currencies that have not two decimals.
DECIMALS = {
    "bif": 0, "clp": 0, "djf": 0, "gnf": 0, "isk": 0, "jpy": 0, "kmf": 0, "krw": 0, "pyg": 0,
    "rwf": 0, "ugx": 0, "uyi": 0, "vnd": 0, "vuv": 0, "xaf": 0, "xof": 0, "xpf": 0,
    "bhd": 3, "iqd": 3, "jod": 3, "kwd": 3, "lyd": 3, "omr": 3, "tnd": 3,
    "clf": 4, "uyw": 4,
}  # fmt: skip
# Codes of the standard that stand for no money: for "none", and for tests.
NO_MONEY = frozenset({"xxx", "xts"})
CURRENCIES = frozenset(one.code.lower() for one in Currency) - NO_MONEY
# Of these alone: `$` and its like are the sign of many others, whose code says which.
SIGNS = {"try": "₺", "usd": "$", "eur": "€", "gbp": "£"}
# Languages that write `1.250,00`; the others write `1,250.00`.
DECIMAL_COMMA = frozenset({"tr"})
_SWAPPED = str.maketrans(",.", ".,")
_WHOLE = {
    mark: re.compile(rf"[0-9]{{1,12}}|[0-9]{{1,3}}(?:\{mark}[0-9]{{3}}){{1,3}}") for mark in ",."
}
_DECIMALS = re.compile(r"[0-9]*")


def is_supported(currency: str) -> bool:
    """Return whether this installation takes the (lowercase) currency."""
    return currency in settings.CURRENCIES


def is_currency(code: str) -> bool:
    """Return whether a (lowercase) code is a currency's, of ISO 4217 or of this installation's."""
    return code in CURRENCIES or is_supported(code)


def split(amount: int, count: int) -> tuple[int, int]:
    """Return the first of equal parts, which gets the remainder, and each of the others."""
    part = amount // count
    return amount - (count - 1) * part, part


def written_split(amount: int, currency: str, count: int) -> str:
    """Return an amount's parts as a person reads them: `₺33.34 + 2 × ₺33.33`.

    A narrow screen breaks the line at the plus, and nowhere else.
    """
    first, part = split(amount, count)
    times = count if first == part else count - 1
    parts = [written(first, currency)] if first != part else []
    parts.append(f"{times} × {written(part, currency)}")
    return " + ".join(one.replace(" ", NO_BREAK) for one in parts)


def written(amount: int, currency: str) -> str:
    """Return an amount in minor units as a person reads it, in the language of the page.

    `₺6.539,61` in Turkish, `₺6,539.61` in English and outside of any page; a currency without a
    sign has its code behind it: `1,250.00 CHF`.
    """
    decimals = DECIMALS.get(currency, 2)
    number = f"{Decimal(abs(amount)).scaleb(-decimals):,.{decimals}f}"
    if _writes_commas():
        number = number.translate(_SWAPPED)
    minus = "-" if amount < 0 else ""
    sign = SIGNS.get(currency)
    return f"{minus}{sign}{number}" if sign else f"{minus}{number} {currency.upper()}"


def major(amount: int, currency: str) -> Decimal:
    """Return an amount in minor units as a number of major ones, with the currency's decimals."""
    return Decimal(amount).scaleb(-DECIMALS.get(currency, 2))


def typed(amount: int, currency: str) -> str:
    """Return an amount in minor units as a form shows it: no sign, no groups; `read` reads it."""
    decimals = DECIMALS.get(currency, 2)
    number = f"{Decimal(amount).scaleb(-decimals):.{decimals}f}"
    return number.translate(_SWAPPED) if _writes_commas() else number


def read(text: str, currency: str) -> int:
    """Return the amount in minor units that a person wrote in the language of the page.

    Thousands may be grouped, the sign or the code may be there.

    :raises ValueError: no amount, more decimals than the currency has, or a mark that may mean
        both: `1.250` in Turkish is 1250, and `1.25` is nothing.
    """
    point, group = (",", ".") if _writes_commas() else (".", ",")
    bare = text.strip().upper().removesuffix(currency.upper())
    bare = bare.removeprefix(SIGNS.get(currency, "")).replace("\N{NO-BREAK SPACE}", "").strip()
    whole, _point, decimals = bare.partition(point)
    if not _WHOLE[group].fullmatch(whole) or not _DECIMALS.fullmatch(decimals):
        raise ValueError("no amount")
    most = DECIMALS.get(currency, 2)
    if len(decimals) > most or (_point and not decimals):
        raise ValueError("more decimals than the currency has")
    return int(whole.replace(group, "") + decimals.ljust(most, "0"))


def _writes_commas() -> bool:
    return (get_language() or "en").partition("-")[0] in DECIMAL_COMMA
