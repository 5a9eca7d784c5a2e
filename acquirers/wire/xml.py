"""XML from a bank, which may be hostile or broken: no DTD, no entities, bounded in size and depth.

Read by the interpreter's own expat with its handlers set. defusedxml does the same and had its last
release in 2021; lxml is a library for far more than a bank's few elements.
"""

from collections.abc import Mapping
from html import escape
from typing import Union
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from acquirers.wire.http import ANSWER_MAX_BYTES, Received

CONTENT_TYPES = ("text/xml", "application/xml")
DEPTH_MAX, ELEMENTS_MAX = 16, 2000

# Texts by the names of their elements, or elements inside of one.
Elements = Mapping[str, Union[str, "Elements"]]


class Unreadable(ValueError):
    """The document is not what a bank answers. The text never repeats any of it."""


def received(answer: Received) -> Element:
    """Return the root element of a bank's answer.

    :raises Unreadable: the bank does not call it XML, or it cannot be read.
    """
    if answer.content_type.partition(";")[0].strip().lower() not in CONTENT_TYPES:
        raise Unreadable("It is no XML.")
    return read(answer.content)


def read(content: bytes, *, encoding: str | None = None) -> Element:
    """Return the document's root element.

    :param encoding: overrides what the document says of itself.
    :raises Unreadable: it is no XML, too long, too deep, or has a DTD or an entity.
    """
    if len(content) > ANSWER_MAX_BYTES:
        raise Unreadable("It is too long.")
    try:
        return _Reader(encoding).read(content)
    except Unreadable:
        raise
    except (expat.ExpatError, ValueError, LookupError, AssertionError) as error:
        # `from None`: the cause may quote the document.
        raise Unreadable(f"It is no XML that can be read ({type(error).__name__}).") from None


def text_at(element: Element, *path: str) -> str | None:
    """Return the text of the one element at a path, stripped; None if there is none.

    :raises Unreadable: an element on the path comes twice, or the last one holds others.
    """
    for name in path:
        found = element.findall(name)
        if not found:
            return None
        if len(found) > 1:
            raise Unreadable("An element comes twice.")
        [element] = found
    if len(element):
        raise Unreadable("An element holds others instead of text.")
    return (element.text or "").strip() or None


def texts(element: Element, *, apart: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the texts of the elements directly inside one, by their names; each comes once.

    Tabs around a text are kept, for some banks part their values by them.

    :param apart: names of elements that the caller reads itself.
    :raises Unreadable: an element comes twice, has attributes, or holds others.
    """
    inside = [one for one in element if one.tag not in apart]
    told = {one.tag: (one.text or "").strip(" \r\n") for one in inside}
    if len(told) != len(inside) or any(len(one) or one.attrib for one in inside):
        raise Unreadable("An element comes twice, or holds others.")
    return told


def write(root: str, elements: Elements, *, encoding: str) -> bytes:
    """Write elements in their order, in ASCII: whatever encoding is declared, it is read alike.

    :param encoding: that the document declares.
    """
    document = f'<?xml version="1.0" encoding="{encoding}"?>{_element(root, elements)}'
    return document.encode("ascii", "xmlcharrefreplace")


def _element(name: str, inside: str | Elements) -> str:
    if isinstance(inside, str):
        return f"<{name}>{escape(inside, quote=False)}</{name}>"
    return f"<{name}>{''.join(_element(*one) for one in inside.items())}</{name}>"


class _Reader:
    def __init__(self, encoding: str | None) -> None:
        self._tree, self._depth, self._count = TreeBuilder(), 0, 0
        # Without namespaces: a prefix is a part of the name, and banks use none.
        self._parser = expat.ParserCreate(encoding)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._tree.data
        self._parser.StartDoctypeDeclHandler = _refuse
        self._parser.EntityDeclHandler = _refuse
        self._parser.UnparsedEntityDeclHandler = _refuse
        self._parser.ExternalEntityRefHandler = _refuse
        self._parser.SkippedEntityHandler = _refuse

    def read(self, content: bytes) -> Element:
        self._parser.Parse(content, True)
        return self._tree.close()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth, self._count = self._depth + 1, self._count + 1
        if self._depth > DEPTH_MAX or self._count > ELEMENTS_MAX:
            raise Unreadable("It is too deep, or has too many elements.")
        self._tree.start(name, attributes)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._tree.end(name)


def _refuse(*_declaration: object) -> int:
    raise Unreadable("It has a DTD or an entity.")
