"""Each code of a refusal, of a decline and of an advice has its entry in the reference."""

import re

import pytest

from acquirers import declines
from core.errors import DomainError
from core.rest.error_codes import entries
from devstack.state import ROOT
from docsite.reference import cards, errors
from docsite.reference import declines as declines_page
from payments.intents.refusals import SurchargeMismatch
from testbank import behaviours
from tests.docsite.written import pages

CARD = re.compile(r"\b[0-9]{13,19}\b")


def anchors(page: str) -> list[str]:
    return re.findall(r'^<a id="([\w-]+)"></a>$', page, re.MULTILINE)


def test_every_code_of_a_refusal_has_one_entry() -> None:
    codes = [entry.code for entry in entries()]

    assert anchors(pages()["errors.md"]) == codes
    assert pages()["errors.md"].count("**What to do:**") == len(codes)
    print(f"{len(codes)} codes of refusals")  # noqa: T201


def test_a_code_without_an_entry_stops_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SurchargeMismatch, "explained", None)

    with pytest.raises(KeyError, match="surcharge_mismatch is not explained"):
        errors.page((ROOT / "docs" / "errors.md").read_text())


def test_a_page_without_its_list_of_codes_is_not_written() -> None:
    with pytest.raises(ValueError, match="no list of codes"):
        errors.page("# Errors\n")


def test_every_refusal_of_a_new_code_has_to_be_explained() -> None:
    unexplained = {entry.code for entry in entries() if entry.explained is None}

    assert unexplained == set()
    assert DomainError.explained is None


def test_every_code_of_a_decline_has_one_entry() -> None:
    wanted = [
        *declines.CODES,
        *(f"decline-{code}" for code in declines.DECLINE_CODES),
        *(f"advice-{code}" for code in declines.ADVICE_CODES),
    ]

    assert anchors(pages()["reference/declines.md"]) == wanted
    print(f"{len(wanted)} codes of declines")  # noqa: T201


@pytest.mark.parametrize("table", ["CODES", "DECLINE_CODES", "ADVICE_CODES"])
def test_no_entry_is_of_a_code_that_is_gone(table: str) -> None:
    assert getattr(declines, f"EXPLAINED_{table}").keys() == set(getattr(declines, table))


def test_a_decline_without_an_entry_stops_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(declines.EXPLAINED_DECLINE_CODES, "lost_card")

    with pytest.raises(KeyError, match="lost_card"):
        declines_page.page()


def test_no_number_on_the_pages_is_any_other_than_a_test_card() -> None:
    numbers = {number for page in pages().values() for number in CARD.findall(page)}

    assert numbers
    assert {number for number in numbers if number not in behaviours.CARDS} == set()


def test_every_card_that_the_bank_knows_is_in_a_list_of_its_own_reason() -> None:
    refused = [card for card in behaviours.CARDS.values() if cards.reason_of(card)]

    assert len(refused) >= 10
    assert all(cards.provoking([cards.reason_of(card)]) for card in refused)  # type: ignore[list-item]


def test_every_card_of_the_bank_is_in_both_tables_of_cards() -> None:
    numbers = re.findall(r"^\| `(\d{16})` \|", pages()["reference/test-cards.md"], re.MULTILINE)

    assert numbers == [*behaviours.CARDS, *behaviours.CARDS]
