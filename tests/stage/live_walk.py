"""A browser of a person on a new host, without scripts: run there, and by itself (needs requests).

`enrol EMAIL PASSWORD` prints the key of a new authenticator app; `pay ADDRESS NUMBER CVC` prints
the page on which the payer ends; `read EMAIL PASSWORD KEY PATH` prints a page of an operator's.
"""

import base64
import hmac
import re
import sys
import time
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import requests
from requests.adapters import HTTPAdapter

SITE = "https://pay.example"
PAYER = "1.2.3.4"  # On the loopback of a host that reaches nothing outside.
STEPS_MAX = 10
OK = 200
TYPED = {
    "exp_month": "12", "exp_year": "40", "name": "Ayşe Yılmaz", "email": "ayse@example.com",
    "line1": "İstiklal Cd. 1", "city": "İstanbul", "postal_code": "34433", "country": "TR",
}  # fmt: skip
PRESSED = ("decision", "approve")


class Page(HTMLParser):
    """The page's text, and its forms: each one's address and its fields."""

    def __init__(self, answer: requests.Response) -> None:
        super().__init__()
        self.url, self.status, self.text = answer.url, answer.status_code, ""
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.feed(answer.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((urljoin(self.url, own.get("action", "")), {}))
        elif tag in ("input", "select") and "name" in own:
            if own.get("type") != "radio" or "checked" in own:
                self.forms[-1][1][own["name"]] = own.get("value", "")
        elif tag == "button" and (own.get("name"), own.get("value")) == PRESSED:
            self.forms[-1][1][PRESSED[0]] = PRESSED[1]

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def asks_for_a_card(self) -> bool:
        names = (name for _address, fields in self.forms for name in fields)
        return any(re.fullmatch(r"number(_\w{8})?", name) for name in names)

    def filled(self, typed: dict[str, str]) -> tuple[str, dict[str, str]]:
        """Return the address and the fields of the form in which most of `typed` have a place.

        A field's name may end in eight characters that no browser knows.
        """
        return max(
            ((to, _typed_into(fields, typed)) for to, fields in self.forms),
            key=lambda form: sum(1 for value in form[1].values() if value in typed.values()),
        )


def _typed_into(fields: dict[str, str], typed: dict[str, str]) -> dict[str, str]:
    plain = {name: re.sub(r"_\w{8}$", "", name) for name in fields}
    return {
        name: value or typed.get(name) or typed.get(plain[name], "")
        for name, value in fields.items()
    }


class _From(HTTPAdapter):
    """Connections from one address of this host: a payer of the internet has a public one."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, source_address=(self._address, 0), **options)


class Browser:
    def __init__(self, address: str = "127.0.0.1") -> None:
        self._session = requests.Session()
        self._session.mount("https://", _From(address))
        self._session.headers["Accept"] = "text/html"
        self._session.headers["Accept-Language"] = "en"

    def get(self, url: str) -> Page:
        return Page(self._session.get(urljoin(SITE, url), timeout=60))

    def send(self, page: Page, **typed: str) -> Page:
        origin = "/".join(page.url.split("/")[:3])
        headers = {"Origin": origin, "Referer": page.url}
        address, sent = page.filled(typed)
        return Page(self._session.post(address, sent, headers=headers, timeout=60))


def code(key: str) -> str:
    """Return the code that an app with the key shows now (RFC 6238)."""
    counter = (int(time.time()) // 30).to_bytes(8)
    made = hmac.digest(base64.b32decode(key), counter, "sha1")
    start = made[-1] & 15
    number = int.from_bytes(made[start : start + 4]) & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


def enrol(email: str, password: str) -> str:
    browser = Browser()
    led = browser.send(browser.get("/account/login"), login=email, password=password)
    assert led.url.endswith("/account/security"), (led.url, led.text)
    page = browser.get("/account/authenticator")
    if "/reauthenticate" in page.url:
        page = browser.send(page, password=password)
    [key] = re.findall(r"\b[A-Z2-7]{32}\b", page.text)
    added = browser.send(page, code=code(key))
    assert not added.url.endswith("/authenticator"), added.text
    return str(key)


def pay(url: str, number: str, cvc: str) -> str:
    browser = Browser(PAYER)
    page = browser.get(url)
    for step in range(STEPS_MAX):
        if not page.forms or (step and page.asks_for_a_card):
            break
        page = browser.send(page, number=number, cvc=cvc, **TYPED)
    return _line(page.text)


def read(email: str, password: str, key: str, path: str) -> str:
    browser = Browser()
    asked = browser.send(browser.get("/account/login"), login=email, password=password)
    browser.send(asked, code=code(key))
    page = browser.get(path)
    assert page.status == OK, (page.status, page.url)
    return _line(page.text)


def _line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    ran = {"enrol": enrol, "pay": pay, "read": read}[sys.argv[1]](*sys.argv[2:])
    print(ran)  # noqa: T201  # The caller reads it.
