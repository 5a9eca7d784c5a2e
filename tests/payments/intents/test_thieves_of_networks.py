"""Thieves try cards on payment pages from many networks, with the rules as they are in live.

The job of `card_testing` does not run here: the rule about networks holds alone.
"""

from functools import partial
from typing import Any

import pytest

from payments.risk.rules import DEFAULTS
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.issued_cards import in_turns
from tests.stage.lengths import length, tried
from tests.stage.risky import typed, unpaid
from tests.stage.threads import together

pytestmark = [
    pytest.mark.proof(part="races"),
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

CARDS = length(short=60, full=2000)
NETWORKS = length(short=2, full=20)
CARDS_OF_A_SESSION, AT_ONCE = 5, 4
DECLINED, ASKED, PAID = "requires_payment_method", "requires_action", "succeeded"


@pytest.fixture(autouse=True)
def _as_in_live(settings: Any) -> None:
    settings.RISK_RULES = {
        name.value: rule.deed.value for name, rule in DEFAULTS.items() if rule.is_on
    }


def thief(shop: ApiClient, network: str, numbers: list[str]) -> list[str]:
    """Try one card after the other, a few on each page; return how each try ended."""
    ended: list[str] = []
    for turn, number in enumerate(numbers):
        if turn % CARDS_OF_A_SESSION == 0 or ended[-1] != DECLINED:
            page = unpaid(shop)
        email = f"payer{number[-8:]}@example.com"
        intent = typed(shop, number, network=network, intent_id=page, email=email)
        ended.append(intent.status)
    return ended


def test_after_its_first_ten_declines_no_card_of_a_network_is_charged_without_authentication(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, each = in_turns(monkeypatch, CARDS, declined=80), CARDS // NETWORKS
    thieves = [
        partial(thief, acme.twin(), f"198.51.100.{turn}", numbers[turn * each : (turn + 1) * each])
        for turn in range(NETWORKS)
    ]

    ended = [
        one
        for first in range(0, NETWORKS, AT_ONCE)
        for one in together(thieves[first : first + AT_ONCE])
    ]

    tried(CARDS, "cards of thieves")
    for of_network in ended:
        assert of_network.count(DECLINED) == 10
        tenth = [at for at, how in enumerate(of_network) if how == DECLINED][-1]
        assert set(of_network[:tenth]) <= {DECLINED, PAID}
        assert set(of_network[tenth + 1 :]) == {ASKED}


@pytest.mark.planted
def test_a_planted_rule_that_counts_no_network_is_found(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setitem(globals(), "CARDS", 60)
    monkeypatch.setitem(globals(), "NETWORKS", 2)
    settings.RISK_RULES = {**settings.RISK_RULES, "address_declines": "off"}

    with pytest.raises(AssertionError):
        test_after_its_first_ten_declines_no_card_of_a_network_is_charged_without_authentication(
            acme, bank, monkeypatch
        )
