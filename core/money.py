"""Money: integers in minor units (ISO 4217), currencies by their lowercase code."""

from django.conf import settings

MAX_REQUESTED_MINOR = 999_999_999_999


def is_supported(currency: str) -> bool:
    """Tell whether this installation takes the (lowercase) currency."""
    return currency in settings.CURRENCIES
