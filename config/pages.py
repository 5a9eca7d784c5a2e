"""Pages that explain the API to a developer."""

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.errors import DomainError
from core.rest.forms import OWN_CODES


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
