"""Reading of `CC5Request`: one level of elements, and a second one in `Extra`."""

from xml.parsers import expat

ROOT, NESTED = "CC5Request", "Extra"


class Unreadable(Exception):
    """The document is no request of this protocol."""


def read(document: bytes) -> list[tuple[str, str]]:
    """Return the elements in their order; those in `Extra` as `Extra/NAME`.

    :raises Unreadable: it is not well-formed, declares a DOCTYPE, or has another shape.
    """
    reader = _Reader()
    try:
        reader.parser.Parse(document, True)
    except (expat.ExpatError, LookupError, ValueError):
        # `from None`: the error's text may quote the document.
        raise Unreadable from None
    return reader.elements


class _Reader:
    def __init__(self) -> None:
        self.elements: list[tuple[str, str]] = []
        self._path: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        depth = len(self._path)
        is_nested = depth == 3 and self._path[1] == NESTED
        if attributes or self._path[0] != ROOT or (depth > 2 and not is_nested):
            raise Unreadable
        if is_nested or (depth == 2 and name != NESTED):
            self.elements.append(("/".join(self._path[1:]), ""))

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
