"""Every page says what it may load and where its forms may lead."""

from contextlib import closing
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from core.page_policy import allow_form_to, allow_form_to_end_anywhere
from core.urls import BadUrl
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}
HTML = {"accept": "text/html"}


def policy_of(response: HttpResponse) -> set[str]:
    return set(response["Content-Security-Policy"].split("; "))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/docs/errors",
        "/account/login",
        "/admin/",
        "/nothing",
        "/healthz",
        "/static/payer.css",
        "/static/vendor/pico/pico.min.css",
    ],
)
def test_every_answer_outside_the_api_has_the_policy(client: Client, path: str) -> None:
    with closing(client.get(path, headers=HTML)) as response:
        assert policy_of(response) == POLICY


def test_a_page_for_a_host_that_is_not_ours_has_the_policy(client: Client) -> None:
    assert policy_of(client.get("/", headers={**HTML, "host": "evil.example"})) == POLICY


def test_a_form_that_is_refused_has_the_policy() -> None:
    http = Client(enforce_csrf_checks=True)

    assert policy_of(http.post("/account/login", headers=HTML)) == POLICY


def test_the_api_which_shows_no_pages_has_none(acme: ApiClient) -> None:
    answers = [acme.get("/v1/balance"), acme.get("/v1"), acme.post("/v1/customers", b"[]")]

    assert not any("Content-Security-Policy" in answer.headers for answer in answers)


def test_other_sites_are_not_told_where_a_visitor_comes_from(client: Client) -> None:
    assert client.get("/docs/errors")["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://acs.bank.example/challenge?x=1", "https://acs.bank.example"),
        ("HTTPS://ACS.Bank.Example:443/", "https://acs.bank.example"),
        ("http://localhost:3000/return#done", "http://localhost:3000"),
    ],
)
def test_a_page_may_let_its_form_lead_elsewhere(address: str, origin: str) -> None:
    response = HttpResponse()

    allow_form_to(response, address, "https://acme.example/return")

    form_action = f"form-action 'self' {origin} https://acme.example"
    assert policy_of(response) == POLICY - {"form-action 'self'"} | {form_action}


@pytest.mark.parametrize(("livemode", "anywhere"), [(True, "https:"), (False, "http:")])
def test_a_page_may_let_its_form_end_wherever_a_shop_redirects_to(
    settings: Any, anywhere: str, *, livemode: bool
) -> None:
    settings.LIVEMODE, response = livemode, HttpResponse()

    allow_form_to_end_anywhere(response)

    form_action = f"form-action 'self' {anywhere}"
    assert policy_of(response) == POLICY - {"form-action 'self'"} | {form_action}


@pytest.mark.parametrize("address", ["https://a.example; script-src *", "data:,x", "*", ""])
def test_no_address_writes_a_policy_of_its_own(address: str) -> None:
    with pytest.raises(BadUrl):
        allow_form_to(HttpResponse(), address)
