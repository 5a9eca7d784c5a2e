"""A request stands still until its lease and its time are over, and others do its work meanwhile.

Its own conclusions are about itself alone: it charges nobody twice, ends nothing that others have
begun since, and gives back no lease and no key but its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction

from acquirers.conversation import leases
from acquirers.outcomes import Outcome
from api.idempotency import claims
from core import context
from core.errors import LockTimeout
from merchants import accounts
from merchants.models import IdempotencyKey, Merchant, NonSecureLimit
from payments.bank import attempts, authorization, modifications
from payments.intents import non_secure
from payments.intents.models import Attempt, PaymentIntent
from testbank import behaviours
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import Answer, ApiClient
from tests.stage.encounters import MANUAL, OTHER_CARD, PATH, SECURELY, STARTS
from tests.stage.factories import confirmation, payment, sealed_card, unconfirmed
from tests.stage.overtaking import Road
from tests.stage.sweeper import Died, dies, leases_run_out, on_one_thread_each, sweep_after
from tests.stage.threeds import bring, challenged, decide
from vault import cvc as vault_cvc

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

CHARGED_IN_SILENCE, CAPTURE_FAILS = "4000001100000017", "4000001100000066"
DAY = 86_400


@pytest.fixture
def road() -> Iterator[Road]:
    road = Road()
    with on_one_thread_each():
        yield road
    road.close()


@pytest.fixture
def asleep(road: Road, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let a function stand still once before it does its work, past lease and budget."""

    def fall_asleep(module: Any, name: str, *, meanwhile: Callable[[], Any]) -> None:
        real = getattr(module, name)

        def wake_too_late(*arguments: Any, **options: Any) -> Any:
            monkeypatch.setattr(module, name, real)
            leases_run_out()
            road.aside(meanwhile)
            context.current().deadline = 0
            return real(*arguments, **options)

        monkeypatch.setattr(module, name, wake_too_late)

    return fall_asleep


def retry(shop: ApiClient, path: str, body: dict[str, Any]) -> Answer:
    return shop.twin().post(path, body, idempotency_key="k")


@pytest.mark.at_the_sandbox("nothing is sent again to other banks")
def test_a_payment_that_its_retry_has_sent_is_not_charged_again(
    acme: ApiClient, bank: BankTransport, asleep: Callable[..., None]
) -> None:
    body = payment(CHARGED_IN_SILENCE)
    asleep(authorization, "authorize", meanwhile=lambda: retry(acme, PATH, body))

    late = acme.post(PATH, body, idempotency_key="k")

    assert late["status"] == "processing"
    again = acme.post(f"{PATH}/{late['id']}/confirm", confirmation())
    assert again.refusal == (400, "payment_intent_unexpected_state", None)
    sweep_after(DAY)
    assert captured_by_bank(acme) == acme.pending() == 12500


@pytest.mark.parametrize(("action", "end"), [("capture", "succeeded"), ("cancel", "canceled")])
@pytest.mark.at_the_sandbox("nothing is sent again to other banks")
def test_what_its_retry_has_asked_of_the_bank_is_neither_forgotten_nor_undone(
    action: str, end: str, acme: ApiClient, bank: BankTransport, asleep: Callable[..., None]
) -> None:
    path = f"{PATH}/{acme.pay(**MANUAL)['id']}/{action}"

    def and_hear_nothing() -> None:
        bank.fault = "delay"
        retry(acme, path, {})
        bank.fault = None

    asleep(modifications, "_order", meanwhile=and_hear_nothing)

    late = acme.post(path, {}, idempotency_key="k")

    assert (late.status, IdempotencyKey.objects.count()) == (200, 1)
    sweep_after(60)
    assert acme.payment(late["id"])["status"] == end
    assert (bank_books.order().state == "voided") == (end == "canceled")


def test_a_retry_that_finds_no_record_sends_nothing_for_what_has_ended_since(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dies(authorization, "authorize"), pytest.raises(Died):
        acme.post(PATH, payment(), idempotency_key="k")
    leases_run_out()
    ask = attempts.KIND.ask

    def ask_and_stand_still(attempt: Attempt) -> Outcome:
        monkeypatch.setattr(attempts.KIND, "ask", ask)
        outcome = ask(attempt)
        leases_run_out()
        for _ in range(4):
            sweep_after(DAY)
        return outcome

    monkeypatch.setattr(attempts.KIND, "ask", ask_and_stand_still)

    answer = acme.post(PATH, payment(), idempotency_key="k")

    assert answer["last_payment_error"]["code"] == "processing_error"
    assert len(bank_books.orders()) == 0


@pytest.mark.at_the_sandbox("no call begins at other banks")
def test_the_code_of_one_card_is_not_held_for_another(
    acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    body = unconfirmed()
    with dies(vault_cvc, "hold"), pytest.raises(Died):
        acme.post(PATH, body, idempotency_key="k")
    path = f"{PATH}/{PaymentIntent.objects.get().id}/confirm"

    with road.overtaken(1, lambda: retry(acme, PATH, body)):
        acme.post(path, confirmation(OTHER_CARD, **SECURELY))

    assert road.passed[1] == "before the bank"
    assert vault_cvc.look(Attempt.objects.get().sealed_card_id) is None
    missing = "payment_method_data[card][cvc]"
    assert acme.post(path).refusal == (400, "parameter_missing", missing)


@pytest.mark.at_the_sandbox("changes the test bank's cards in this process")
def test_a_release_that_has_ended_since_it_was_found_does_not_give_captured_money_back(
    acme: ApiClient, bank: BankTransport, road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses = behaviours.CAPTURE_FAILS
    stubborn = replace(refuses, refuses_void=True)
    monkeypatch.setitem(behaviours.BY_NAME, refuses.name, stubborn)
    path = f"{PATH}/{acme.pay(CAPTURE_FAILS, **MANUAL)['id']}"
    with dies(modifications, "_void"), pytest.raises(Died):
        acme.post(f"{path}/capture")
    leases_run_out()
    bank.fault = "delay"
    sweep_after(10)
    bank.fault = None

    def capture_after_all() -> None:
        sweep_after(60)  # The bank refuses the release too.
        monkeypatch.setitem(behaviours.BY_NAME, refuses.name, behaviours.APPROVE)
        assert acme.twin().post(f"{path}/capture")["status"] == "succeeded"

    with road.overtaken(0, capture_after_all):
        answer = acme.post(f"{path}/cancel")

    assert road.passed[0] == "before the lease"
    assert answer.refusal == (400, "payment_intent_unexpected_state", None)
    assert bank_books.order().state == "authorized"
    assert captured_by_bank(acme) == acme.pending() == 12500


@pytest.mark.parametrize("button", ["Approve", "Reject"])
def test_a_confirm_that_tried_no_card_is_refused(
    button: str, acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    paid = challenged(acme)
    fields = decide(paid, button).fields
    path, body = f"{PATH}/{paid['id']}/confirm", confirmation(OTHER_CARD)

    bank.fault = "delay"
    with road.overtaken(1, lambda: bring(fields)):
        answer = acme.post(path, body, idempotency_key="k")
    bank.fault = None

    assert (road.passed[1], answer.status) == (
        "before the bank",
        409 if button == "Reject" else 200,
    )
    if button == "Reject":
        assert retry(acme, path, body)["status"] == "requires_action"  # With the other card.


def test_a_merchant_who_may_take_no_more_payments_begins_none(
    acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    paid = challenged(acme)

    with road.overtaken(1, lambda: Merchant.objects.update(charges_enabled=False)):
        answer = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation(OTHER_CARD))

    assert answer.refusal == (403, "merchant_restricted", None)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("card", {"bin": "555555", "last4": "4444", "domestic": False, "card_type": "credit"}),
        ("billing_details", {"name": "Somebody else"}),
        ("return_url", "https://acme.example/another"),
        ("three_d_secure_requested", "required"),
        ("installments", 3),
        ("attempt_ids", ["att_other"]),
        ("sealed_card_id", None),
    ],
)
def test_a_confirm_decides_on_the_locked_row(
    name: str, other: Any, acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    payment_id = acme.post(PATH, unconfirmed())["id"]
    other = other or sealed_card(acme.merchant).token

    with road.overtaken(0, lambda: PaymentIntent.objects.update(**{name: other})):
        answer = acme.post(f"{PATH}/{payment_id}/confirm", {})

    assert answer.refusal == (409, "lock_timeout", None)
    assert bank.seen == []


def test_a_payers_answer_to_an_earlier_question_is_not_used(
    acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    payment = STARTS["payer away"](acme)
    asked_anew = {"flow": "challenge", "transaction_id": "tx_other"}

    with road.overtaken(0, lambda: Attempt.objects.update(authentication=asked_anew)):
        bring(payment.fields)

    assert acme.payment(payment.id)["status"] == "requires_action"


def test_a_lease_that_the_payer_took_in_between_is_theirs(
    acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    payment, attempt, seen = STARTS["payer away"](acme), Attempt.objects.get(), []

    def come_back() -> None:
        with dies(authorization, "authorize"), pytest.raises(Died):
            bring(payment.fields)

    def after_the_update(execute: Any, sql: str, *rest: Any) -> Any:
        done = execute(sql, *rest)
        if sql.startswith("UPDATE") and "lease_until" in sql and not seen:
            seen.append(sql)
            road.aside(come_back)
        return done

    with (
        connection.execute_wrapper(after_the_update),
        pytest.raises(LockTimeout),
        leases.held(attempt),
    ):
        pass

    assert Attempt.objects.get().lease_until is not None


def test_who_held_a_lease_before_does_not_give_it_back_for_the_next(
    acme: ApiClient, bank: BankTransport
) -> None:
    STARTS["payer away"](acme)
    ours = leases.take(Attempt.objects.get())
    leases_run_out()
    theirs = leases.take(Attempt.objects.get())

    leases.give_back(ours)

    assert Attempt.objects.get().lease_until == theirs.lease_until


@pytest.mark.at_the_sandbox("nothing is sent again to other banks")
def test_the_sweeper_does_not_wait_for_the_key_of_a_retry(
    acme: ApiClient, bank: BankTransport, road: Road
) -> None:
    with dies(authorization, "authorize", afterwards=True), pytest.raises(Died):
        acme.post(PATH, payment(), idempotency_key="k")
    leases_run_out()
    seen = []

    def sweeping() -> None:
        leases_run_out()
        sweep_after(15)
        seen.append(PaymentIntent.objects.get().status)

    with road.overtaken(3, sweeping):
        retry_answer = acme.post(PATH, payment(), idempotency_key="k")

    assert (road.passed[3], seen) == ("before the lock", ["succeeded"])
    assert retry_answer["status"] == "succeeded"


def test_a_key_whose_request_is_done_is_not_waited_for(
    acme: ApiClient, bank: BankTransport, asleep: Callable[..., None]
) -> None:
    asleep(accounts, "require_charges", meanwhile=lambda: retry(acme, PATH, unconfirmed()))

    late = acme.post(PATH, unconfirmed(), idempotency_key="k")

    assert late.refusal == (409, "idempotency_key_in_use", None)
    assert late.headers["Retry-After"] == "1"


def test_a_key_that_became_another_requests_is_not_taken_over(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dies(authorization, "authorize"), pytest.raises(Died):
        acme.post(PATH, payment(), idempotency_key="k")
    leases_run_out()
    take_over = claims._take_over

    def after_another(claim: Any) -> None:
        IdempotencyKey.objects.update(fingerprint=b"another".ljust(32))
        take_over(claim)

    monkeypatch.setattr(claims, "_take_over", after_another)

    assert retry(acme, PATH, payment()).refusal == (400, "idempotency_key_reused", None)


def test_a_limit_is_read_again_once_it_is_locked(acme: ApiClient, road: Road) -> None:
    limits = NonSecureLimit.objects.filter(merchant=acme.merchant, currency="try")
    limits.update(per_day=100_000)
    seen = []

    def lowered(execute: Any, sql: str, *rest: Any) -> Any:
        done = execute(sql, *rest)
        if "nonsecurelimit" in sql and not seen:
            seen.append(sql)
            road.aside(lambda: limits.update(per_payment=1))
        return done

    with connection.execute_wrapper(lowered), transaction.atomic():
        assert non_secure.allow(acme.merchant, amount=12500, currency="try") is None
