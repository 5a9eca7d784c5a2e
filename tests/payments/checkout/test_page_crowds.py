"""Thieves and honest crowds on payment pages, with the rules as they are in live."""

from collections import Counter
from functools import partial
from itertools import islice
from typing import Any

import pytest

from core import limits
from payments.risk.rules import DEFAULTS
from testbank import behaviours
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import opened
from tests.stage.client import ApiClient
from tests.stage.issued_cards import in_turns, issued
from tests.stage.lengths import length, tried
from tests.stage.payment_pages import Payer, Shown
from tests.stage.threads import together

pytestmark = [
    pytest.mark.proof(part="races"),
    pytest.mark.timeout(1800),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

CARDS = length(short=30, full=2000)
NETWORKS = length(short=2, full=20)
CARDS_OF_A_SESSION, AT_ONCE = 5, 4
PAYERS = length(short=20, full=1000)
HONEST_NETWORK = "203.0.113.7"


@pytest.fixture(autouse=True)
def _as_in_live(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.RISK_RULES = {
        name.value: rule.deed.value for name, rule in DEFAULTS.items() if rule.is_on
    }
    monkeypatch.setattr(limits, "counts_here", limits.CountHere(names=100))


def from_network(address: str) -> Payer:
    payer = Payer()
    payer.browser.defaults["REMOTE_ADDR"] = address
    return payer


def ended(payer: Payer, pressed: Shown) -> str:
    """Return how a press ended: `paid`, `asked` for 3-D Secure, `declined`, or its status."""
    if "/3ds/" in pressed.headers.get("Location", ""):
        return "asked"
    page = payer.follow(pressed)
    if "Payment complete" in page.text:
        return "paid"
    was_tried = pressed.status == 303 and "did not accept this payment" in page.text
    return "declined" if was_tried else str(page.status)


def thief(shop: ApiClient, network: str, numbers: list[str]) -> list[str]:
    """Try one card after the other, a few on each page; return how each try ended."""
    payer, told = from_network(network), list[str]()
    for turn, number in enumerate(numbers):
        if turn % CARDS_OF_A_SESSION == 0 or told[-1] != "declined":
            page = opened(shop)["url"]
        email = f"payer{number[-8:]}@example.com"
        told.append(ended(payer, payer.press(payer.open(page), number=number, email=email)))
    return told


def in_crowds(calls: list[Any]) -> list[Any]:
    crowds = [calls[first : first + AT_ONCE] for first in range(0, len(calls), AT_ONCE)]
    return [one for crowd in crowds for one in together(crowd)]


def test_after_its_first_ten_declines_a_network_charges_no_card_without_authentication(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, each = in_turns(monkeypatch, CARDS, declined=80), CARDS // NETWORKS

    told = in_crowds(
        [
            partial(
                thief, acme.twin(), f"198.51.100.{turn}", numbers[turn * each : (turn + 1) * each]
            )
            for turn in range(NETWORKS)
        ]
    )

    tried(CARDS, "cards of thieves on pages")
    for of_network in told:
        assert of_network.count("declined") == 10, Counter(of_network)
        last = [at for at, how in enumerate(of_network) if how == "declined"][-1]
        assert set(of_network[:last]) <= {"declined", "paid"}
        assert set(of_network[last + 1 :]) == {"asked"}


def honest(shop: ApiClient, number: str, turn: int) -> str:
    """Pay; of 20 payers three first type something wrong."""
    payer = from_network(HONEST_NETWORK)
    form = payer.open(opened(shop)["url"])
    if turn % 20 in (1, 2, 3):
        form = payer.press(form, cvc="12", number=number)
        assert form.status == 400, form.text
    email = f"payer{turn}@example.com"
    return ended(payer, payer.press(form, number=number, email=email))


def test_honest_payers_of_one_network_beside_a_thief_at_its_limit_are_not_refused(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.CHECKOUT_FAILURES_PER_MINUTE = 4
    numbers = in_turns(monkeypatch, PAYERS, declined=5)
    attacker, page = from_network(HONEST_NETWORK), opened(acme)["url"]
    tested = islice(issued(monkeypatch, behaviours.INSUFFICIENT_FUNDS, "3"), 5)
    until = [
        attacker.press(attacker.open(page), number=one, email=f"{one[-4:]}@example.com").status
        for one in tested
    ]

    told = Counter(
        in_crowds([partial(honest, acme.twin(), one, turn) for turn, one in enumerate(numbers)])
    )

    tried(PAYERS, "honest payers of one network")
    assert until == [303] * 4 + [429]
    # Many declines of the network ask for 3-D Secure; nobody is sent away.
    assert set(told) <= {"paid", "declined", "asked"}, told
    assert told["paid"] > 0
