"""Request logs as a person uses them: a failing request found by its id, filters, and errors."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from core import ids
from merchants.models import Merchant
from tests.browser.page import Page
from tests.stage.factories import RequestLogFactory, open_merchant
from tests.stage.teams import PASSWORD, person

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

EMAIL = "ada@acme.example"
WORDS = {
    "en": {
        "email": "Email", "password": "Password", "sign in": "Sign in", "home": "Set up payments",
        "id": "Request id", "find": "Find", "not kept": "Request logs are kept for 30 days.",
        "error": "This error in the documentation", "errors": "Errors", "status": "Status",
        "filter": "Filter", "refused": "4xx or 5xx", "none": "No request matches",
        "group": "3 requests: parameter_invalid /v1/payment_intents", "logs": "Request logs",
        "older": "Older", "newer": "Newer", "body": "Request body", "from": "From",
    },
    "tr": {
        "email": "E-posta", "password": "Parola", "sign in": "Oturum aç", "home": "Ödemeleri kurun",
        "id": "İstek kimliği", "find": "Bul", "not kept": "İstek günlükleri 30 gün saklanır.",
        "error": "Belgelerde bu hata", "errors": "Hatalar", "status": "Durum", "filter": "Filtrele",
        "refused": "4xx, 5xx", "none": "Eşleşen istek yok",
        "group": "3 istek: parameter_invalid /v1/payment_intents", "logs": "İstek günlükleri",
        "older": "Daha eski", "newer": "Daha yeni", "body": "İstek gövdesi", "from": "Başlangıç",
    },
}  # fmt: skip
LOOKS = [
    ("en", {"width": 1280, "theme": "light", "locale": "en-US"}),
    ("tr", {"width": 390, "theme": "dark", "scripts": False, "locale": "tr-TR"}),
]


@pytest.fixture
def acme(settings: Any) -> Merchant:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    merchant = open_merchant("Acme Store", website="https://acme.example").merchant
    person(EMAIL, (merchant, "owner"))
    for number in range(30):
        RequestLogFactory(
            merchant=merchant, method="GET", path=f"/v1/customers/{ids.new('cus')}", status=200,
            error_code=None, request_body=None, response_body='{"object":"customer"}',
            duration_ms=3 + number,
        )  # fmt: skip
    for _ in range(3):
        row = RequestLogFactory(merchant=merchant, idempotency_key="order 7")
    merchant.failing = row.id
    return merchant


def signed_in(open_page: Callable[..., Page], language: str, look: dict[str, Any]) -> Page:
    page, words = open_page(**look), WORDS[language]
    page.visit("/panel/")
    page.fill(words["email"], EMAIL)
    page.fill(words["password"], PASSWORD)
    page.click(words["sign in"])
    page.see(words["home"])
    return page


def look_at(page: Page, name: str, language: str, look: dict[str, Any]) -> None:
    page.keep_picture(f"{name}-{language}-{look['theme']}-{look['width']}")


@pytest.mark.parametrize(("language", "look"), LOOKS)
def test_a_failing_request_is_found_by_its_id(
    acme: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words, page = WORDS[language], signed_in(open_page, language, look)

    page.visit(f"/panel/{acme.id}/request_logs")
    page.fill(words["id"], "req_made_up")
    page.click(words["find"])
    page.see(words["not kept"], status=404)
    look_at(page, "logs-not-found", language, look)
    page.fill(words["id"], f"  {acme.failing} ")
    page.click(words["find"])
    page.see(words["error"])
    assert page.url.endswith(acme.failing)
    page.see("Too small.")
    look_at(page, "logs-request", language, look)
    page.visit(f"/panel/{acme.id}/request_logs/req_made_up", status=404)
    page.see(words["not kept"], status=404)
    look_at(page, "logs-no-request", language, look)


@pytest.mark.parametrize(("language", "look"), LOOKS)
def test_errors_lead_to_the_filtered_list(
    acme: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words, page = WORDS[language], signed_in(open_page, language, look)

    page.visit(f"/panel/{acme.id}/request_logs")
    look_at(page, "logs-list", language, look)
    page.click(words["older"])
    page.see(words["newer"])
    page.click(words["errors"])
    page.see("parameter_invalid")
    look_at(page, "logs-errors", language, look)
    page.click(words["group"])
    page.see(acme.failing)
    look_at(page, "logs-of-a-group", language, look)

    assert "error_code=parameter_invalid" in page.url
    assert page.text.count("req_") == 3


def test_without_scripts_a_refusal_stands_at_its_input(
    acme: Merchant, open_page: Callable[..., Page]
) -> None:
    [_english, (language, look)] = LOOKS
    words, page = WORDS[language], signed_in(open_page, language, look)

    page.visit(f"/panel/{acme.id}/request_logs")
    page.fill(words["status"], "abc")
    page.click(words["filter"])
    page.see(words["refused"], status=400)
    look_at(page, "logs-refused", language, look)
    page.fill(words["status"], "404")
    page.click(words["filter"])
    page.see(words["none"])
    look_at(page, "logs-none", language, look)


def test_with_scripts_a_filter_swaps_the_list_and_a_refusal_leaves_it(
    acme: Merchant, open_page: Callable[..., Page]
) -> None:
    [(language, look), _turkish] = LOOKS
    words, page = WORDS[language], signed_in(open_page, language, look)
    page.visit(f"/panel/{acme.id}/request_logs")
    page.evaluate("window.isTheSamePage = true")

    page.fill(words["status"], "400")
    page.fill(words["from"], "2020-01-01")
    page.click(words["filter"])
    page.wait_for_text(".pager span:first-child", "3 rows")
    filtered = page.url
    page.fill(words["status"], "abc")
    page.click(words["filter"])
    page.see(words["refused"])
    left, refused_at = page.evaluate("document.querySelectorAll('tbody tr').length"), page.url
    page.fill(words["status"], "404")
    page.click(words["filter"])
    page.see(words["none"])

    assert "status=400" in filtered
    assert "created%5Bgte%5D=1577826000" in filtered
    assert "created_from" not in filtered
    assert (left, refused_at) == (3, filtered)
    assert page.evaluate("window.isTheSamePage")
    assert page.evaluate("document.querySelectorAll('[aria-invalid]').length") == 0
    assert "status=404" in page.url
    assert json.dumps(page.take_findings().splitlines()).count("400 for") == 1
