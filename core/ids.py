"""Ids: a prefix for the object's type, then 24 base62 characters."""

import secrets
import time

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TIME_CHARACTERS = 8
RANDOM_CHARACTERS = 16
# Two characters at a time: a payment writes twenty such numbers.
PAIRS = [first + second for first in ALPHABET for second in ALPHABET]


def base62(number: int, width: int) -> str:
    """Write a number in base 62, padded with zeros on the left to `width`."""
    parts = []
    for _ in range(width // 2):
        number, rest = divmod(number, len(PAIRS))
        parts.append(PAIRS[rest])
    if width % 2:
        parts.append(ALPHABET[number % len(ALPHABET)])
    return "".join(reversed(parts))


def random_base62(length: int) -> str:
    """Return `length` characters that cannot be guessed."""
    return base62(secrets.randbelow(62**length), length)


def new(prefix: str) -> str:
    """Return a fresh id such as `pi_0VvT…`.

    The first eight characters are the time in milliseconds, so that indexes stay
    local; the other sixteen are random (95 bits), so that ids cannot be guessed
    (contract 1).
    """
    milliseconds = time.time_ns() // 1_000_000
    return f"{prefix}_{base62(milliseconds, TIME_CHARACTERS)}{random_base62(RANDOM_CHARACTERS)}"
