"""A client that hangs up before its request was begun: nothing is, however late it leaves."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings

from acquirers import slots
from core import arrival
from core.arrival import Arrival
from core.traffic import traffic
from merchants.models import IdempotencyKey, RequestLog
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.refusals import raw
from tests.stage.threeds import bring, challenged, decide, shown

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@contextmanager
def arriving(
    *, waited_seconds: float = 0.0, has_hung_up: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    noted = arrival.note(Arrival(time.monotonic() - waited_seconds, waited_seconds, has_hung_up))
    try:
        yield
    finally:
        arrival.forget(noted)


def while_it_waited_for_a_slot() -> bool:
    return slots.places().in_use > 0


def after(looks: int) -> Callable[[], bool]:
    """Return a client that is there for so many looks."""
    left = iter([False] * looks)
    return lambda: next(left, True)


def test_one_that_leaves_while_it_waits_for_the_bank_s_turn_is_not_charged(
    acme: ApiClient, bank: BankTransport
) -> None:
    with arriving(has_hung_up=while_it_waited_for_a_slot):
        answer = acme.pay()

    assert answer.refusal == (503, "overloaded", None)
    assert bank.seen == []
    assert not PaymentIntent.objects.exists()
    assert slots.places().in_use == 0


@pytest.mark.parametrize("door", ["confirm", "capture", "cancel"])
def test_every_door_that_asks_the_bank_looks_again(
    acme: ApiClient, bank: BankTransport, door: str
) -> None:
    confirmed = {"capture": True, "cancel": True}.get(door, False)
    payment = acme.pay(capture_method="manual", confirm=confirmed)
    bank.seen.clear()

    with arriving(has_hung_up=while_it_waited_for_a_slot):
        answer = acme.post(f"/v1/payment_intents/{payment['id']}/{door}")

    assert answer.refusal[:2] == (503, "overloaded")
    assert bank.seen == []
    assert acme.payment(payment["id"])["status"] == payment["status"]


def test_a_payer_who_left_may_come_back(acme: ApiClient, bank: BankTransport) -> None:
    challenge = challenged(acme)
    fields = decide(challenge, "Approve").fields

    with arriving(has_hung_up=while_it_waited_for_a_slot):
        assert bring(fields).status == 503

    assert shown(acme, challenge)["status"] == "requires_action"
    assert bring(fields).status == 302
    assert shown(acme, challenge)["status"] == "succeeded"


def test_one_that_leaves_while_its_body_is_read_leaves_its_key_free(acme: ApiClient) -> None:
    with arriving(has_hung_up=after(looks=1)):
        refused = acme.post("/v1/customers", {}, idempotency_key="one")

    assert refused.refusal == (503, "overloaded", None)
    assert not IdempotencyKey.objects.exists()
    assert not Customer.objects.exists()
    assert acme.post("/v1/customers", {}, idempotency_key="one").status == 200


def test_one_that_stays_is_served(acme: ApiClient, bank: BankTransport) -> None:
    with arriving():
        assert acme.pay()["status"] == "succeeded"


def test_one_that_leaves_while_the_bank_works_has_paid(
    acme: ApiClient, bank: BankTransport
) -> None:
    with arriving(has_hung_up=lambda: bool(bank.seen)):
        assert acme.pay()["status"] == "succeeded"


# --- Too late ---------------------------------------------------------------------------------

TOO_LATE = settings.WEB_QUEUE_SECONDS + 0.1


def test_a_request_that_comes_late_to_its_turn_has_no_row_anywhere(acme: ApiClient) -> None:
    with arriving(waited_seconds=TOO_LATE):
        answer = acme.get("/v1/balance")

    assert answer.refusal == (503, "overloaded", None)
    assert answer.headers["Retry-After"] == "1"
    assert not RequestLog.objects.exists()


def test_what_comes_late_is_counted(acme: ApiClient, caplog: pytest.LogCaptureFixture) -> None:
    traffic.tell()
    with arriving(waited_seconds=TOO_LATE):
        acme.get("/v1/balance")
    caplog.clear()

    traffic.tell()

    assert "'refused_by_age': 1" in caplog.text or '"refused_by_age": 1' in caplog.text


def test_a_payer_who_comes_back_is_never_too_late(acme: ApiClient, bank: BankTransport) -> None:
    fields = decide(challenged(acme), "Approve").fields

    with arriving(waited_seconds=TOO_LATE):
        assert bring(fields).status == 302


def test_a_health_check_is_never_too_late() -> None:
    with arriving(waited_seconds=TOO_LATE, has_hung_up=lambda: True):
        assert raw("GET", "/livez").status == 200
