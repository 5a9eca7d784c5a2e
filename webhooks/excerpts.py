"""What is kept of a receiver's answer: the first of it, as it may be shown."""

import re

from core.scrub import scrub

READ_BYTES = 2048
KEPT_CHARACTERS = 512

# NUL above all: PostgreSQL keeps none. Tabs and line ends may stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def excerpt(body: bytes, *, is_whole: bool) -> str | None:
    """Return the masked beginning of an answer's body, or None if it has none.

    :param is_whole: nothing was cut off. Else what may be a part of a card number goes too.
    """
    # Control characters go first: a number that they divide would not be recognised.
    text = _CONTROL.sub("", body[:READ_BYTES].decode("utf-8", "replace"))
    if not is_whole:
        text = _up_to_the_last_letter(text)
    return scrub(text)[:KEPT_CHARACTERS] or None


def _up_to_the_last_letter(text: str) -> str:
    # Step by step from the end: a pattern for it would begin anew at each character.
    end = len(text)
    while end and not (text[end - 1].isascii() and text[end - 1].isalpha()):
        end -= 1
    return text[:end]
