"""References: the names by which a bank knows our attempts."""

import re
import secrets
import time

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TIME_CHARACTERS, RANDOM_CHARACTERS = 8, 12
# 2020-01-01, in milliseconds since 1970. Eight characters last for 89 years from it.
EPOCH_MILLISECONDS = 1_577_836_800_000
LOOKS_LIKE_A_CARD = re.compile(r"[0-9]{13}")


def new() -> str:
    """Return a fresh reference of 20 characters, 0-9 and A-Z, which every bank takes.

    The first eight are the time, so that the unique index stays local; the others are random (62
    bits). One with 13 digits in a row is drawn again, for it would be taken for a card number.
    """
    while LOOKS_LIKE_A_CARD.search(reference := _drawn()):
        pass
    return reference


def _drawn() -> str:
    milliseconds = time.time_ns() // 1_000_000 - EPOCH_MILLISECONDS
    return _base36(milliseconds) + "".join(
        secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS)
    )


def _base36(number: int) -> str:
    digits = []
    for _ in range(TIME_CHARACTERS):
        number, rest = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[rest])
    return "".join(reversed(digits))
