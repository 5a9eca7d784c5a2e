"""The page of test cards says what the simulated bank does."""

import re
from typing import Any

import pytest

from docsite.reference import cards
from testbank import behaviours
from tests.docsite.written import pages
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

RETURN_URL = "https://acme.example/return"


def outcome(payment: Any) -> str:
    """Return the result of a payment as the page names it."""
    if payment["status"] == "requires_payment_method":
        return f"`{payment['last_payment_error']['reason']}`"
    return {"succeeded": "approved", "requires_action": "3-D Secure"}.get(
        payment["status"], f"`{payment['status']}`"
    )


def named(text: str) -> str:
    """Return the first result that a cell of the page names."""
    if text.startswith("3-D Secure is demanded: "):
        return text.removeprefix("3-D Secure is demanded: ")
    found = re.match(r"approved|3-D Secure|`\w+`", text)
    assert found, text
    # A block is shown by its decline code, and the page has its code.
    return {"`fraud_blocked`": "`fraudulent`"}.get(found[0], found[0])


def test_a_payment_with_each_card_ends_as_the_page_says(
    acme: ApiClient, bank: BankTransport
) -> None:
    ended = {
        number: outcome(acme.pay(number, return_url=RETURN_URL)) for number in behaviours.CARDS
    }

    assert ended == {number: named(cards.paid(number)) for number in behaviours.CARDS}
    assert len(ended) > 30


def test_every_card_of_the_bank_is_in_both_tables() -> None:
    numbers = re.findall(r"^\| `(\d{16})` \|", pages()["reference/test-cards.md"], re.MULTILINE)

    assert numbers == [*behaviours.CARDS, *behaviours.CARDS]
