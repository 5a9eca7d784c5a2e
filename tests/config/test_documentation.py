"""The built documentation at `/docs/`: its files and no others, with samples that run here."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.test.utils import override_settings

pytestmark = pytest.mark.django_db
HTML = {"accept": "text/html"}
SAMPLE = "curl http://127.0.0.1:8000/v1/refunds -H 'Authorization: Bearer sk_sandbox_…'"
KEY = "sk_sandbox_Acme"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """Serve a small site; beside its directory lies a file that is nobody's business."""
    built = tmp_path / "built"
    for name in ("index", "how-to/index", "how-to/refunds", "operate/index"):
        file = built / f"{name}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<h1>{name}</h1><pre>{SAMPLE}</pre>")
    (built / "how-to" / "refunds.md").write_text("# Refunds\n")
    (built / "llms.txt").write_text("# All\n")
    (built / ".built").write_text("digest")
    (tmp_path / "settings").write_text("SECRET")
    with override_settings(DOCS_ROOT=built, BASE_URL="https://pay.example"):
        yield built


@pytest.fixture
def demo_file(tmp_path: Path) -> Iterator[Path]:
    """`./dev up` runs, and has made its merchant."""
    file = tmp_path / "demo.json"
    file.write_text(json.dumps({"secret_key": KEY}))
    with override_settings(DEMO_FILE=file):
        yield file


def shown(client: Client, path: str, *, host: str = "127.0.0.1") -> str:
    answer = client.get(path, headers={**HTML, "host": host})
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize(
    ("path", "content_type", "begins"),
    [
        ("/docs/", "text/html; charset=utf-8", "<h1>index"),
        ("/docs/index", "text/html; charset=utf-8", "<h1>index"),
        ("/docs/how-to/", "text/html; charset=utf-8", "<h1>how-to/index"),
        ("/docs/how-to/refunds", "text/html; charset=utf-8", "<h1>how-to/refunds"),
        ("/docs/how-to/refunds?q=%22#x", "text/html; charset=utf-8", "<h1>how-to/refunds"),
        ("/docs/how-to/refunds.html", "text/html; charset=utf-8", "<h1>how-to/refunds"),
        ("/docs/how-to/refunds.md", "text/markdown; charset=utf-8", "# Refunds"),
        ("/docs/llms.txt", "text/plain; charset=utf-8", "# All"),
    ],
)
def test_a_page_is_shown(
    client: Client, site: Path, path: str, content_type: str, begins: str
) -> None:
    answer = client.get(path, headers=HTML)

    assert (answer.status_code, answer["Content-Type"]) == (200, content_type)
    assert answer.content.decode().startswith(begins)


@pytest.mark.parametrize(
    ("path", "place"), [("/docs", "/docs/"), ("/docs/how-to", "/docs/how-to/")]
)
def test_a_directory_without_its_slash_leads_there(
    client: Client, site: Path, path: str, place: str
) -> None:
    answer = client.get(path)

    assert (answer.status_code, answer["Location"]) == (302, place)


OUTSIDE = [
    "nothing", "how-to/nothing", "../settings", "%2e%2e/settings", "..%2fsettings", "..", ".", "/",
    "%2e%2e%2fsettings", "how-to/../../settings", "//evil.example/", "/settings", ".built",
    "%5c..%5csettings", "how-to//refunds", "how-to/refunds/", "how-to/%C4%B1", "a" * 5000,
    "a/" * 900, "a." * 900 + "a", "%3Cscript%3E",
]  # fmt: skip


@pytest.mark.parametrize("address", OUTSIDE)
def test_nothing_else_is_shown(client: Client, site: Path, address: str) -> None:
    answer = client.get(f"/docs/{address}", headers=HTML)

    assert answer.status_code == 404
    assert "SECRET" not in answer.content.decode()
    assert 'action="/docs/search"' in answer.content.decode()


def test_a_program_gets_the_envelope_for_an_unknown_page(client: Client, site: Path) -> None:
    assert client.get("/docs/nothing").json()["error"]["code"] == "url_not_found"


def test_a_service_without_a_site_says_so_and_keeps_the_errors(client: Client) -> None:
    answer = client.get("/docs/", headers=HTML)

    assert answer.status_code == 404
    assert "./dev docs" in answer.content.decode()
    assert "resource_missing" in shown(client, "/docs/errors")


def test_the_errors_are_the_sites_where_it_has_them(client: Client, site: Path) -> None:
    (site / "errors.html").write_text("<h1>Errors</h1>")

    assert shown(client, "/docs/errors") == "<h1>Errors</h1>"


def test_samples_have_the_address_of_this_installation(client: Client, site: Path) -> None:
    page = shown(client, "/docs/how-to/refunds")

    assert "curl https://pay.example/v1/refunds" in page
    assert "sk_sandbox_…" in page
    assert "http://127.0.0.1:8000" in shown(client, "/docs/operate/")


def test_samples_have_the_key_of_a_running_sandbox(
    client: Client, site: Path, demo_file: Path
) -> None:
    answer = client.get("/docs/how-to/refunds", headers={"host": "localhost:8000"})

    assert f"Bearer {KEY}'" in answer.content.decode()
    assert answer["Cache-Control"] == "no-store"
    assert not any(KEY in file.read_text() for file in site.rglob("*") if file.is_file())


def test_the_key_is_shown_at_the_machine_only(client: Client, site: Path, demo_file: Path) -> None:
    with override_settings(ALLOWED_HOSTS=["tunnel.example"]):
        assert KEY not in shown(client, "/docs/how-to/refunds", host="tunnel.example")


def test_a_sandbox_that_still_starts_has_no_key(
    client: Client, site: Path, demo_file: Path
) -> None:
    demo_file.unlink()

    assert "sk_sandbox_…" in shown(client, "/docs/how-to/refunds")
