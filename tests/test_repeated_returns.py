"""A payer's browser that brings the bank's answer again and again, while the bank is slow."""

import time
from typing import NamedTuple

import pytest

from payments import authentication
from testbank.models import Authorization
from tests.bank_transport import BankTransport
from tests.client import ApiClient
from tests.factories import RETURN_URL
from tests.threads import together
from tests.threeds import bring, challenged, decide

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

BANK_SECONDS, PATIENCE_SECONDS = 1.2, 0.2


class Wait(NamedTuple):
    seconds: float
    status: int
    location: str | None


def arrive(fields: dict[str, str]) -> Wait:
    began = time.monotonic()
    arrival = bring(fields)
    return Wait(time.monotonic() - began, arrival.status, arrival.location)


def test_who_presses_again_keeps_no_thread_for_as_long_as_the_bank_takes(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "SECOND_ARRIVAL_WAITS_SECONDS", PATIENCE_SECONDS)
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    bank.pause_seconds = BANK_SECONDS

    *again, first = sorted(together([lambda: arrive(fields)] * 4))

    print(f"1 waited {first.seconds:.2f} s, {len(again)} {[round(w.seconds, 2) for w in again]}")  # noqa: T201
    assert first.seconds >= BANK_SECONDS
    assert all(wait.seconds < BANK_SECONDS for wait in again)
    assert {wait.status for wait in (*again, first)} == {302}
    assert {wait.location for wait in again} == {f"{RETURN_URL}?payment_intent={paid['id']}"}
    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert Authorization.objects.count() == 1


def test_two_seconds_are_the_most_that_a_second_press_waits() -> None:
    assert authentication.SECOND_ARRIVAL_WAITS_SECONDS <= 2
