"""Errors outside the API: words for a person in a browser, the envelope for programs."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError, connections
from django.test import Client, RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from config import error_pages
from core.errors import LockTimeout
from tests.stage.refusals import assert_envelope, raw

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def opened(path: str, *, method: str = "GET", http: Client | None = None, **headers: str) -> Any:
    """Open an address as a browser does."""
    http = http or Client(raise_request_exception=False)
    return http.generic(method, path, headers={"accept": CHROMIUM, **headers})


def assert_page(response: Any, status: int, heading: str) -> None:
    text = response.content.decode()
    assert response.status_code == status
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert f"<h1>{heading}</h1>" in text
    assert f"<code>{response['Request-Id']}</code>" in text
    assert response["Cache-Control"] == "no-store"
    assert "Accept" in response["Vary"]


@pytest.fixture
def failing(monkeypatch: Any) -> Any:
    """Let the health check, a view outside the API, fail with an exception."""

    def fail_with(problem: Exception) -> None:
        def fail(*_arguments: object) -> None:
            raise problem

        monkeypatch.setattr("config.health._readiness", fail)

    return fail_with


@pytest.mark.parametrize("path", ["/x", "/nothing", "/v2", "/v10/x"])
def test_an_unknown_address_is_a_page(path: str) -> None:
    assert_page(opened(path), 404, "There is no page here")


@pytest.mark.parametrize(
    ("problem", "status", "heading"),
    [
        (SuspiciousOperation("secret"), 400, "This request is not right"),
        (PermissionDenied("secret"), 403, "You may not open this page"),
        (RuntimeError("secret"), 500, "Something went wrong on our side"),
        (OperationalError("secret"), 503, "We cannot answer right now"),
    ],
)
def test_a_failure_is_a_page_that_tells_nothing(
    failing: Any, problem: Exception, status: int, heading: str
) -> None:
    failing(problem)

    response = opened("/healthz")

    assert_page(response, status, heading)
    assert "secret" not in response.content.decode()


def test_a_lock_that_was_waited_for_is_a_page_with_its_retry_after() -> None:
    response = error_pages.page(LockTimeout())

    assert "<h1>Somebody else is changing this</h1>" in response.content.decode()
    assert (response.status_code, response["Retry-After"]) == (409, "1")


def test_a_page_needs_no_database(monkeypatch: Any) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OperationalError("connection refused at 10.0.0.7")

    monkeypatch.setattr(connections["default"], "cursor", refuse)

    response = opened("/admin/", cookie=f"sessionid={'a' * 32}")

    assert_page(response, 503, "We cannot answer right now")


def test_a_form_without_its_token_is_a_page() -> None:
    response = opened("/account/login", method="POST", http=Client(enforce_csrf_checks=True))

    assert_page(response, 403, "This form has expired")


def test_a_host_that_is_not_ours_is_a_page() -> None:
    response = opened("/docs/errors", host="evil.example")

    assert_page(response, 400, "This request is not right")


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/nothing", "/v1/balance"])
@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_the_api_answers_a_browser_in_the_envelope(path: str, host: str) -> None:
    assert_envelope(raw("GET", path, headers={"accept": CHROMIUM, "host": host}))


@pytest.mark.parametrize(
    "accept",
    ["", "*/*", "application/json", "application/json, text/html", "text/css,*/*;q=0.1", "image/*"],
)
def test_who_does_not_ask_for_a_page_gets_the_envelope(accept: str) -> None:
    answer = raw("GET", "/nothing", headers={"accept": accept})

    assert answer.refusal == (404, "url_not_found", None)
    assert answer.headers["Vary"] == "Accept"
    assert_envelope(answer)


@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=60))
def test_no_accept_header_is_a_crash(accept: str) -> None:
    request = RequestFactory().get("/nothing", headers={"accept": accept})

    assert isinstance(error_pages.is_wanted(request), bool)
