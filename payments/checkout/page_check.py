"""Do payers get the payment page that this release renders? (PCI DSS 11.6.1)

A page without scripts can be compared byte by byte: with the same session, rendered in this
process. Only the form's ticket and the ends of its fields' names are new with every rendering.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

import requests
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.templatetags.static import static

from payments.checkout import page_headers
from payments.payer.pages import GATE_SCRIPT

TIMEOUT_SECONDS = 30
AS_A_BROWSER = {"Accept": "text/html", "Accept-Language": "en"}
COMPARED = (*page_headers.HEADERS, "Content-Type", "Content-Language")
# They would keep something in the browser, or lead it elsewhere.
UNWANTED = ("Set-Cookie", "Refresh", "Link", "Location")
FRAMES = ("iframe", "frame", "object", "embed", "portal", "fencedframe")
STYLE_SHEET = re.compile(rb'<link rel="stylesheet" href="(/[^"]+)"')
# New with every rendering: the ticket, and the end of the names of the card's fields.
TICKET = re.compile(rb'(?<=name="form" value=")[\w=-]+')
SUFFIX = re.compile(rb'name="number_(\w+)"')
ELSEWHERE = re.compile(r"\s*(?:([a-z][a-z0-9+.-]*):)?(?://([^/?#\s]*))?", re.IGNORECASE)


class CheckImpossible(Exception):
    """Nothing was compared; the text says why."""


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Compared(NamedTuple):
    """The outcome of a check.

    :param problems: one sentence each.
    :param sheets: the number of style sheets that were compared beside the page.
    """

    problems: list[str]
    sheets: int


def check(base_url: str, key: str, *, currency: str, http: requests.Session) -> Compared:
    """Make a session, look at its page as a payer does, and end the session again.

    :param base_url: where payers reach the service, through all proxies.
    :param key: of a merchant, with the scope `payment_intents`.
    :raises CheckImpossible: no page could be compared.
    """
    sessions = f"{base_url}/v1/checkout/sessions"
    http.headers["Authorization"] = f"Bearer {key}"
    body: dict[str, Any] = {"amount": 100, "currency": currency}
    body["payment_intent_data"] = {"description": "Check of the payment page"}
    made = _called(http, sessions, body)
    try:
        # A payer has no key.
        del http.headers["Authorization"]
        return _compared(http, base_url, urlsplit(made["url"]).path)
    finally:
        http.headers["Authorization"] = f"Bearer {key}"
        _called(http, f"{sessions}/{made['id']}/expire", {})


def _called(http: requests.Session, address: str, body: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = http.post(address, json=body, timeout=TIMEOUT_SECONDS, allow_redirects=False)
        shown: dict[str, Any] = answer.json()
    except requests.RequestException as problem:
        raise CheckImpossible(f"{address} cannot be reached: {problem}") from None
    if answer.status_code != 200:
        error = shown.get("error") or {}
        raise CheckImpossible(f"{address} answered {answer.status_code}: {error.get('message')}")
    return shown


def _compared(http: requests.Session, base_url: str, path: str) -> Compared:
    ours = rendered(path)
    sheets = [sheet.decode() for sheet in STYLE_SHEET.findall(ours.body)]
    if not sheets or not TICKET.search(ours.body):
        raise CheckImpossible(f"The page shows no form ({ours.status}): can the merchant charge?")
    problems = [*_differences(_fetched(http, base_url + path), ours)]
    # No script is on the page: this one is beside the card at the hand-off to some banks.
    files = [("style sheet", sheet) for sheet in sheets] + [("script", static(GATE_SCRIPT))]
    for kind, file in files:
        served, expected = _fetched(http, base_url + file), rendered(file)
        if (served.status, served.body) != (expected.status, expected.body):
            problems.append(f"The {kind} {file} is another one ({served.status}).")
    return Compared(problems, len(sheets))


def _fetched(http: requests.Session, address: str) -> Answered:
    try:
        answer = http.get(
            address, headers=AS_A_BROWSER, timeout=TIMEOUT_SECONDS, allow_redirects=False
        )
    except requests.RequestException as problem:
        raise CheckImpossible(f"The page cannot be reached: {type(problem).__name__}") from None
    return Answered(answer.status_code, dict(answer.headers), answer.content)


def rendered(path: str) -> Answered:
    """Return the answer of this release, given by this process.

    It is no request of a client, and cron would mail its line: the log of requests has none.
    """
    scheme, host = urlsplit(settings.BASE_URL)[:2]
    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    sent = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in AS_A_BROWSER.items()}
    environ |= {**sent, "PATH_INFO": path, "RAW_URI": path, "HTTP_HOST": host}
    environ |= {"wsgi.url_scheme": scheme, "REMOTE_ADDR": "127.0.0.1"}
    begun: list[Any] = []

    def begin(status: str, headers: list[tuple[str, str]], _problem: Any = None) -> Any:
        begun.extend([status, headers])

    with _no_line_of_requests():
        answer = WSGIHandler()(environ, begin)
        try:
            body = b"".join(answer)
        finally:
            getattr(answer, "close", lambda: None)()
    status, headers = begun
    return Answered(int(status[:3]), dict(headers), body)


@contextmanager
def _no_line_of_requests() -> Iterator[None]:
    requests_log = logging.getLogger("access")
    was_disabled, requests_log.disabled = requests_log.disabled, True
    try:
        yield
    finally:
        requests_log.disabled = was_disabled


# --- Compared ---------------------------------------------------------------------------------


def _differences(served: Answered, ours: Answered) -> Iterator[str]:
    if served.status != ours.status:
        yield f"The status is {served.status} and not {ours.status}."
    got = {name.lower(): value for name, value in served.headers.items()}
    for name in COMPARED:
        wanted = ours.headers.get(name)
        found = got.get(name.lower())
        if found is None and wanted is not None:
            yield f"The header {name} is lost."
        elif found != wanted:
            yield f"The header {name} is another one: {found}"
    for name in UNWANTED:
        if name.lower() in got and name not in ours.headers:
            yield f"There is a header {name}, which this release does not send."
    yield from _differences_of_pages(served.body, ours.body)


def _differences_of_pages(served: bytes, ours: bytes) -> Iterator[str]:
    one, other = masked(served), masked(ours)
    if one == other:
        return
    named = sorted(_parts(one) - _parts(other))
    yield from (f"The page has {part}, which this release does not render." for part in named)
    if not named:
        lines = zip(one.split(b"\n") + [b""], other.split(b"\n") + [b""], strict=False)
        number = next((at for at, (a, b) in enumerate(lines, 1) if a != b), 0)
        yield f"The page is another one: it differs first in line {number}."


def masked(page: bytes) -> bytes:
    """Return a page without the parts that are new with every rendering."""
    page = TICKET.sub(b"", page)
    suffix = SUFFIX.search(page)
    return page.replace(b"_" + suffix[1], b"_") if suffix else page


def _parts(page: bytes) -> set[str]:
    parts = _Parts()
    parts.feed(page.decode("utf-8", errors="replace"))
    parts.close()
    return parts.found


class _Parts(HTMLParser):
    """Collects the parts of a page that could run, load or lead to something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.found.add("a script")
        if tag in FRAMES:
            self.found.add(f"a frame ({tag})")
        if tag in ("base", "form", "meta", "style"):
            self.found.add(f"a <{tag}> with {', '.join(name for name, _ in attrs) or 'nothing'}")
        for name, value in attrs:
            if name.startswith("on"):
                self.found.add(f"a script ({name})")
            scheme, host = ELSEWHERE.match(value or "").groups()  # type: ignore[union-attr]
            if scheme or host:
                self.found.add(f"an address elsewhere ({name}: {scheme or ''}:{host or ''})")
