"""Captures, cancellations and authentications that end otherwise than anybody hoped."""

from typing import Any

import pytest

from payments import lifecycle, settlement
from tests.bank_transport import BankTransport
from tests.books import captured_by_bank
from tests.client import ApiClient
from tests.factories import RETURN_URL, confirmation, payment, three_d_secure
from tests.sweeper import Died, dies, leases_run_out, sweep_after
from tests.test_audit import audit
from tests.threeds import challenged
from tests.walks import PATH, Walk

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SOFT_DECLINED, CHARGED = "4000002760003184", "4000001100000017"
CAPTURE_FAILS, NOTHING_IS_RELEASED = "4000001100000066", "4000001100000074"


@pytest.fixture(autouse=True)
def _books_agree(acme: ApiClient, bank: BankTransport) -> Any:
    yield
    bank.fault = None
    status, said = audit()
    assert status == 0, said


@pytest.fixture
def walk(acme: ApiClient, bank: BankTransport) -> Walk:
    return Walk(acme, bank)


# --- Requests that die ------------------------------------------------------------------------


def test_a_soft_decline_that_a_retry_hears_of_too_late_fails_the_payment(
    acme: ApiClient, bank: BankTransport
) -> None:
    body = payment(SOFT_DECLINED, return_url=RETURN_URL)
    with dies(lifecycle, "conclude"), pytest.raises(Died):
        acme.post(PATH, body, idempotency_key="k")
    leases_run_out()
    bank.fault = "delay"
    sweep_after(10)  # From here on the payment is `processing`.
    bank.fault = None

    answer = acme.post(PATH, body, idempotency_key="k")

    assert (answer.status, answer["status"]) == (200, "requires_payment_method")
    assert answer["last_payment_error"]["code"] == "authentication_required"


def test_a_confirm_that_died_while_asking_about_the_attempt_before_is_made_by_its_retry(
    acme: ApiClient, bank: BankTransport
) -> None:
    path = f"{PATH}/{challenged(acme)['id']}/confirm"
    sent = confirmation(**three_d_secure("none"))
    bank.fault = "delay"
    with dies(settlement, "settle"), pytest.raises(Died):
        acme.post(path, sent, idempotency_key="k")
    leases_run_out()
    bank.fault = None

    answer = acme.post(path, sent, idempotency_key="k")

    assert answer["status"] == "succeeded"
    assert captured_by_bank(acme) == 12500
