"""The documentation's site at `/docs/`, as `./dev docs` has built it (docsite)."""

import json
import mimetypes
import re
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.request import split_domain_port
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config import errors
from core.errors import UrlNotFound
from core.rest.error_codes import entries

# Names with single dots inside, so no address leads out of the directory.
ADDRESS = re.compile(r"(?:[\w-]{1,100}/){0,5}(?:[\w-]{1,100}(?:\.[\w-]{1,100}){0,4})?", re.ASCII)
# The samples' address and key, which a page that is read here replaces by those of here.
SAMPLE_ADDRESS, SAMPLE_KEY = b"http://127.0.0.1:8000", "sk_sandbox_…".encode()
# For merchants' developers; those for operators name addresses of their own machines.
WITH_SAMPLES = ("tutorial/", "how-to/", "reference/", "explanation/", "errors")
TEXTS = {".html", ".md"}
OWN_MACHINE = ("127.0.0.1", "localhost")
FIVE_MINUTES = "public, max-age=300"
mimetypes.add_type("text/markdown", ".md")


@csrf_exempt
@require_safe
def page(request: HttpRequest, address: str | None = None) -> HttpResponse:
    """Show a page or a file of the site; 404 for what it does not have."""
    if address is None:
        return HttpResponseRedirect("/docs/")
    file = _file(address)
    if file is None and address and _file(f"{address}/"):
        return HttpResponseRedirect(f"/docs/{address}/")
    if file is None:
        template = "docs/missing.html" if _file("") else "docs/not_built.html"
        return errors.answer(request, UrlNotFound(), page=template)
    content_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    text = content_type.startswith("text/")
    answer = HttpResponse(
        file.read_bytes(), content_type=f"{content_type}; charset=utf-8" if text else content_type
    )
    answer["Cache-Control"] = FIVE_MINUTES
    if file.suffix in TEXTS and address.startswith(WITH_SAMPLES):
        _fill_in(answer, request)
    return answer


@csrf_exempt
@require_safe
def errors_page(request: HttpRequest) -> HttpResponse:
    """Show every error code; an error's `doc_url` points at its place here.

    Without a built site it is a page of the codes alone, because each answer leads here.
    """
    if _file("errors"):
        return page(request, "errors")
    shown = [
        (entry, _with_code(entry.explained.cause), _with_code(entry.explained.remedy))
        for entry in entries()
        if entry.explained
    ]
    return render(request, "docs/errors.html", {"errors": shown})


def _with_code(text: str) -> str:
    """Return a sentence in HTML: its names between backticks are code."""
    parts = [
        (format_html("<code>{}</code>", part) if index % 2 else part,)
        for index, part in enumerate(text.split("`"))
    ]
    return format_html_join("", "{}", parts)


def _file(address: str) -> Path | None:
    """Return the file of an address below `/docs/`; None if there is none."""
    if not ADDRESS.fullmatch(address):
        return None
    wanted = settings.DOCS_ROOT / address
    is_index = not address or address.endswith("/")
    file = wanted / "index.html" if is_index else wanted
    if file.is_file():
        return file
    named = wanted.with_name(f"{wanted.name}.html")
    return named if not is_index and named.is_file() else None


def _fill_in(answer: HttpResponse, request: HttpRequest) -> None:
    """Put this installation's address into the samples, and the key of a running `./dev up`."""
    answer.content = answer.content.replace(SAMPLE_ADDRESS, settings.BASE_URL.encode())
    key = _key_of_the_sandbox(request)
    if key and SAMPLE_KEY in answer.content:
        answer.content = answer.content.replace(SAMPLE_KEY, key.encode())
        answer["Cache-Control"] = "no-store"


def _key_of_the_sandbox(request: HttpRequest) -> str | None:
    """Return the demo merchant's key, for a reader at the machine of a running `./dev up`.

    Through a tunnel to the machine the host is another one, and the key stays out.
    """
    host, _port = split_domain_port(request.get_host())
    if settings.DEMO_FILE is None or host not in OWN_MACHINE:
        return None
    try:
        return str(json.loads(settings.DEMO_FILE.read_bytes())["secret_key"])
    except FileNotFoundError:
        return None  # `./dev up` writes it when everything runs.
