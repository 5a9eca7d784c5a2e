"""Files that are asked of every site: for crawlers, browsers and finders of faults."""

import re
from datetime import UTC, datetime, timedelta
from urllib.robotparser import RobotFileParser

import pytest
from django.conf import settings
from django.test import Client

from tests.stage.processes import run


def test_crawlers_may_read_the_documentation_and_nothing_of_payers(client: Client) -> None:
    answer = client.get("/robots.txt")
    rules = RobotFileParser()
    rules.parse(answer.content.decode().splitlines())

    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    allowed = [path for path in ("/docs/", "/docs/errors") if rules.can_fetch("*", path)]
    refused = ["/v1/balance", "/3ds/att_x.y", "/panel/", "/admin/", "/account/login"]
    assert allowed == ["/docs/", "/docs/errors"]
    assert [path for path in refused if rules.can_fetch("*", path)] == []


def test_the_icon_is_one_that_every_browser_reads(client: Client) -> None:
    answer = client.get("/favicon.ico")

    assert (answer.status_code, answer["Content-Type"]) == (200, "image/x-icon")
    assert answer.content.startswith(b"\0\0\1\0\1\0")
    assert b"\x89PNG" in answer.content
    assert answer["Cache-Control"] == "public, max-age=86400"


def test_a_finder_of_a_weakness_reads_where_to_report_it(client: Client) -> None:
    answer = client.get("/.well-known/security.txt")
    told = dict(re.findall(r"^([\w-]+): (.+)$", answer.content.decode(), re.MULTILINE))

    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert told["Contact"] == settings.SECURITY_CONTACT == "mailto:payments@127.0.0.1"
    assert told["Canonical"] == f"{settings.BASE_URL}/.well-known/security.txt"
    ends_in = datetime.fromisoformat(told["Expires"]) - datetime.now(UTC)
    assert timedelta(days=30) < ends_in < timedelta(days=365)


@pytest.mark.parametrize("path", ["/robots.txt", "/favicon.ico", "/.well-known/security.txt"])
def test_it_needs_no_session_and_is_kept_for_a_day(client: Client, path: str) -> None:
    answer = client.get(path)

    assert not answer.cookies
    assert answer["Cache-Control"] == "public, max-age=86400"


@pytest.mark.slow
@pytest.mark.parametrize("contact", ["security@pay.example", "https://a.example\nContact: x"])
def test_a_contact_that_is_no_address_stops_the_start(contact: str) -> None:
    status, printed = run("-c", "import config.wsgi", SECURITY_CONTACT=contact)

    assert status != 0
    assert "Set SECURITY_CONTACT to one address" in printed
