"""The bill of materials has each package of the lock, and known vulnerabilities are found."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from devstack import bill, vulnerabilities
from devstack.state import ROOT
from tests.stage.own_ports import refusing_port

pytestmark = pytest.mark.slow

FOR_DEVELOPMENT = {"requirements-up.txt", "requirements-dev.txt"}
PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[.+\])?==([^ ;]+)", re.MULTILINE)
LOCK = (
    "idna==3.20 \\\n    --hash=sha256:"
    + "a" * 64
    + "\nbabel==2.19 \\\n    --hash=sha256:"
    + "b" * 64
)


class Database(BaseHTTPRequestHandler):
    """OSV's way to be asked, with one vulnerability."""

    vulnerable: ClassVar[str] = ""
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = asked["package"]["name"]
        self.asked.append(name)
        package = {"name": name, "ecosystem": "PyPI"}
        events = [{"introduced": "0"}, {"fixed": "99.0"}]
        known = {
            "id": "PYSEC-0000-1",
            "summary": "Planted.",
            "affected": [{"package": package, "ranges": [{"type": "ECOSYSTEM", "events": events}]}],
        }
        body = json.dumps({"vulns": [known]} if name == self.vulnerable else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Write no line."""


@pytest.fixture
def database() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Database) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    lock = tmp_path / "requirements.txt"
    lock.write_text(LOCK)
    return lock


def test_the_bill_has_each_package_of_the_lock_with_its_hashes(tmp_path: Path) -> None:
    file = tmp_path / "sbom.json"
    bill.write(file)

    found = json.loads(file.read_text())
    listed = {(one["name"], one["version"]) for one in found["components"]}
    locked = set(PINNED.findall((ROOT / bill.LOCK).read_text()))
    assert found["bomFormat"] == "CycloneDX"
    assert len(locked) > 40
    assert listed == locked
    assert all(one["externalReferences"][0]["hashes"] for one in found["components"])


def test_a_known_vulnerability_is_found(
    database: str, lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "vulnerable", "zipp")

    more = tmp_path / "requirements-more.txt"
    more.write_text(f"{LOCK}\nzipp==4.0 \\\n    --hash=sha256:{'c' * 64}\n")

    asked, found = vulnerabilities.of([lock, more], "--osv-url", database)

    assert asked == 3
    assert found == [vulnerabilities.Found("zipp", "4.0", "PYSEC-0000-1", "99.0")]
    assert sorted(Database.asked) == ["babel", "idna", "zipp"]


def test_every_lock_that_pages_tell_to_install_is_asked_about() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*")]
    texts = "".join(page.read_text() for page in pages if page.is_file())
    named = set(re.findall(r"requirements(?:-\w+)?\.txt", texts)) - FOR_DEVELOPMENT

    assert {lock.name for lock in vulnerabilities.LOCKS} == named
    assert len(named) >= 4


def test_a_database_that_cannot_be_reached_is_said_and_fails_nothing(
    lock: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vulnerabilities, "LOCKS", [lock])
    with refusing_port() as port:
        code = vulnerabilities.main(["--osv-url", f"http://127.0.0.1:{port}/"])

    assert code == 0
    assert "could not ask" in capsys.readouterr().out
