"""Examples in the documentation work when they are copied, and its links lead somewhere."""

import json
import re
from pathlib import Path

import pytest
from django.conf import settings

from acquirers.sandbox import cards
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient

ROOT = settings.BASE_DIR
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
CARD_NUMBER = re.compile(r"(?<!\d)\d{16}(?!\d)")
CREATION = re.compile(r"curl \S+/v1/payment_intents \\\n.*?-d '(\{.*?\})'", re.DOTALL)
SANDBOX_CARDS = frozenset().union(*(numbers for numbers, _type, _country in cards.ISSUERS))


def missing_links(page: Path) -> list[str]:
    return [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert missing_links(page) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("See [this](page.md#top), [that](nowhere.md) and [them](https://a.example).")

    assert missing_links(page) == ["nowhere.md"]


def test_only_the_sandboxs_cards_are_named_and_the_readme_names_them_all() -> None:
    named = {page: set(CARD_NUMBER.findall(page.read_text())) for page in PAGES}

    assert set().union(*named.values()) <= SANDBOX_CARDS
    assert named[ROOT / "README.md"] == SANDBOX_CARDS


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize(
    ("page", "status"),
    [("README.md", "succeeded"), ("docs/three-d-secure.md", "requires_action")],
)
def test_a_payment_that_is_shown_can_be_made(
    page: str, status: str, acme: ApiClient, bank: BankTransport
) -> None:
    [body] = CREATION.findall((ROOT / page).read_text())

    answer = acme.post("/v1/payment_intents", json.loads(body))

    assert (answer.status, answer["status"]) == (200, status)
