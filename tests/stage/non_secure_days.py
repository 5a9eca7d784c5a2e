"""A merchant with a limit per day without 3-D Secure, and the days that tests walk through."""

from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from core import clock
from merchants import accounts
from payments.bank import authorization
from payments.intents.models import Attempt, NonSecureDay
from tests.stage.client import ApiClient
from tests.stage.factories import RETURN_URL, payment
from tests.stage.threads import at_once

PATH = "/v1/payment_intents"
ONE = 12_500  # Of a payment, in minor units.
ISTANBUL = ZoneInfo("Europe/Istanbul")


def limit(client: ApiClient, per_day: int | None, currency: str = "try") -> None:
    limits = {currency: {"per_payment": None, "per_day": per_day}}
    accounts.change(client.merchant, {"non_secure_limits": limits}, reason="A test of limits.")


def taken() -> int:
    return NonSecureDay.objects.get().taken


def pay(client: ApiClient, number: str = "4242424242424242", **changes: Any) -> str:
    return client.pay(number, return_url=RETURN_URL, **changes)["status"]


def pay_at_once(client: ApiClient, count: int) -> int:
    """Pay from many threads; return how many succeeded. The others go to 3-D Secure."""
    twins = [client.twin() for _ in range(count)]
    body = payment(return_url=RETURN_URL)
    answers = at_once([lambda c=c: c.post(PATH, body) for c in twins])
    assert {answer.status for answer in answers} == {200}
    return sum(answer["status"] == "succeeded" for answer in answers)


def advance_to(hour: int, minute: int, zone: ZoneInfo = ISTANBUL) -> None:
    """Move the clock to the next time that a place's clocks show this."""
    here = clock.now().astimezone(zone)
    wanted = here.replace(hour=hour, minute=minute, second=0)
    clock.advance(wanted + timedelta(days=wanted <= here) - here)


def today(zone: ZoneInfo = ISTANBUL) -> date:
    return clock.now().astimezone(zone).date()


def left_open(client: ApiClient) -> Attempt:
    """Return an attempt whose bank has not been asked: its process died before that."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(authorization, "authorize", crash)
        assert client.post(PATH, payment()).status == 500
    return Attempt.objects.get(status="processing")


def crash(*_: object, **__: object) -> None:
    raise RuntimeError("a bug")
