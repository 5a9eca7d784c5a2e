"""Answers that are spoiled on their way out of the bank: cut, too long, of another kind."""

import errno
from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase

XML = "text/xml"
OTHER_ORDER = "0THER0RDER0THER0RDER"
SILENT = ("silent", "recorded_late")
MEGABYTE = 1_000_000
LONG_MEGABYTES = 50
HTML = "<html><body>Bakımdayız, lütfen sonra deneyiniz.</body></html>".encode("iso-8859-9")


@dataclass(frozen=True, slots=True)
class Spelling:
    """A protocol's names in an answer.

    :param code: the element that says whether it is a yes.
    :param message: an element with a text for people.
    """

    root: str
    code: str
    message: str

    @property
    def text(self) -> bytes:
        """Return the begin of the element with a text."""
        return f"<{self.message}>".encode()


def spoiled(wrong: str, content: bytes, spelling: Spelling) -> HttpResponseBase:
    """Return the answer as it leaves the bank."""
    match wrong:
        case "empty":
            return HttpResponse(b"", content_type=XML)
        case "html":
            return HttpResponse(HTML, content_type="text/html; charset=iso-8859-9")
        case "error_500":
            return HttpResponse(content, content_type=XML, status=500)
        case "redirect":
            return HttpResponseRedirect("/elsewhere")
        case "wrong_type":
            return HttpResponse(content, content_type="application/json")
        case "too_long":
            return StreamingHttpResponse(_long(content, spelling.text), content_type=XML)
        case "cut":
            return _cut(content)
    return HttpResponse(_rewritten(wrong, content, spelling), content_type=XML)


def _rewritten(wrong: str, content: bytes, spelling: Spelling) -> bytes:
    head, end, rest = content.partition(b"?>")
    name = spelling.code.encode()
    code = rest[rest.index(b"<%b>" % name) : rest.index(b"</%b>" % name)] + b"</%b>" % name
    match wrong:
        case "doctype":
            return head + end + _doctype(spelling.root) + rest
        case "entities":
            return head + end + _entities(spelling.root) + _inserted(rest, spelling, b"&d;")
        case "wrong_encoding":
            other = head.replace(b"UTF-8", b"UTF-16").replace(b"ISO-8859-9", b"UTF-8")
            # A letter that is none in UTF-8, so that the declaration is wrong in any answer.
            return other + end + _inserted(rest, spelling, b"\xfd")
        case "doubled_element":
            return head + end + rest.replace(code, code * 2)
        case "missing_element":
            return head + end + rest.replace(code, b"")
    return content


def _doctype(root: str) -> bytes:
    return f'<!DOCTYPE {root} SYSTEM "http://127.0.0.1:9/x">'.encode()


def _entities(root: str) -> bytes:
    grown = "".join(
        f'<!ENTITY {name} "{f"&{inside};" * 8}">' for name, inside in ("ba", "cb", "dc")
    )
    return f'<!DOCTYPE {root} [<!ENTITY a "aaaaaaaaaa">{grown}]>'.encode()


def _inserted(content: bytes, spelling: Spelling, text: bytes) -> bytes:
    return content.replace(spelling.text, spelling.text + text)


def _long(content: bytes, at: bytes) -> Iterator[bytes]:
    head, start, rest = content.partition(at)
    yield head + start
    for _ in range(LONG_MEGABYTES):
        yield b" " * MEGABYTE
    yield rest


def _cut(content: bytes) -> StreamingHttpResponse:
    """Announce the whole answer, send half of it, and hang up."""

    def half() -> Iterator[bytes]:
        yield content[: len(content) // 2]
        # The server takes it for a connection that the other side has reset.
        raise ConnectionResetError(errno.ECONNRESET, "the bank hangs up")

    response = StreamingHttpResponse(half(), content_type=XML)
    response["Content-Length"] = str(len(content))
    return response
