"""Misbehaviour of the NestPay API: what is wrong with an answer, and what is wrong in it."""

import errno
from collections.abc import Iterator
from dataclasses import replace

from django.http import HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase

from testbank.misbehaviours import KINDS
from testbank.nestpay import answers, codes
from testbank.nestpay.answers import Told

XML = "text/xml"
OTHER_ORDER = "0THER0RDER0THER0RDER"
SILENT = ("silent", "recorded_late")
MEGABYTE = 1_000_000
LONG_MEGABYTES = 50
DOCTYPE = b'<!DOCTYPE CC5Response SYSTEM "http://127.0.0.1:9/x">'
ENTITIES = (
    b'<!DOCTYPE CC5Response [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]>'
)
HTML = "<html><body>Bakımdayız, lütfen sonra deneyiniz.</body></html>".encode("iso-8859-9")


def refusal(wrong: str) -> Told | None:
    """Return the answer of a bank that refuses by a code and does nothing; None for other kinds."""
    if not wrong or wrong in KINDS:
        return None
    if "-" in wrong:
        return answers.refusal(wrong)
    return answers.declined(wrong, host_ref="", trans_id="")


def untrue(wrong: str, told: Told) -> Told:
    """Return the answer as the bank gives it after it has done its work."""
    match wrong:
        case "contradiction":
            return replace(told, response=answers.APPROVED, code="51", error="ISO8583-51")
        case "duplicate":
            return answers.refusal(codes.HAS_SUCCEEDED)
        case "under_way":
            return answers.refusal(codes.IS_UNDER_WAY)
        case "host_timeout" | "timeout_reversed":
            return answers.declined(codes.TIMED_OUT, host_ref="", trans_id=told.trans_id)
    return told


def spoiled(wrong: str, content: bytes) -> HttpResponseBase:
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
            return StreamingHttpResponse(_long(content), content_type=XML)
        case "cut":
            return _cut(content)
    return HttpResponse(_rewritten(wrong, content), content_type=XML)


def _rewritten(wrong: str, content: bytes) -> bytes:
    head, end, rest = content.partition(b"?>")
    code = rest[rest.index(b"<ProcReturnCode>") : rest.index(b"<TransId>")]
    match wrong:
        case "doctype":
            return head + end + DOCTYPE + rest
        case "entities":
            return head + end + ENTITIES + rest.replace(b"<ErrMsg>", b"<ErrMsg>&d;")
        case "wrong_encoding":
            other = head.replace(b"UTF-8", b"UTF-16").replace(b"ISO-8859-9", b"UTF-8")
            # A letter that is none in UTF-8, so that the declaration is wrong in any answer.
            return other + end + rest.replace(b"<ErrMsg>", b"<ErrMsg>\xfd")
        case "doubled_element":
            return head + end + rest.replace(code, code * 2)
        case "missing_element":
            return head + end + rest.replace(code, b"")
    return content


def _long(content: bytes) -> Iterator[bytes]:
    head, start, rest = content.partition(b"<ErrMsg>")
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
