"""Static files: hashed, compressed, kept for a year; and how much a page takes to be shown."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command

from devstack import static_files
from devstack.state import ROOT
from panel.static_files import of_another_release
from payments.payer.pages import GATE_SCRIPT
from tests.stage.emptying import empty
from tests.stage.factories import PaymentFactory, open_merchant
from tests.stage.panel_pages import addresses
from tests.stage.teams import person, signed_in
from tests.stage.web_process import PATIENCE_SECONDS, WebProcess, environment

# A list has 25 rows of two or three links each, tabs, days, and heads that sort.
COLD_MOST, WARM_MOST, REQUESTS_MOST = 200_000, 36_000, 25
LINKED = re.compile(r'(?:src|href)="(/static/[^"]+)"')


def test_a_file_that_was_not_collected_has_its_own_name() -> None:
    assert staticfiles_storage.url("panel.css") == "/static/panel.css"


def test_files_are_collected_once_and_again_when_one_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.css").write_text("a {}")
    monkeypatch.setattr(static_files, "ROOT", tmp_path)
    monkeypatch.setattr(static_files, "ALSO", ())
    monkeypatch.setattr(static_files, "SOURCES", (source,))
    collected: list[int] = []

    def collect() -> None:
        static_files.collect_if_changed(tmp_path / "static", lambda: collected.append(1))

    for text in ("a {}", "a {}", "b {}", "b {}"):
        (source / "a.css").write_text(text)
        collect()

    assert len(collected) == 2


def test_a_collection_that_was_broken_off_is_done_again(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError

    done: list[int] = []
    with pytest.raises(RuntimeError):
        static_files.collect_if_changed(tmp_path / "static", fail)
    static_files.collect_if_changed(tmp_path / "static", lambda: done.append(1))

    assert done == [1]


@pytest.mark.slow
def test_files_of_another_release_are_found_until_these_are_collected(
    tmp_path: Path, settings: Any
) -> None:
    """A host that goes back has newer files, and names of the next release."""
    settings.STATIC_ROOT = str(tmp_path)
    call_command("collectstatic", interactive=False, verbosity=0)
    ours = json.loads((tmp_path / "staticfiles.json").read_text())
    named = tmp_path / ours["paths"][GATE_SCRIPT]
    settings.STATIC_ROOT = str(tmp_path)  # A process reads the names once.
    assert of_another_release() == []

    (tmp_path / GATE_SCRIPT).write_text("next()")
    ours["paths"][GATE_SCRIPT] = "payer_gate.0123456789ab.js"
    (tmp_path / "staticfiles.json").write_text(json.dumps(ours))
    settings.STATIC_ROOT = str(tmp_path)
    assert of_another_release() == [GATE_SCRIPT]

    call_command("collectstatic", interactive=False, verbosity=0)
    settings.STATIC_ROOT = str(tmp_path)
    assert of_another_release() == []
    assert staticfiles_storage.url(GATE_SCRIPT) == f"/static/{named.name}"
    assert named.read_bytes() == (ROOT / "panel/static" / GATE_SCRIPT).read_bytes()


class Visitor:
    """A browser's requests for a page and its files, counted as they come over the wire."""

    def __init__(self, web: WebProcess, cookies: dict[str, str]) -> None:
        self._web = web
        self._kept: set[str] = set()
        self._session = requests.Session()
        self._session.cookies.update(cookies)
        self._session.headers.update({"Accept": "text/html", "Accept-Encoding": "gzip"})

    def open(self, path: str) -> tuple[int, int]:
        """Return the bytes and the requests of a page, without files that are kept."""
        page, size = self._take(path)
        files = [file for file in dict.fromkeys(LINKED.findall(page)) if file not in self._kept]
        for file in files:
            self._kept.add(file)
            size += self._take(file)[1]
        return size, 1 + len(files)

    def read(self, path: str) -> str:
        return self._take(path)[0]

    def headers(self, path: str) -> Any:
        return self._session.head(self._web.url + path, timeout=PATIENCE_SECONDS).headers

    def _take(self, path: str) -> tuple[str, int]:
        answer = self._session.get(self._web.url + path, stream=True, timeout=PATIENCE_SECONDS)
        assert answer.status_code in (200, 400), (path, answer.status_code)
        # As it came over the wire: compressed, if it was.
        raw = answer.raw.read()
        if path.startswith("/static/"):
            assert "immutable" in answer.headers["Cache-Control"], path
            return "", len(raw)
        return raw.decode(), len(raw)


@pytest.fixture(scope="module")
def acme(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[tuple[WebProcess, dict[str, str], dict[str, str]]]:
    """A web process whose files were collected, and an owner of a merchant with some payments."""
    static = tmp_path_factory.mktemp("collected") / "static"
    with django_db_blocker.unblock():
        settings = {**environment(), "STATIC_ROOT": str(static)}
        command = [sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"]
        subprocess.run(command, cwd=ROOT, env=settings, check=True)
        merchant = open_merchant("Acme Store", website="https://acme.example").merchant
        for number in range(30):
            PaymentFactory(merchant=merchant, description=f"Order {number}")
        client = signed_in(person("ada@acme.example", (merchant, "owner")))
        cookies = {name: cookie.value for name, cookie in client.cookies.items()}
        web = WebProcess(tmp_path_factory.mktemp("web") / "log", STATIC_ROOT=str(static))
        yield web, addresses(merchant), cookies
        web.stop()
        empty("default")


@pytest.mark.slow
def test_every_page_is_small(acme: tuple[WebProcess, dict[str, str], dict[str, str]]) -> None:
    web, pages, cookies = acme

    for name, path in pages.items():
        path += "?q=order"
        visitor = Visitor(web, cookies)
        cold, number = visitor.open(path)
        warm, _ = visitor.open(path)
        print(f"{name}: {cold} bytes cold, {warm} warm, {number} requests")  # noqa: T201
        assert cold <= COLD_MOST
        assert warm <= WARM_MOST
        assert number <= REQUESTS_MOST


@pytest.mark.slow
def test_files_are_hashed_compressed_and_kept(
    acme: tuple[WebProcess, dict[str, str], dict[str, str]],
) -> None:
    web, pages, cookies = acme
    linked = LINKED.findall(Visitor(web, cookies).read(pages["overview"]))

    for file in linked:
        assert re.search(r"\.[0-9a-f]{12}\.", file), file
        headers = Visitor(web, {}).headers(file)
        assert headers["Content-Encoding"] == "gzip", file
        assert headers["Cache-Control"] == "max-age=315360000, public, immutable"
    assert len(linked) >= 4
