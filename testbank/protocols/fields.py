"""Forms of values that every protocol has: currencies, cards, addresses of payers."""

import re
from ipaddress import ip_address

from core import cards, clock

CURRENCIES = {"949": "try", "840": "usd", "978": "eur", "826": "gbp"}
NUMBERS = {code: number for number, code in CURRENCIES.items()}
INSTALLMENTS = re.compile(r"|[2-9]|1[0-2]")
CVC = re.compile(r"[0-9]{3,4}")
# Twelve digits: one less than the shortest card number.
HOST_REF = re.compile(r"[0-9]{12}")
_NUMBER = re.compile(r"[0-9]{13,19}")
_IP_LENGTH = 39
_CENTURY = 2000


def is_valid_number(text: str) -> bool:
    """Return whether a text has the form of a card number, its last digit included."""
    return bool(_NUMBER.fullmatch(text)) and cards.luhn_valid(text)


def is_expired(month: str, year: str) -> bool:
    """Return whether a card's month, such as `12` of `34`, is over."""
    return cards.is_expired(_CENTURY + int(year), int(month), now=clock.now())


def are_installments(text: str, currency: str) -> bool:
    """Return whether a count is in form: empty for one, and several of lira only.

    :param currency: its number, such as `949`.
    """
    return bool(INSTALLMENTS.fullmatch(text)) and (not text or currency == NUMBERS["try"])


def is_address(text: str) -> bool:
    """Return whether a text is a payer's IP address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return len(text) <= _IP_LENGTH
