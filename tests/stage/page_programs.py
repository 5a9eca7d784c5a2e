"""Programs that pages of the documentation show block by block, run as their readers run them."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import pytest
import requests

from tests.stage.payer import Page
from tests.stage.payment_pages import Shown
from tests.stage.service import RunningService

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SUFFIXES = {"python": ".py", "js": ".mjs"}
ASKS_FOR_A_BROWSER = "Open in a browser, and press Approve: "
ASKS_FOR_A_CARD = "Open in a browser, and pay: "
ASKS_FOR_A_COMMAND = "In another terminal: "
# The service's page, the bank's page and the bank's way back.
PAGES_OF_A_PAYER = 4


def blocks(page: str, language: str) -> list[str]:
    return [code for named, code in BLOCK.findall(page) if named == language]


@dataclass(frozen=True)
class Shop:
    """A merchant whose return page and receiver are at a port of this machine."""

    port: str
    secret_key: str

    def environment(self, service: RunningService) -> dict[str, str]:
        told = {"PORT": self.port, "SECRET_KEY": self.secret_key, "BASE_URL": service.base_url}
        return {**os.environ, **told}


def open_shop(service: RunningService, port: str) -> Shop:
    at = ["--website", "https://acme.example", "--callback", f"http://localhost:{port}/return"]
    command = ["create_merchant", "--name", "Shop", "--email", f"shop-{port}@acme.example", *at]
    made = service.call("run", sys.executable, "manage.py", *command, "--json")
    assert made.returncode == 0, made.stderr
    return Shop(port, json.loads(made.stdout)["secret_key"])


def run(page: str, language: str, *, service: RunningService, shop: Shop, directory: Path) -> str:
    """Run a page's blocks of a language as one file; do what it asks its reader to do.

    :return: all that it printed.
    """
    file = directory / f"shop{SUFFIXES[language]}"
    file.write_text("\n".join(blocks(page, language)))
    printed = []
    with subprocess.Popen(
        [*interpreter(language), str(file)],
        env=shop.environment(service),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as program:
        try:
            assert program.stdout is not None
            for line in program.stdout:
                printed.append(line)
                _do_as_asked(line.rstrip("\n"), page, service)
        finally:
            program.kill()
    said = "".join(printed)
    assert program.returncode == 0, said
    return said


def interpreter(language: str) -> list[str]:
    """Return the command that runs a program; without it the test is skipped, but not in CI."""
    if language == "python":
        return [sys.executable, "-u"]
    node = shutil.which("node")
    if node is None:
        reason = "node is not installed, so programs for Node were not run"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return [node]


def differences(said: str, expected: list[str]) -> list[str]:
    """Return the lines that are not as a page shows them; `…` there stands for anything."""
    wanted = "".join(expected).splitlines()
    found = said.splitlines()
    patterns = [re.escape(line).replace("…", ".+") for line in wanted]
    wrong = [
        f"{line!r} is shown, {other!r} was printed"
        for line, pattern, other in zip(wanted, patterns, found, strict=False)
        if not re.fullmatch(pattern, other)
    ]
    if len(wanted) != len(found):
        wrong.append(f"{len(wanted)} lines are shown, {len(found)} were printed")
    return wrong


def _do_as_asked(line: str, page: str, service: RunningService) -> None:
    if line.startswith(ASKS_FOR_A_BROWSER):
        _approve(line.removeprefix(ASKS_FOR_A_BROWSER))
    elif line.startswith(ASKS_FOR_A_CARD):
        _pay(line.removeprefix(ASKS_FOR_A_CARD))
    elif line.startswith(ASKS_FOR_A_COMMAND):
        command = line.removeprefix(ASKS_FOR_A_COMMAND)
        assert f"{command}\n" in blocks(page, "sh"), command
        python, *words = shlex.split(command.removeprefix("./dev run "))
        assert python == "python", command
        done = service.call("run", sys.executable, *words)
        assert done.returncode == 0, done.stderr


def _pay(link: str) -> None:
    """Type the card into the page of a checkout session, as a customer does."""
    with requests.Session() as browser:
        page = browser.get(link, timeout=60)
        for _ in range(PAGES_OF_A_PAYER):
            form = Shown(page.status_code, page.headers, page.text)
            if not form.action:
                break
            page = browser.post(urljoin(link, form.action), data=form.filled(), timeout=60)
        assert (page.status_code, "Payment complete" in page.text) == (200, True), page.text


def _approve(link: str) -> None:
    """Walk from the service's page to the bank and back to the shop, as a browser does."""
    with requests.Session() as browser:
        shown = browser.get(link, timeout=60)
        for form in _forms(browser, shown):
            assert form.status_code == 200, form.text


def _forms(browser: requests.Session, shown: requests.Response) -> Iterator[requests.Response]:
    for _ in range(PAGES_OF_A_PAYER):
        page = Page(shown.status_code, {}, shown.content)
        if not page.forms:
            return
        button = "Approve" if "Approve" in page.form.buttons else next(iter(page.form.buttons))
        pressed = page.form.buttons[button]
        fields = {**page.form.fields, **dict([pressed] if pressed else [])}
        shown = browser.post(urljoin(shown.url, page.form.action), data=fields, timeout=60)
        yield shown
    raise AssertionError(f"the payer did not come back: {shown.url}")
