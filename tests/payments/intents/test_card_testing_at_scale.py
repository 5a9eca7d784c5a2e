"""Crowds at one shop, through the API: honest ones pay, and tested cards are asked for more.

The sandbox's bank issues few cards; these tests let it issue hundreds.
"""

from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from core import clock
from payments.charging import tasks
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import RETURN_URL
from tests.stage.issued_cards import in_turns
from tests.stage.lengths import length, tried
from tests.stage.risky import PAID, ended, paid_by
from tests.stage.threads import together

pytestmark = [
    pytest.mark.proof(part="races"),
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

# As many payers pay at the same time; the job looks every five seconds.
AT_ONCE, JOB_SECONDS = 4, 5
PAYERS = length(short=200, full=1000)
CARDS = length(short=140, full=500)
DECLINED = ("requires_payment_method", "card_declined")
ASKED = ("requires_action", None)
GOOD_CARD_OF_TURKEY = "5528790000000008"


@pytest.fixture(autouse=True)
def _as_in_live(settings: Any) -> None:
    settings.RISK_RULES = {
        "card_velocity": "block", "card_declines": "block", "email_velocity": "block",
        "email_cards": "block", "card_testing": "authenticate", "country_mismatch": "authenticate",
    }  # fmt: skip


def pay_in(seconds: int, shop: ApiClient, numbers: list[str]) -> list[tuple[str, str | None]]:
    """Let each card be tried by a payer of its own, spread over so many seconds of the clock."""
    told: list[tuple[str, str | None]] = []
    each = len(numbers) * JOB_SECONDS // seconds
    for start in range(0, len(numbers), each):
        for first in range(start, min(start + each, len(numbers)), AT_ONCE):
            crowd = numbers[first : min(first + AT_ONCE, start + each)]
            told += together([partial(_tried, shop.twin(), number) for number in crowd])
        clock.advance(timedelta(seconds=JOB_SECONDS))
        tasks.watch_tested()
    return told


def _tried(shop: ApiClient, number: str) -> tuple[str, str | None]:
    return ended(paid_by(shop, number, f"payer{number[-8:]}@example.com", return_url=RETURN_URL))


def test_a_thousand_honest_payers_in_a_minute_are_never_stopped(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = in_turns(monkeypatch, PAYERS, declined=5)

    told = Counter(pay_in(PAYERS * 60 // 1000, acme, numbers))

    tried(PAYERS, "honest payers")
    assert told == {PAID: PAYERS * 95 // 100, DECLINED: PAYERS * 5 // 100}


def test_within_ten_seconds_of_a_test_of_cards_payers_must_authenticate(
    acme: ApiClient, globex: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = in_turns(monkeypatch, CARDS, declined=80)
    of_ten_seconds = 500 // 6

    told = pay_in(CARDS * 60 // 500, acme, numbers)

    tried(CARDS, "cards that were tested")
    assert Counter(told[:30])[DECLINED] == 24
    assert Counter(told[of_ten_seconds:]) == {ASKED: CARDS - of_ten_seconds}
    assert ended(paid_by(globex, GOOD_CARD_OF_TURKEY)) == PAID
