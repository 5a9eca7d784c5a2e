"""A payer's browser that brings the bank's answer again and again, while the bank is slow."""

from threading import Event
from typing import Any

import pytest

from payments.payer import returns
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import RETURN_URL
from tests.stage.threads import together
from tests.stage.threeds import bring, challenged, decide

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PRESSES = 4
HANG_SECONDS = 60


def test_who_presses_again_keeps_no_thread_for_as_long_as_the_bank_takes(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(returns, "SECOND_ARRIVAL_WAITS_SECONDS", 0.2)
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    ask, others_are_back, back = bank._ask, Event(), []

    def ask_when_others_are_back(request: Any) -> Any:
        assert others_are_back.wait(HANG_SECONDS), "who pressed again waits for the bank"
        return ask(request)

    def arrive() -> None:
        back.append(bring(fields))
        if len(back) == PRESSES - 1:
            others_are_back.set()

    monkeypatch.setattr(bank, "_ask", ask_when_others_are_back)

    together([arrive] * PRESSES)

    *again, _first = back
    assert {arrival.status for arrival in back} == {302}
    assert {sent.location for sent in again} == {f"{RETURN_URL}?payment_intent={paid['id']}"}
    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert len(bank_books.orders()) == 1


def test_two_seconds_are_the_most_that_a_second_press_waits() -> None:
    assert returns.SECOND_ARRIVAL_WAITS_SECONDS <= 2
