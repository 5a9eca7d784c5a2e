"""The address alone: it says what answers there, to people and to programs."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connections
from django.test import Client

from tests.stage.refusals import raw

pytestmark = pytest.mark.django_db

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def opened(client: Client, **options: Any) -> str:
    page = client.get("/", headers=BROWSER, **options)
    assert (page.status_code, page["Content-Type"]) == (200, "text/html; charset=utf-8")
    return page.content.decode()


def test_a_person_reads_what_this_is_and_where_to_go(client: Client) -> None:
    links = re.findall(r'<a href="([^"]+)">', opened(client))

    told = [link.removeprefix(settings.BASE_URL) for link in links]
    panel = settings.PANEL_URL
    assert told == [
        "/docs/", f"{panel}/panel/", "/v1/openapi.json", "/docs/errors",
        f"{panel}/admin/", "/healthz",
    ]  # fmt: skip
    # The documentation is there once it is built (tests/docsite).
    paths = [link.removeprefix(panel) for link in told[1:]]
    assert [client.get(path, follow=True).status_code for path in paths] == [200] * 5


def test_a_program_reads_the_same() -> None:
    answer = raw("GET", "/")

    assert answer.body == {
        "object": "service",
        "description": answer["description"],
        "livemode": False,
        "api": f"{settings.BASE_URL}/v1",
        "schema": f"{settings.BASE_URL}/v1/openapi.json",
        "documentation": f"{settings.BASE_URL}/docs/",
        "errors": f"{settings.BASE_URL}/docs/errors",
        "panel": f"{settings.PANEL_URL}/panel/",
        "operators": f"{settings.PANEL_URL}/admin/",
        "health": f"{settings.BASE_URL}/healthz",
    }
    assert answer.headers["Vary"] == "Accept"


def test_it_tells_nothing_of_what_it_is_made_of(client: Client) -> None:
    said = opened(client) + raw("GET", "/").response.content.decode()

    assert not re.search(
        r"(?i)django|python|gunicorn|postgres|redis|celery|\d+\.\d+", without(said)
    )


def without(text: str) -> str:
    """Return the text without addresses and drawings, where numbers are none of a version."""
    return re.sub(r"https?://[^\"<]+|<svg.*?</svg>|<meta[^>]+>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("headers", [BROWSER, {}])
def test_asked_for_its_head_it_answers_without_a_body(client: Client, headers: Any) -> None:
    whole, head = client.get("/", headers=headers), client.head("/", headers=headers)

    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Length"] == str(len(whole.content))
    assert head["Content-Type"] == whole["Content-Type"]


def test_it_needs_no_database(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(connections["default"], "cursor", refuse)

    assert "Card payment service" in opened(client)


@pytest.mark.parametrize(("livemode", "is_told"), [(False, True), (True, False)])
def test_a_sandbox_says_that_no_real_money_moves(
    client: Client, settings: Any, livemode: bool, is_told: bool
) -> None:
    settings.LIVEMODE = livemode

    assert ("No real money moves here." in opened(client)) is is_told
    assert raw("GET", "/")["livemode"] is livemode
