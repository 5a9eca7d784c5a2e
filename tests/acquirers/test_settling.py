"""The one conversation with a bank: recovery points, leases and late words of every kind."""

from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError

from acquirers.conversation import leases, settling
from acquirers.outcomes import Answer, BankOperation, Finding, OperationKind, Outcome, Standing
from merchants.models import IdempotencyKey
from payments.bank import attempts, modifications
from payments.intents.models import Attempt, Modification
from payments.payer import returns
from payments.refunds.models import Refund
from tests.payments.intents.test_handoffs import come_back
from tests.stage.audited import audit
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_orders import authorize
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.doors import MANUAL
from tests.stage.factories import GOOD_CARD, RETURN_URL, payment
from tests.stage.form_gateway import FormGateway, form_bank
from tests.stage.sweeper import Died, dies, leases_run_out, sweep_after
from tests.stage.threeds import challenged

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
CAPTURE_FAILS, SETTLES_AT_ONCE = "4000001100000066", "4000000000007726"
ASKS_FOR_3DS = "4000002760003184"


def is_finished() -> bool:
    return IdempotencyKey.objects.get(key="k").is_finished


def held(acme: ApiClient, **facts: Any) -> str:
    return acme.post(PATH, payment(**MANUAL, **facts))["id"]


def capture(acme: ApiClient, payment_id: str) -> Any:
    return acme.post(f"{PATH}/{payment_id}/capture", {}, idempotency_key="k")


# --- Recovery points --------------------------------------------------------------------------


def test_a_request_is_not_finished_while_its_void_goes_on_as_a_refund(
    acme: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    paid = acme.pay(SETTLES_AT_ONCE)["id"]

    with dies(settling, "go_on"), pytest.raises(Died):
        acme.refund(paid, None, idempotency_key="k")

    assert not is_finished()
    assert Refund.objects.get().lease_until is not None  # No sweeper comes between.
    leases_run_out()
    assert acme.refund(paid, None, idempotency_key="k")["method"] == "refund"
    assert Refund.objects.get().sent_at is not None


def test_a_request_is_not_finished_while_its_refused_capture_is_released(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.post(PATH, payment(CAPTURE_FAILS, **MANUAL))["id"]

    with dies(settling, "go_on"), pytest.raises(Died):
        capture(acme, paid)

    assert not is_finished()
    leases_run_out()
    assert capture(acme, paid)["status"] == "requires_payment_method"


def test_a_retry_that_learns_of_the_refusal_and_dies_is_not_finished(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.post(PATH, payment(CAPTURE_FAILS, **MANUAL))["id"]
    with dies(settling, "settle"), pytest.raises(Died):
        capture(acme, paid)
    leases_run_out()

    with dies(modifications, "_void"), pytest.raises(Died):
        capture(acme, paid)

    assert not is_finished()


def test_an_asker_who_comes_second_leaves_the_request_to_the_release_that_is_under_way(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = acme.post(PATH, payment(CAPTURE_FAILS, **MANUAL))["id"]
    real = settling.settle

    def after_another(*given: Any, **options: Any) -> Any:
        monkeypatch.setattr(settling, "settle", real)
        real(*given, goes_on=True)  # Another asker has applied the refusal, and has the release.
        real(*given, **options)
        raise Died

    monkeypatch.setattr(settling, "settle", after_another)
    with pytest.raises(Died):
        capture(acme, paid)

    assert Modification.objects.get(status="processing").kind == "fallback"
    assert not is_finished()


@pytest.mark.parametrize("door", ["capture", "refund"])
def test_a_request_is_finished_in_the_transaction_of_its_outcome(
    door: str, acme: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    paid = acme.pay()["id"] if door == "refund" else held(acme)
    bank.fault = "lost" if door == "refund" else None

    with dies(settling, "settle", afterwards=True), pytest.raises(Died):
        acme.refund(paid, 4000, idempotency_key="k") if door == "refund" else capture(acme, paid)

    assert is_finished()


@pytest.mark.parametrize("door", ["capture", "cancel", "refund"])
def test_a_database_that_is_lost_after_the_bank_is_a_500(
    door: str, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = acme.pay()["id"] if door == "refund" else held(acme)

    def gone(*_given: Any, **_options: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(settling, "settle", gone)
    is_refund = door == "refund"
    answer = acme.refund(paid, 100) if is_refund else acme.post(f"{PATH}/{paid}/{door}", {})

    assert answer.refusal == (500, "internal_error", None)


# --- Askers and payers ------------------------------------------------------------------------


def test_the_sweeper_begins_no_3d_secure(acme: ApiClient, bank: BankTransport) -> None:
    with dies(settling, "settle"), pytest.raises(Died):
        acme.post(PATH, payment(ASKS_FOR_3DS, return_url=RETURN_URL), idempotency_key="k")
    leases_run_out()

    sweep_after(10)

    assert [attempt.status for attempt in Attempt.objects.all()] == ["failed"]


def test_a_payer_who_is_back_is_not_declined_by_the_question_before(
    acme: ApiClient, bank: BankTransport
) -> None:
    with form_bank():
        paid = challenged(acme)
        asked = leases.take(Attempt.objects.get())
        assert asked is not None
        with dies(returns, "_outcome"), pytest.raises(Died):
            come_back(paid, {"oid": asked.acquirer_reference, "model": "3d_pay"})

        settling.settle(attempts.KIND, asked, Outcome(Answer.DECLINED, is_from_inquiry=True))

    assert Attempt.objects.get().status == "processing"


def test_a_charge_after_the_sweepers_question_is_looked_for_and_given_back(
    acme: ApiClient, bank: BankTransport
) -> None:
    """The bank says slowly that the payer's first card was declined; they pay with another."""
    with form_bank():
        paid, asked = challenged(acme), []
        reference, merchant = Attempt.objects.values_list("acquirer_reference", "merchant_id").get()
        real = FormGateway.inquire

        def inquire(gateway: FormGateway, order: Any) -> Standing:
            asked.append(order)
            if len(asked) > 1:
                return real(gateway, order)
            assert acme.post(f"{PATH}/{paid['id']}/cancel", {})["status"] == "canceled"
            authorize(GOOD_CARD, reference=reference, merchant=merchant, capture=True)
            come_back(paid, {"oid": reference, "model": "3d_pay"})
            declined = BankOperation(OperationKind.AUTHORIZATION, Answer.DECLINED)
            return Standing(Finding.FOUND, (declined,), response_code="05")

        with patch.object(FormGateway, "inquire", inquire):
            sweep_after(3700)
            for _ in range(4):
                sweep_after(700)

        assert [(row.kind, row.status) for row in Modification.objects.all()] == [
            ("reverse", "succeeded")
        ]
        assert audit()[0] == 0
