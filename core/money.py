"""Money: integers in minor units, currencies by their ISO 4217 code."""

from django.conf import settings

MAX_REQUESTED_MINOR = 999_999_999_999

# ISO 4217 exponents that differ from two; every other currency has two decimals.
EXPONENTS = {
    "bif": 0, "clp": 0, "djf": 0, "gnf": 0, "jpy": 0, "kmf": 0, "krw": 0, "pyg": 0, "rwf": 0,
    "ugx": 0, "vnd": 0, "vuv": 0, "xaf": 0, "xof": 0, "xpf": 0,
    "bhd": 3, "iqd": 3, "jod": 3, "kwd": 3, "lyd": 3, "omr": 3, "tnd": 3,
}  # fmt: skip


def exponent(currency: str) -> int:
    """Return how many decimals the currency's major unit has."""
    return EXPONENTS.get(currency, 2)


def is_supported(currency: str) -> bool:
    """Tell whether this installation takes the (lowercase) currency."""
    return currency in settings.CURRENCIES
