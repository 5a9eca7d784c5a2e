"""XML of the old bank as the adapter reads it: one level of elements, and nothing cleverer."""

import re
from xml.parsers import expat

MAX_ELEMENTS = 200
FIRST_BYTES = re.compile(rb'\s*<\?xml version="1\.0" encoding="(ISO-8859-9|UTF-8)"\?>')


class Unreadable(Exception):
    """The answer is no plain document of the bank's form."""


def elements(document: bytes, root: str) -> list[tuple[str, str]]:
    """Return names and texts of the elements under the root, in their order.

    :raises Unreadable: other XML than that; declarations of types and entities are refused.
    """
    if not FIRST_BYTES.match(document):
        raise Unreadable
    reader = _Reader(root)
    try:
        reader.parser.Parse(document, True)
    except (expat.ExpatError, ValueError, LookupError):
        raise Unreadable from None
    return reader.found


class _Reader:
    def __init__(self, root: str) -> None:
        self.found: list[tuple[str, str]] = []
        self._root, self._depth = root, 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        for name in (
            "StartDoctypeDecl",
            "EntityDecl",
            "ProcessingInstruction",
            "ExternalEntityRef",
        ):
            setattr(self.parser, f"{name}Handler", self._refuse)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        is_root = self._depth == 0
        if attributes or self._depth > 1 or len(self.found) >= MAX_ELEMENTS:
            raise Unreadable
        if is_root and name != self._root:
            raise Unreadable
        if not is_root:
            self.found.append((name, ""))
        self._depth += 1

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _text(self, text: str) -> None:
        if self._depth == 2:
            name, before = self.found[-1]
            self.found[-1] = (name, before + text)
        elif text.strip():
            raise Unreadable

    def _refuse(self, *_declared: object) -> None:
        raise Unreadable
