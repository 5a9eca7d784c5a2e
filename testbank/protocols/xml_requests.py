"""Reading of a protocol's XML: elements of one text each, and groups of them."""

from xml.parsers import expat


class Unreadable(Exception):
    """The document is no request of the protocol."""


def read(document: bytes, root: str, groups: frozenset[str]) -> list[tuple[str, str]]:
    """Return the elements in their order, those of a group as `GROUP/NAME`.

    :param groups: the elements that have elements in them.
    :raises Unreadable: it is not well-formed, declares a DOCTYPE, or has another shape.
    """
    reader = _Reader(root, groups)
    try:
        reader.parser.Parse(document, True)
    except (expat.ExpatError, LookupError, ValueError):
        # `from None`: the error's text may quote the document.
        raise Unreadable from None
    return reader.elements


class _Reader:
    def __init__(self, root: str, groups: frozenset[str]) -> None:
        self.elements: list[tuple[str, str]] = []
        self._root, self._groups = root, groups
        self._path: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        above = "/".join(self._path[1:])
        self._path.append(name)
        if attributes or self._path[0] != self._root or (above and above not in self._groups):
            raise Unreadable
        path = "/".join(self._path[1:])
        if path and path not in self._groups:
            self.elements.append((path, ""))

    def _end(self, _name: str) -> None:
        self._path.pop()

    def _text(self, text: str) -> None:
        name = "/".join(self._path[1:])
        if self.elements and self.elements[-1][0] == name:
            self.elements[-1] = (name, self.elements[-1][1] + text)
        elif text.strip():
            raise Unreadable

    def _refuse(self, *_declared: object) -> None:
        raise Unreadable
