"""Money: integers in minor units (ISO 4217), currencies by their lowercase code."""

from decimal import Decimal

from django.conf import settings

NO_BREAK = "\N{NO-BREAK SPACE}"
MAX_REQUESTED_MINOR = 999_999_999_999
# ISO 4217: the currencies that have not two decimals.
DECIMALS = {
    "bif": 0, "clp": 0, "djf": 0, "gnf": 0, "isk": 0, "jpy": 0, "kmf": 0, "krw": 0, "pyg": 0,
    "rwf": 0, "ugx": 0, "uyi": 0, "vnd": 0, "vuv": 0, "xaf": 0, "xof": 0, "xpf": 0,
    "bhd": 3, "iqd": 3, "jod": 3, "kwd": 3, "lyd": 3, "omr": 3, "tnd": 3,
    "clf": 4, "uyw": 4,
}  # fmt: skip


def is_supported(currency: str) -> bool:
    """Tell whether this installation takes the (lowercase) currency."""
    return currency in settings.CURRENCIES


def split(amount: int, count: int) -> tuple[int, int]:
    """Return the first of so many parts, which has what is left over, and each of the others."""
    part = amount // count
    return amount - (count - 1) * part, part


def written_split(amount: int, currency: str, count: int) -> str:
    """Return an amount's parts as a person reads them: `33.34 TRY + 2 × 33.33 TRY`.

    A narrow screen breaks the line at the plus, and nowhere else.
    """
    first, part = split(amount, count)
    times = count if first == part else count - 1
    parts = [written(first, currency)] if first != part else []
    parts.append(f"{times} × {written(part, currency)}")
    return " + ".join(one.replace(" ", NO_BREAK) for one in parts)


def written(amount: int, currency: str) -> str:
    """Return an amount in minor units as a person reads it, such as `1,250.00 TRY`."""
    decimals = DECIMALS.get(currency, 2)
    return f"{Decimal(amount).scaleb(-decimals):,.{decimals}f} {currency.upper()}"
