"""A call of the API passes by all that is for pages, and its answer does not tell."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from config.middleware import ApiAtOnce
from tests.stage.client import Answer, ApiClient
from tests.stage.refusals import raw

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

HERE = "config.middleware.ApiAtOnce"
FOR_PAGES = settings.MIDDLEWARE[settings.MIDDLEWARE.index(HERE) + 1 :]
DIFFERENT_EACH_TIME = {"Request-Id"}
COOKIES = "sessionid=0123456789abcdef; django_language=tr; csrftoken=x"
TURKISH = {"accept_language": "tr", "accept": "text/html"}

CALLS: dict[str, Callable[[ApiClient], Answer]] = {
    "a balance": lambda acme: acme.get("/v1/balance", **TURKISH),
    "a list": lambda acme: acme.get("/v1/payment_intents?limit=2"),
    "a refusal": lambda acme: acme.post("/v1/payment_intents", {"amount": -1}, **TURKISH),
    "broken JSON": lambda acme: acme.post("/v1/customers", b"{"),
    "no key": lambda _acme: raw("GET", "/v1/balance"),
    "no address": lambda _acme: raw("GET", "/v1/nothing", headers=TURKISH),
    "the API's root": lambda _acme: raw("GET", "/v1"),
    "a wrong method": lambda acme: acme.delete("/v1/balance"),
    "OPTIONS": lambda acme: acme._call("OPTIONS", "/v1/balance", b"", {}),
    "the schema": lambda _acme: raw("GET", "/v1/openapi.json"),
}


def shown(answer: Answer) -> Any:
    """Return an answer without its request's id."""
    headers = {k: v for k, v in answer.headers.items() if k not in DIFFERENT_EACH_TIME}
    body = answer.response.content.replace(answer.headers["Request-Id"].encode(), b"")
    return answer.status, headers, body, answer.response.cookies.output()


def go_the_long_way(middleware: ApiAtOnce, request: HttpRequest) -> HttpResponse:
    return middleware.lead_to_page(request)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_answer_is_that_of_the_long_way(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch, call: Callable[[ApiClient], Answer]
) -> None:
    at_once = shown(call(acme))

    monkeypatch.setattr(ApiAtOnce, "__call__", go_the_long_way)

    assert shown(call(acme)) == at_once


def test_a_browsers_cookies_are_nothing_to_the_api(acme: ApiClient) -> None:
    without = acme.get("/v1/balance")

    assert shown(acme.get("/v1/balance", cookie=COOKIES)) == shown(without)


def test_nothing_that_is_for_pages_sees_a_call(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watched(monkeypatch)

    for call in CALLS.values():
        call(acme)

    assert seen == []


def test_all_that_is_for_pages_sees_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(monkeypatch)

    assert raw("GET", "/nothing").status == 404

    assert seen == [path for path in FOR_PAGES if isinstance(import_string(path), type)]
    assert len(seen) >= 8


def watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the middleware for pages that a request comes to; allauth's is a function."""
    seen: list[str] = []
    for path in FOR_PAGES:
        middleware = import_string(path)
        if isinstance(middleware, type):
            monkeypatch.setattr(middleware, "__call__", noting(path, middleware, seen))
    return seen


def noting(path: str, middleware: Any, seen: list[str]) -> Callable[..., HttpResponse]:
    call = middleware.__call__

    def noted(self: Any, request: HttpRequest) -> HttpResponse:
        seen.append(path)
        return call(self, request)

    return noted
