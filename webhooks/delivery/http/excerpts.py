"""The excerpt of a receiver's answer: up to 512 characters, safe to store and to show."""

import re

from core.scrub import scrub

READ_BYTES = 2048
KEPT_CHARACTERS = 512

# PostgreSQL stores no NUL; tabs and line ends may stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def excerpt(body: bytes, *, is_whole: bool) -> str | None:
    """Return the masked beginning of an answer's body, or None if it has none.

    :param is_whole: the body was not cut off. Of one that was, the characters behind its last
        letter are dropped, because they may be the beginning of a card number.
    """
    # Control characters go first: a number that they divide would not be recognised.
    text = _CONTROL.sub("", body[:READ_BYTES].decode("utf-8", "replace"))
    if not is_whole:
        text = _up_to_the_last_letter(text)
    return scrub(text)[:KEPT_CHARACTERS] or None


def _up_to_the_last_letter(text: str) -> str:
    # Step by step from the end: a pattern would be tried anew at each character.
    end = len(text)
    while end and not (text[end - 1].isascii() and text[end - 1].isalpha()):
        end -= 1
    return text[:end]
