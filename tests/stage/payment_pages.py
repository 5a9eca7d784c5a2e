"""A payer at a checkout session's page: a browser without scripts."""

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.test import Client

from tests.stage.factories import GOOD_CARD

FORM = "application/x-www-form-urlencoded"
CARD = ("number", "exp_month", "exp_year", "cvc")
TYPED = {
    "number": GOOD_CARD, "exp_month": "12", "exp_year": "40", "cvc": "123",
    "name": "Ayşe Yılmaz", "email": "ayse@example.com", "line1": "İstiklal Cd. 1",
    "city": "İstanbul", "postal_code": "34433", "country": "TR",
}  # fmt: skip


@dataclass
class Shown(HTMLParser):
    """A page as its payer sees it."""

    status: int
    headers: Any
    source: str
    action: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._text: list[str] = []
        self.feed(self.source)
        self.text = " ".join("".join(self._text).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = own["action"]
        elif tag == "select":
            self.inputs[own["name"]] = ""
        elif tag == "input" and not (own["type"] == "radio" and "checked" not in own):
            self.inputs[own["name"]] = own.get("value", "")
        elif tag == "a":
            self.links.append(own["href"])

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    @property
    def title(self) -> str:
        found = re.search("<title>(.*?)</title>", self.source, re.DOTALL)
        return html.unescape(found[1].strip()) if found else ""

    def spelled(self, name: str) -> str | None:
        """Return the name of a field in this form; None if the form has none."""
        own = [one for one in self.inputs if one == name or re.fullmatch(rf"{name}_\w{{8}}", one)]
        return own[0] if own else None

    def filled(self, **typed: str) -> dict[str, str]:
        """Return what the form sends, typed as a payer does."""
        sent = dict(self.inputs)
        for name, value in {**TYPED, **typed}.items():
            spelled = self.spelled(name)
            if spelled is not None:
                sent[spelled] = value
        return sent


class Payer:
    """A payer with a browser; `language` is what it asks for."""

    def __init__(self, language: str = "en") -> None:
        self.browser = Client(raise_request_exception=False)
        self.headers = {"Accept-Language": language, "Accept": "text/html"}

    def open(self, address: str) -> Shown:
        parts = urlsplit(address.removeprefix(settings.BASE_URL))
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return self._shown(self.browser.get(target, headers=self.headers))

    def send(self, path: str, fields: dict[str, str] | bytes, content_type: str = FORM) -> Shown:
        """Send a form's bytes, and stay where the answer is."""
        body = fields if isinstance(fields, bytes) else urlencode(fields).encode()
        answer = self.browser.generic(
            "POST", path, body, content_type=content_type, headers=self.headers
        )
        return self._shown(answer)

    def press(self, shown: Shown, **typed: str) -> Shown:
        """Fill a form in, press its button, and stay where the answer is."""
        return self.send(shown.action, shown.filled(**typed))

    def pay(self, address: str, **typed: str) -> Shown:
        """Open a session's page, pay with a card, and follow to the page that comes then."""
        return self.follow(self.press(self.open(address), **typed))

    def follow(self, shown: Shown) -> Shown:
        """Follow redirects within the service."""
        while shown.status in (302, 303):
            shown = self.open(shown.headers["Location"])
        return shown

    def _shown(self, answer: Any) -> Shown:
        # The one cookie that there is goes to the hand-off's page, and to no payment page.
        assert all(one["path"].startswith("/3ds/") for one in answer.cookies.values())
        return Shown(answer.status_code, answer.headers, answer.content.decode())
