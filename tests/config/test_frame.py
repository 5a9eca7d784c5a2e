"""The API's frame: whatever the layer, an answer has our envelope, an id and a version."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test import Client

from ledger import balance
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.refusals import assert_envelope, raw

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CARD = GOOD_CARD


# --- Addresses and methods ------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/", "/v1/nothing", "/v1/balance/"])
def test_an_unknown_address_is_404_for_everybody(method: str, path: str) -> None:
    answer = raw(method, path)

    assert answer.refusal == (404, "url_not_found", None)
    assert_envelope(answer)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/v1/balance/", "/v1/payment_intents/", "/v1/payment_intents/x/"])
@pytest.mark.parametrize("redirects", [True, False])
def test_a_trailing_slash_is_never_a_redirect(
    acme: ApiClient, settings: Any, method: str, path: str, redirects: bool
) -> None:
    settings.SECURE_SSL_REDIRECT = redirects

    answer = acme._call(method, path, b"{}", {})

    assert answer.refusal == (404, "url_not_found", None)


def test_plain_http_to_an_https_installation_is_answered_and_not_redirected(
    acme: ApiClient, settings: Any
) -> None:
    settings.SECURE_SSL_REDIRECT = True

    assert acme.get("/v1/balance").status == 200
    assert acme.post("/v1/customers", {}).status == 200
    assert raw("GET", "/v1").status == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/balance", "GET, HEAD"),
        ("POST", "/v1/balance", "GET, HEAD"),
        ("OPTIONS", "/v1/balance", "GET, HEAD"),
        ("PATCH", "/v1/payment_intents/pi_x", "GET, POST, HEAD"),
        ("GET", "/v1/payment_intents/pi_x/confirm", "POST"),
        ("BREW", "/v1/customers", "GET, POST, HEAD"),
    ],
)
def test_a_wrong_method_is_405_and_names_the_right_ones(
    acme: ApiClient, method: str, path: str, allowed: str
) -> None:
    answer = acme._call(method, path, b"", {})

    assert answer.refusal == (405, "method_not_allowed", None)
    assert set(answer.headers["Allow"].split(", ")) == set(allowed.split(", "))
    assert_envelope(answer)


PAGES = {
    "/": "GET, HEAD",
    "/healthz": "GET, HEAD",
    "/livez": "GET, HEAD",
    "/readyz": "GET, HEAD",
    "/robots.txt": "GET, HEAD",
    "/favicon.ico": "GET, HEAD",
    "/.well-known/security.txt": "GET, HEAD",
    "/docs/errors": "GET, HEAD",
    "/v1/openapi.json": "GET, HEAD",
    "/3ds/att_x.y": "GET, HEAD, POST",
    "/3ds/att_x.y/return": "POST",
}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_a_page_takes_its_own_methods_only_and_names_them(path: str, accept: str) -> None:
    http = Client(enforce_csrf_checks=True)  # A wrong method is no form without its token.

    for method in METHODS:
        answer = http.generic(method, path, headers={"accept": accept})
        refused = answer.status_code == 405
        assert refused == (method not in PAGES[path].split(", ")), method
        assert answer.get("Allow") == (PAGES[path] if refused else None)
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer.content or method == "HEAD"


@pytest.mark.parametrize("path", [path for path in PAGES if "POST" not in PAGES[path]])
def test_a_program_is_told_of_a_wrong_method_in_the_envelope(path: str) -> None:
    answer = raw("POST", path)

    assert answer.refusal == (405, "method_not_allowed", None)
    assert_envelope(answer)


@pytest.mark.parametrize("path", ["/{}", "/admin/{}", "/admin/?{}", "/docs/errors?x={}", "/3ds/{}"])
@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_nothing_is_found_under_a_nul(path: str, accept: str) -> None:
    address = path.replace("{}", "a%00b")

    assert Client().get(address, headers={"accept": accept}).status_code == 404


# --- Kept nowhere -----------------------------------------------------------------------------


def every_kind_of_answer(acme: ApiClient) -> Iterator[Answer]:
    for path in ("/v1/balance", "/v1/events", "/v1/nothing", "/v1", "/v1/events/evt_x"):
        yield acme.get(path)
    yield acme.get("/v1/balance?x=1")
    yield acme.get(f"/v1/search?q={CARD}")
    yield acme.get("/v1/balance", host="evil.example")
    for body in ({}, b"[", b" " * 300_000, {"nme": "x"}):
        yield acme.post("/v1/customers", body)
    yield acme.post("/v1/customers", {}, idempotency_key="k")
    yield acme.post("/v1/customers", {}, idempotency_key="k")
    yield acme.delete("/v1/balance")
    yield raw("GET", "/v1/balance")
    yield raw("POST", "/v1/openapi.json")


def test_no_answer_of_the_api_is_stored_on_its_way(acme: ApiClient) -> None:
    answers = list(every_kind_of_answer(acme))

    assert {answer.status for answer in answers} == {200, 400, 401, 404, 405, 413}
    assert {answer.headers["Cache-Control"] for answer in answers} == {"no-store"}
    head = acme.http.head("/v1/balance", headers={"authorization": f"Bearer {acme.key}"})
    assert (head.status_code, head["Cache-Control"]) == (200, "no-store")


def test_a_failure_of_ours_is_not_stored_on_its_way(acme: ApiClient, no_database: None) -> None:
    answer = acme.get("/v1/balance")

    assert (answer.status, answer.headers["Cache-Control"]) == (503, "no-store")


def test_the_schema_may_be_kept_for_an_hour() -> None:
    answer = raw("GET", "/v1/openapi.json")

    assert (answer.status, answer.headers["Cache-Control"]) == (200, "public, max-age=3600")


@pytest.mark.parametrize("host", ["evil.example", "a b", "127.0.0.1:x", "acme.example@127.0.0.1"])
@pytest.mark.parametrize("path", ["/v1/balance", "/nothing", "/admin/"])
def test_a_host_that_is_not_ours_is_refused(host: str, path: str) -> None:
    answer = raw("GET", path, headers={"host": host})

    assert answer.refusal == (400, "parameter_invalid", "Host")
    assert_envelope(answer)


def test_a_load_balancer_may_ask_by_address_whether_we_are_well() -> None:
    assert raw("GET", "/healthz", headers={"host": "10.0.0.7:8000"}).status == 200


def test_a_head_request_has_the_length_and_no_body(acme: ApiClient) -> None:
    whole = acme.get("/v1/merchant").response

    head = acme.http.head("/v1/merchant", headers={"authorization": f"Bearer {acme.key}"})

    assert head.content == b""
    assert head["Content-Length"] == whole["Content-Length"] == str(len(whole.content))


def test_a_form_of_the_pages_without_its_token_is_refused_in_the_envelope() -> None:
    http = Client(enforce_csrf_checks=True)

    answer = Answer(http.post("/account/login", {"username": "x"}))

    assert answer.refusal == (403, "permission_denied", None)
    assert_envelope(answer)


# --- Our own faults -------------------------------------------------------------------------


def test_a_crash_is_a_500_that_tells_nothing(acme: ApiClient, monkeypatch: Any) -> None:
    def crash(_merchant: object) -> None:
        raise RuntimeError(f"secret of the house {CARD}")

    monkeypatch.setattr(balance, "shown", crash)

    answer = acme.get("/v1/balance")

    assert answer.refusal == (500, "internal_error", None)
    assert "secret" not in str(answer.body)
    assert_envelope(answer)


def test_a_crash_outside_the_api_is_the_same_500_and_is_logged(
    monkeypatch: Any, caplog: Any
) -> None:
    def crash(*_args: object) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr("config.health._readiness", crash)

    answer = raw("GET", "/healthz")

    assert answer.refusal == (500, "internal_error", None)
    assert "secret" not in str(answer.body)
    assert "secret of the house" in caplog.text
    assert_envelope(answer)


@pytest.fixture
def no_database(monkeypatch: Any) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise OperationalError("connection refused at 10.0.0.7")

    monkeypatch.setattr(connections["default"], "cursor", refuse)


@pytest.mark.parametrize("path", ["/v1/balance", "/admin/"])
def test_without_a_database_the_answer_is_503(
    acme: ApiClient, no_database: None, path: str
) -> None:
    answer = acme._call("GET", path, b"", {"cookie": f"sessionid={'a' * 32}"})

    assert answer.refusal == (503, "upstream_unavailable", None)
    assert "10.0.0.7" not in str(answer.body)
    assert_envelope(answer)


@pytest.fixture
def read_only() -> Iterator[None]:
    """A database as after a failover that went wrong: it only reads."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = off")


@pytest.mark.django_db(transaction=True)
def test_a_database_that_only_reads_is_503_for_a_call_that_writes(
    acme: ApiClient, read_only: None
) -> None:
    answer = acme.post("/v1/customers", {"name": "Ada"})

    assert answer.refusal == (503, "upstream_unavailable", None)
    assert_envelope(answer)


# --- The version ----------------------------------------------------------------------------


def test_the_version_is_answered_back(acme: ApiClient) -> None:
    pinned = acme.get("/v1/balance")
    asked = acme.get("/v1/balance", pf_version="2026-11-01")
    refused = acme.post("/v1/customers", b"[]", pf_version="2026-11-01")

    assert [answer.headers["PF-Version"] for answer in (pinned, asked, refused)] == [
        "2026-11-01"
    ] * 3


@pytest.mark.parametrize("version", ["2020-01-01", "2026-11-01 ", "", "x"])
def test_an_unknown_version_is_refused(acme: ApiClient, version: str) -> None:
    answer = acme.get("/v1/balance", pf_version=version)

    assert answer.refusal == (400, "api_version_invalid", "PF-Version")
    assert_envelope(answer)


def test_stripes_version_is_ignored(acme: ApiClient) -> None:
    assert acme.get("/v1/balance", stripe_version="2024-06-20").status == 200


def test_an_answer_has_a_request_id_of_its_own(acme: ApiClient) -> None:
    ids = [acme.get("/v1/balance").headers["Request-Id"] for _ in range(2)]

    assert all(request_id.startswith("req_") for request_id in ids)
    assert ids[0] != ids[1]
