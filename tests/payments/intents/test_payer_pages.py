"""The pages of 3-D Secure that a payer sees, as templates (a browser looks at them elsewhere)."""

from html.parser import HTMLParser
from typing import Any

import pytest
from django.template.loader import render_to_string

PAYMENT = {
    "merchant_name": "Acme & Sons",
    "amount": "₺125.00",
    "brand": "visa",
    "last4": "4242",
    "action": "https://acs.bank.example/challenge",
    "fields": {"creq": 'a"><script>', "session": "att_1"},
    "is_sandbox": False,
}


class Shown(HTMLParser):
    """A page taken apart: its elements in order, and its text."""

    def __init__(self, page: str, **context: Any) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(render_to_string(f"payments/threeds/{page}.html", context))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_the_hand_off_pages_button_leads_on() -> None:
    page = Shown("handoff", **PAYMENT)

    assert page.all("form") == [{"method": "post", "action": PAYMENT["action"]}]
    assert page.all("input") == []


def test_the_gates_page_sends_the_fields_to_the_bank() -> None:
    page = Shown("gate", **PAYMENT)

    hidden = [
        {"type": "hidden", "name": name, "value": value}
        for name, value in PAYMENT["fields"].items()
    ]
    [form] = page.all("form")
    assert (form["method"], form["action"]) == ("post", PAYMENT["action"])
    assert page.all("input") == hidden
    assert len(page.all("button")) == 1


def test_the_hand_off_page_says_what_is_paid_and_with_which_card() -> None:
    page = Shown("handoff", **PAYMENT)

    for words in ("You are being sent to your bank", "₺125.00", "Acme & Sons", "Visa", "4242"):
        assert words in page.text
    assert "Continue to your bank" in page.text
    assert len(page.all("button")) == 1


def test_the_hand_off_page_has_no_script() -> None:
    page = Shown("handoff", **PAYMENT)

    handlers = [name for _, attributes in page.elements for name in attributes if name[:2] == "on"]
    assert not page.all("script")
    assert not handlers


def test_a_card_of_no_known_brand_is_shown_by_its_digits() -> None:
    page = Shown("handoff", **{**PAYMENT, "brand": None})

    assert "None" not in page.text
    assert "4242" in page.text


def test_a_sandbox_says_in_words_that_it_is_one() -> None:
    sandbox, live = Shown("handoff", **{**PAYMENT, "is_sandbox": True}), Shown("handoff", **PAYMENT)

    assert "No real money moves here." in sandbox.text
    assert "No real money" not in live.text


@pytest.mark.parametrize("outcome", ["approved", "waiting", "failed"])
def test_a_payment_that_needs_no_more_of_the_payer_leads_back_to_the_shop(outcome: str) -> None:
    back_url = "https://acme.example/return?payment_intent=pi_1"

    page = Shown(outcome, **PAYMENT, back_url=back_url)

    assert [link["href"] for link in page.all("a")] == [back_url]
    assert not page.all("form")
    for words in ("₺125.00", "Acme & Sons", "Visa", "4242"):
        assert words in page.text


@pytest.mark.parametrize("page", ["unknown", "refused"])
def test_what_leads_to_no_payment_says_what_to_do(page: str) -> None:
    assert "Go back to the shop" in Shown(page).text
