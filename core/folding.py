"""Texts as a search compares them: an index holds the same expression.

PostgreSQL's lower case depends on the database's language, and Turkish has two letters `i`: `I` is
the capital of `ı`, and `İ` that of `i`. A person types what their keyboard has.
"""

from typing import Any

from django.db.models import CharField, Func

# White space at the beginning of a text, and characters there that nobody sees.
_BLANKS = " \t\n\r\v\f"
_OVERLOOKED = _BLANKS + "\xa0\u3000\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
# The Turkish letters, each by the letter of a keyboard without them; and the dot that other
# programs leave beside the `i` when they make a small letter of `İ`. Capitals too: in a database
# of the locale `C` they have no small letters. No more of them: of a payment each is looked for in
# each letter, whenever its row is written.
_TURKISH, _PLAIN = "ıİşğçöüŞĞÇÖÜ\u0307", "iisgcousgcou"


class Folded(Func):
    """A text without the differences that a search overlooks: case, Turkish letters, blanks.

    ASCII takes the short way: its letters A to Z in lower case, whatever the database's language.
    """

    # The letters stand in the statement itself: an index is used by an equal expression alone.
    template = (
        "CASE WHEN octet_length(%(expressions)s) = char_length(%(expressions)s)"
        f" THEN lower(ltrim(%(expressions)s, '{_BLANKS}') COLLATE \"C\")"
        f" ELSE translate(lower(ltrim(%(expressions)s, '{_OVERLOOKED}')), '{_TURKISH}', '{_PLAIN}')"
        " END"
    )
    output_field = CharField()

    # Its arguments go on as they are.
    def as_sql(self, *arguments: Any, **options: Any) -> tuple[str, tuple[str | int, ...]]:
        """Return the statement's part, whose parameters stand there as often as the text does."""
        sql, params = super().as_sql(*arguments, **options)
        return sql, (*params,) * self.template.count("%(expressions)s")


class AsciiLower(Func):
    """A text with the letters A to Z in lower case, in every database: `core.names.ascii_lower`."""

    template = 'lower((%(expressions)s) COLLATE "C")'
    output_field = CharField()


def trimmed(text: str) -> str:
    """Return what a person looks for by a text: without what makes no difference around it.

    Empty for a text of such characters alone, which would be found at the start of all others.
    """
    return text.strip().strip(_OVERLOOKED + _TURKISH[-1])
