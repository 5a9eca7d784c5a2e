"""What explains the API to a developer, and to a program."""

from collections.abc import Iterator
from functools import cache

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from config import errors
from core.errors import DomainError, MethodNotAllowed
from core.rest.forms import OWN_CODES

SCHEMA = settings.BASE_DIR / "docs" / "openapi.json"
SCHEMA_PATH = "/v1/openapi.json"
HOUR_SECONDS = 3600


def openapi(request: HttpRequest) -> HttpResponse:
    """Answer the API's schema, to whoever asks: it tells no more than the source does.

    It costs less than to look a key up, and so is not counted against anybody's rate.
    """
    if request.method not in ("GET", "HEAD"):
        refused = errors.envelope_response(MethodNotAllowed())
        refused["Allow"] = "GET, HEAD"
        return refused
    cached = {"Cache-Control": f"public, max-age={HOUR_SECONDS}"}
    return HttpResponse(_schema(), content_type="application/json", headers=cached)


@cache
def _schema() -> bytes:
    return orjson.dumps(orjson.loads(SCHEMA.read_bytes()))


def errors_page(request: HttpRequest) -> HttpResponse:
    """Show every error code; an error's `doc_url` points at its place here."""
    return render(request, "docs/errors.html", {"errors": catalogue()})


def catalogue() -> list[tuple[str, int, str]]:
    """Return (code, HTTP status, what it means) of every refusal the service can give."""
    refusals = {(kind.code, kind.http_status): kind.message for kind in _kinds(DomainError)}
    of_forms = {(code, 400): message for code, message in OWN_CODES.items()}
    return [
        (code, status, text) for (code, status), text in sorted({**refusals, **of_forms}.items())
    ]


def _kinds(parent: type[DomainError]) -> Iterator[type[DomainError]]:
    for kind in parent.__subclasses__():
        if "code" in vars(kind):
            yield kind
        yield from _kinds(kind)
