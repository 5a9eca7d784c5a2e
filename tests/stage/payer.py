"""A payer's browser at the bank's pages: it knows only what the pages' HTML tells it."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.test import RequestFactory

from tests.stage.bank_transport import application, connections_left_open

FORM = "application/x-www-form-urlencoded"


@dataclass
class FormOnPage:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: dict[str, tuple[str, str] | None] = field(default_factory=dict)


class Page(HTMLParser):
    """One answer of the bank, read as HTML; `forms`, `assets` and `text` are what it holds."""

    def __init__(self, status: int, headers: dict[str, str], content: bytes) -> None:
        super().__init__()
        self.status, self.headers, self.content = status, headers, content
        self.forms: list[FormOnPage] = []
        self.assets: list[str] = []
        self.inline: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self._button: dict[str, str | None] = {}
        self.feed(content.decode())

    @property
    def form(self) -> FormOnPage:
        [form] = self.forms
        return form

    @property
    def policy(self) -> dict[str, list[str]]:
        """Return the content policy's sources by directive."""
        parts = [part.split() for part in self.headers["Content-Security-Policy"].split(";")]
        return {name: sources for name, *sources in parts}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self._open.append(tag)
        self.inline += [name for name in own if name == "style" or name.startswith("on")]
        if tag == "form":
            self.forms.append(FormOnPage(own["action"], own["method"]))
        elif tag == "input":
            self.form.fields[own["name"]] = own["value"]
        elif tag == "button":
            self._button = own
        self.assets += [own[name] for name in ("src", "href") if name in own]

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass  # A tag without an end, such as an input.

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside in ("script", "style"):
            self.inline.append(data)
        if inside == "button":
            name, value = self._button.get("name"), self._button.get("value")
            self.form.buttons[data] = (name, value) if name and value else None
        self.text += data


def get(path: str, **headers: str) -> Page:
    return request("GET", path, **headers)


def request(
    method: str, path: str, sent: bytes = b"", content_type: str = FORM, **headers: Any
) -> Page:
    """Send one request to the bank; no redirect is followed."""
    environ = RequestFactory().generic(method, path, sent, content_type, **headers).environ
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    with connections_left_open():
        answer = application(environ, lambda *head: begun.append(head))
        content = b"".join(answer)
        answer.close()
    [(status, told)] = begun
    return Page(int(status.split()[0]), dict(told), content)


def press(page: Page, button: str) -> Page:
    """Press one of the page's buttons, and go where the bank sends the browser."""
    pressed = page.form.buttons[button]
    fields = {**page.form.fields, **dict([pressed] if pressed else [])}
    assert page.form.method == "post"
    answer = request("POST", page.form.action, urlencode(fields).encode())
    return get(answer.headers["Location"]) if answer.status == 303 else answer


def open_challenge(acs_url: str) -> Page:
    """Go to the page that the bank named."""
    return get(urlsplit(acs_url).path)
