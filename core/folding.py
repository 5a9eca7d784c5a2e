"""Texts as a search compares them: an index holds the same expression."""

from django.db.models import CharField, Func


class AsciiLower(Func):
    """A text with the letters A to Z in lower case, in every database: `core.names.ascii_lower`."""

    template = 'lower((%(expressions)s) COLLATE "C")'
    output_field = CharField()
