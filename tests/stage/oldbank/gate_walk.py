"""A payer's browser at the old bank's gate: it posts the form with the card, decides, goes back."""

import re
from collections.abc import Mapping
from html import unescape
from typing import NamedTuple
from urllib.parse import urlencode, urljoin

import requests

from tests.stage.oldbank.process import PATIENCE_SECONDS

FIELD = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')
ACTION = re.compile(r'<form method="post" action="([^"]*)">')
BUTTON = re.compile(r'<button name="decision" value="([^"]*)">([^<]*)</button>')


class Posting(NamedTuple):
    """A form that the browser is about to post; the body is in the page's encoding."""

    url: str
    body: bytes


def walk(url: str, fields: Mapping[str, str], button: str = "Approve") -> Posting:
    """Post the shop's form to the gate and press a button; return what goes back to the shop.

    A card that takes part in no 3-D Secure goes back at once.
    """
    page = post(url, urlencode(fields).encode())
    pressed = [value for value, label in BUTTON.findall(page.text) if unescape(label) == button]
    if not pressed:
        return posting_of(page)
    [value] = pressed
    there = posting_of(page)
    return posting_of(post(there.url, there.body + b"&" + urlencode({"decision": value}).encode()))


def post(url: str, body: bytes) -> requests.Response:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = requests.post(url, body, headers=headers, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 200, answer.text
    return answer


def posting_of(page: requests.Response) -> Posting:
    """Return what the page's form posts, in the page's own encoding, as browsers do."""
    [action] = ACTION.findall(page.text)
    fields = [(name, unescape(value)) for name, value in FIELD.findall(page.text)]
    body = urlencode(fields, encoding=page.encoding or "utf-8").encode()
    return Posting(urljoin(page.url, unescape(action)), body)
