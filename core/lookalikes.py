"""Things of many digits that are no card number, by their form: UUIDs, IBANs, IPv6, decimals.

Each is replaced by as many letters, so that places in the text stay what they are.
"""

import re
from collections.abc import Callable
from ipaddress import ip_address

_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Za-z])"
)
_IBAN = re.compile(
    r"(?<![0-9A-Za-z])[A-Z]{2}\d\d(?: ?[0-9A-Z]{4}){2,7}(?: ?[0-9A-Z]{1,3})?(?![0-9A-Za-z])"
)
_IPV6 = re.compile(
    r"(?<![0-9A-Za-z:])(?=[0-9:]*[A-Fa-f])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){3,7}(?![0-9A-Za-z:])"
)
_DECIMAL = re.compile(r"(?<![\w.-])-?\d{1,3}\.\d{5,}(?![\w.-])")


def _letters(text: str) -> str:
    return "x" * len(text)


def _uuid(match: re.Match[str]) -> str:
    # With a letter in it a UUID is no card, even where three groups in a row have none.
    return match[0] if match[0].replace("-", "").isdigit() else _letters(match[0])


def _iban(match: re.Match[str]) -> str:
    account = match[0].replace(" ", "")
    digits = "".join(str(int(char, 36)) for char in account[4:] + account[:4])
    return _letters(match[0]) if int(digits) % 97 == 1 else match[0]


def _ipv6(match: re.Match[str]) -> str:
    # As with a UUID: one without a letter may be four groups of a card, and others.
    try:
        ip_address(match[0])
    except ValueError:
        return match[0]
    return _letters(match[0])


def _decimal(match: re.Match[str]) -> str:
    # A coordinate or a rate: nobody groups a card number one to three digits and the rest.
    return _letters(match[0])


NO_CARDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_UUID, _uuid),
    (_IBAN, _iban),
    (_IPV6, _ipv6),
    (_DECIMAL, _decimal),
)
