"""Each setting and each header of the code has its entry, and each limit its value."""

import re

import pytest
from django.test import Client

from config import strict_http
from devstack.state import ROOT
from docsite.reference import headers as headers_page
from docsite.reference import limits
from docsite.reference import settings as settings_page
from tests.docsite.written import pages
from tests.stage.client import ApiClient
from webhooks.delivery.http import headers as of_deliveries

ROW = re.compile(r"^\| `([\w-]+)` \|", re.MULTILINE)
# Reads of a variable of the environment, by the settings and by the web server's own.
READ = re.compile(r"""(?:env\.\w+|required|_database|environ\.get)\(\s*"([A-Z_]+)\"""")


def read_by(code: str) -> set[str]:
    return set(READ.findall(code))


def sections(name: str) -> dict[str, set[str]]:
    """Return the names in the tables of a page, by the headings above the tables."""
    _top, *parts = re.split(r"^## (.+)$", pages()[name], flags=re.MULTILINE)
    return {
        heading: set(ROW.findall(text))
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


# --- Settings ---------------------------------------------------------------------------------


def test_every_setting_has_an_entry() -> None:
    modules = [*(ROOT / "config" / "settings").glob("*.py"), ROOT / "config" / "gunicorn.py"]
    read = set().union(*(read_by(module.read_text()) for module in modules))
    shown = set(ROW.findall(pages()["reference/settings.md"]))

    assert len(read) > 45
    assert read - shown == set()
    print(f"{len(read)} settings")  # noqa: T201


def test_a_setting_without_an_entry_is_found() -> None:
    assert read_by('PHASE = env.str("MOON_PHASE", default="full")') == {"MOON_PHASE"}
    assert "MOON_PHASE" not in ROW.findall(pages()["reference/settings.md"])


def test_a_setting_without_a_comment_stops_the_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        settings_page, "_lines", lambda: ["# --- The moon ----", "", "# PHASE=full"]
    )

    with pytest.raises(ValueError, match="PHASE has no comment"):
        settings_page.page()


def test_the_default_of_a_setting_is_known() -> None:
    assert settings_page.default("EVENT_DAYS") == "90"


# --- Headers ----------------------------------------------------------------------------------


def test_every_header_of_a_request_has_an_entry() -> None:
    shown = sections("reference/headers.md")["Of a request"]

    assert set(strict_http.SINGLE_VALUED.values()) <= shown
    assert len(strict_http.SINGLE_VALUED) >= 10


@pytest.mark.django_db
def test_every_header_of_an_answer_has_an_entry(acme: ApiClient, client: Client) -> None:
    answers = [
        acme.post("/v1/customers", {}, idempotency_key="k").response,
        acme.post("/v1/customers", {}, idempotency_key="k").response,
        acme.get("/v1/customers/cus_unknown").response,
        client.get("/v1/balance"),
        client.put("/v1/balance"),
    ]
    sent = {name for answer in answers for name in answer.headers}
    shown = sections("reference/headers.md")["Of an answer"]

    assert {"Request-Id", "Idempotent-Replayed", "WWW-Authenticate", "Allow"} <= sent
    assert {name for name in sent if name not in shown} == set()
    print(f"{len(sent)} headers of answers")  # noqa: T201


def test_every_header_of_a_delivery_has_an_entry() -> None:
    sent = of_deliveries.of("evt_1", "whd_1", signature="t=1,v1=0")

    assert sections("reference/headers.md")["Of a delivery to your endpoint"] == set(sent)
    assert headers_page.DELIVERED.keys() == sent.keys()


# --- Limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(45, "45 s"), (60, "1 min"), (900, "15 min"), (3600, "1 h"), (86_400, "1 day"), (90, "90 s"),
     (604_800, "7 days"), (43_200, "12 h")],
)  # fmt: skip
def test_a_duration_is_in_its_largest_whole_unit(seconds: int, shown: str) -> None:
    assert limits.duration(seconds) == shown


def test_a_limit_on_the_page_follows_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "| endpoints | 16 |" in pages()["reference/limits.md"]

    monkeypatch.setattr(limits.dispatch, "ENDPOINTS_MAX", 17)

    assert "| endpoints | 17 |" in limits.page()


def test_no_limit_is_without_a_value() -> None:
    rows = re.findall(r"^\| (?!limit|-)([^|]+) \| ([^|]*) \|", pages()["reference/limits.md"], re.M)

    assert len(rows) > 35
    assert [name for name, value in rows if not value.strip()] == []
