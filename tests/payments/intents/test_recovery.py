"""A request that dies: its idempotency key finds its work again, and finishes it once (I8)."""

import subprocess
import sys
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.utils import timezone

from acquirers.conversation import settling
from acquirers.sandbox.gateway import SandboxGateway
from api import idempotency
from core import clock
from events.models import Event
from merchants.models import IdempotencyKey
from payments.bank import authorization, modifications
from payments.charging import recovery
from payments.intents.models import Attempt, Modification, PaymentIntent
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport, call_bank
from tests.stage.books import captured_by_bank
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import DECLINED_CARD, confirmation, payment, payment_method, unconfirmed
from tests.stage.sweeper import Died, dies, leases_run_out, sweep, sweep_after

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
SAYS_ITS_NAME = "from core import processes; print(processes.own_name())"
IN_USE = (409, "idempotency_key_in_use", None)
BEFORE_THE_BANK = (authorization, "authorize", False)
AFTER_THE_BANK = (authorization, "authorize", True)
AFTER_THE_APPLYING = (settling, "apply_with_retry", True)
WHILE_ANSWERING = (idempotency, "kept_answer", False)
EVERYWHERE = [BEFORE_THE_BANK, AFTER_THE_BANK, AFTER_THE_APPLYING, WHILE_ANSWERING]
NAMES = ["before the bank", "after the bank", "after the applying", "while answering"]


def pay(client: ApiClient, **changes: Any) -> Answer:
    return client.post(PATH, payment(**changes), idempotency_key="order 7")


def pay_and_die(client: ApiClient, where: tuple, path: str = PATH, body: Any = None) -> None:
    module, name, afterwards = where
    with dies(module, name, afterwards=afterwards), pytest.raises(Died):
        client.post(path, body or payment(), idempotency_key="order 7")


def told(client: ApiClient) -> list[str]:
    intent = PaymentIntent.objects.get()
    return [event["type"].removeprefix("payment_intent.") for event in client.events_of(intent.id)]


def assert_charged_once(client: ApiClient) -> None:
    assert len(bank_books.orders()) == 1
    assert captured_by_bank(client) == client.pending() == 12500
    assert PaymentIntent.objects.get().status == "succeeded"


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("where", EVERYWHERE, ids=NAMES)
def test_a_retry_finishes_what_died_and_charges_once(
    where: tuple, acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, where)
    leases_run_out()

    answer = pay(acme)

    if where == EVERYWHERE[0] and not bank.repeats:
        # Nothing is sent again to such a bank: it is asked, until "no record" is believed.
        assert (answer["status"], bank_books.orders()) == ("processing", [])
        return
    assert (answer.status, answer["status"]) == (200, "succeeded")
    assert_charged_once(acme)
    assert told(acme) == ["created", "succeeded"]
    assert pay(acme).response.content == answer.response.content


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("where", EVERYWHERE[1:], ids=NAMES[1:])
def test_without_a_retry_the_sweeper_finishes_it(
    where: tuple, acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, where)
    leases_run_out()

    sweep()

    assert_charged_once(acme)
    assert told(acme) == ["created", "succeeded"]


def test_without_a_retry_the_sweeper_charges_nobody_anew(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, BEFORE_THE_BANK)
    leases_run_out()

    for wait in (0, 3600, 3600, 86400):
        sweep_after(wait)

    assert told(acme) == ["created", "processing", "payment_failed"]
    assert len(bank_books.orders()) == acme.pending() == 0
    error = acme.payment(PaymentIntent.objects.get().id)["last_payment_error"]
    assert (error["type"], error["code"]) == ("api_error", "processing_error")


@pytest.mark.parametrize("where", EVERYWHERE[:2], ids=NAMES[:2])
def test_while_the_first_request_may_live_its_key_is_in_use(
    where: tuple, acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, where)
    asked = list(bank.seen)

    answer = pay(acme)

    assert answer.refusal == IN_USE
    assert answer.error["type"] == "idempotency_error"
    assert bank.seen == asked


def test_while_the_first_request_runs_the_retry_is_to_come_again_in_two_seconds(
    acme: ApiClient, bank: BankTransport
) -> None:
    retried: list[Answer] = []
    # In a context of its own, as in another thread.
    bank.meanwhile = lambda: retried.append(copy_context().run(pay, acme.twin()))

    assert pay(acme)["status"] == "succeeded"

    [retry] = retried
    assert (retry.refusal, retry.headers["Retry-After"]) == (IN_USE, "2")


def test_after_a_crash_the_retry_is_told_the_rest_of_the_lease(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, BEFORE_THE_BANK)
    started = subprocess.run(
        [sys.executable, "-c", SAYS_ITS_NAME], capture_output=True, text=True, input="", check=True
    )
    IdempotencyKey.objects.update(process=started.stdout.strip())

    answer = pay(acme)

    assert answer.refusal == IN_USE
    assert 50 <= int(answer.headers["Retry-After"]) <= 60


def test_a_request_that_must_be_over_by_its_deadline_counts_as_dead(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, BEFORE_THE_BANK)
    IdempotencyKey.objects.update(lease_until=timezone.now() + timedelta(seconds=14))

    assert 10 <= int(pay(acme).headers["Retry-After"]) <= 14


def test_a_retry_hears_at_once_how_the_sweeper_ended_what_died(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, AFTER_THE_BANK)
    the_bank_may_be_asked()

    sweep()

    assert pay(acme)["status"] == "succeeded"
    assert_charged_once(acme)


def test_a_retry_hears_at_once_how_the_sweeper_ended_a_capture(
    acme: ApiClient, bank: BankTransport
) -> None:
    path = f"{PATH}/{acme.pay(capture_method='manual')['id']}/capture"
    pay_and_die(acme, (modifications, "_order", True), path, {"amount_to_capture": None})
    the_bank_may_be_asked()

    sweep()

    answer = acme.post(path, {"amount_to_capture": None}, idempotency_key="order 7")
    assert (answer.status, answer["status"]) == (200, "succeeded")


def test_a_retry_waits_while_the_sweeper_has_not_learned_how_it_ended(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, BEFORE_THE_BANK)
    the_bank_may_be_asked()

    sweep()

    assert pay(acme).refusal == IN_USE


def test_a_closed_attempt_is_not_sent_although_it_was_open_when_it_was_found(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, BEFORE_THE_BANK)
    leases_run_out()
    found = recovery._open_attempts
    ended = lambda *of: [found(*of), [sweep_after(86_400) for _ in range(4)]][0]  # noqa: E731

    with patch.object(recovery, "_open_attempts", ended):
        answer = pay(acme)

    assert answer["last_payment_error"]["code"] == "processing_error"
    assert len(bank_books.orders()) == 0


def the_bank_may_be_asked() -> None:
    """Let the dead request's lease at the bank run out, and not that of its key."""
    for rows in (Attempt.objects, Modification.objects):
        rows.update(lease_until=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("where", EVERYWHERE[2:], ids=NAMES[2:])
def test_once_resolved_a_retry_need_not_wait(
    where: tuple, acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, where)

    assert pay(acme)["status"] == "succeeded"
    assert_charged_once(acme)


def test_a_retry_is_answered_as_the_first_would_have_been(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, AFTER_THE_BANK)
    leases_run_out()
    first_request = Attempt.objects.get().request_id
    pay(acme)

    replay = pay(acme)

    assert replay.headers["Original-Request"] == first_request
    assert replay.headers["Idempotent-Replayed"] == "true"
    assert set(Event.objects.values_list("request_id", flat=True)) == {first_request}


def test_another_request_cannot_take_a_dead_ones_key(acme: ApiClient, bank: BankTransport) -> None:
    pay_and_die(acme, BEFORE_THE_BANK)
    leases_run_out()

    assert pay(acme, amount=99).refusal == (400, "idempotency_key_reused", None)


def test_what_the_bank_declined_is_not_sent_again(acme: ApiClient, bank: BankTransport) -> None:
    body = payment(DECLINED_CARD)
    pay_and_die(acme, AFTER_THE_BANK, body=body)
    leases_run_out()

    answer = acme.post(PATH, body, idempotency_key="order 7")

    assert answer["last_payment_error"]["decline_code"] == "generic_decline"
    assert len(bank_books.orders()) == 1


def test_a_request_that_died_with_its_answer_stored_is_answered_so_whatever_came_after(
    acme: ApiClient, bank: BankTransport
) -> None:
    created = acme.post(PATH, unconfirmed(DECLINED_CARD))
    path = f"{PATH}/{created['id']}/confirm"
    pay_and_die(acme, AFTER_THE_APPLYING, path, confirmation(DECLINED_CARD))
    acme.post(path, confirmation())

    answer = acme.post(path, confirmation(DECLINED_CARD), idempotency_key="order 7")

    # The request's own, which was stored with its outcome.
    assert answer["status"] == "requires_payment_method"
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert sum(one.captured_amount > 0 for one in bank_books.orders()) == 1


def test_a_bank_that_stays_silent_leaves_the_retry_processing(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay_and_die(acme, AFTER_THE_BANK)
    leases_run_out()
    bank.fault = "delay"

    answer = pay(acme)

    assert answer["status"] == "processing"
    bank.fault = None
    sweep_after(10)
    assert_charged_once(acme)


def test_a_stored_card_is_not_sent_again_without_its_cvc(
    acme: ApiClient, bank: BankTransport
) -> None:
    path = f"{PATH}/{acme.post(PATH, unconfirmed())['id']}/confirm"
    pay_and_die(acme, BEFORE_THE_BANK, path, {"return_url": None})
    leases_run_out()

    answer = acme.post(path, {"return_url": None}, idempotency_key="order 7")

    assert answer["status"] == "processing"
    assert len(bank_books.orders()) == 0


def test_a_wrong_cvc_in_the_retry_is_not_sent(acme: ApiClient, bank: BankTransport) -> None:
    pay_and_die(acme, BEFORE_THE_BANK)
    leases_run_out()

    answer = pay(acme, payment_method_data=payment_method(cvc="12"))

    assert answer["status"] == "processing"
    assert len(bank_books.orders()) == 0


def test_a_bank_whose_references_are_not_idempotent_gets_nothing_twice(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay_and_die(acme, BEFORE_THE_BANK)
    leases_run_out()
    once_only = replace(SandboxGateway.capabilities, references_are_idempotent=False)
    monkeypatch.setattr(SandboxGateway, "capabilities", once_only)

    assert pay(acme)["status"] == "processing"
    assert len(bank_books.orders()) == 0


def test_a_retry_meets_the_sweeper(acme: ApiClient, bank: BankTransport) -> None:
    pay_and_die(acme, AFTER_THE_BANK)
    leases_run_out()
    Attempt.objects.update(lease_until=timezone.now() + timedelta(seconds=30))

    assert pay(acme).refusal == IN_USE

    leases_run_out()
    assert pay(acme)["status"] == "succeeded"


def test_an_authentication_that_was_to_begin_begins_with_the_retry(
    acme: ApiClient, bank: BankTransport
) -> None:
    body = payment("4766620000000001", return_url="https://acme.example/back")
    pay_and_die(acme, (settling, "apply_with_retry", False), body=body)
    leases_run_out()

    answer = acme.post(PATH, body, idempotency_key="order 7")

    assert answer["status"] == "requires_action"
    assert len(bank_books.orders()) == 0


def test_a_crash_of_ours_lets_the_retry_in_at_once(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("acquirers.conversation.settling.settle", _crash)
        assert pay(acme).status == 500

    answer = pay(acme)

    assert answer["status"] == "succeeded"
    assert "Idempotent-Replayed" not in answer.headers
    assert_charged_once(acme)


def test_the_first_request_may_wake_up_after_all(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, of_the_retry = settling.apply_with_retry, []

    def slept(attempt: Attempt, closing: Callable[[], PaymentIntent]) -> PaymentIntent:
        monkeypatch.setattr(settling, "apply_with_retry", real)
        leases_run_out()
        of_the_retry.append(acme.twin().post(PATH, payment(), idempotency_key="order 7"))
        return real(attempt, closing)

    monkeypatch.setattr(settling, "apply_with_retry", slept)

    late = pay(acme)

    assert late.response.content == of_the_retry[0].response.content
    assert_charged_once(acme)
    assert told(acme) == ["created", "succeeded"]


def test_the_sandboxes_clock_does_not_end_a_lease(acme: ApiClient, bank: BankTransport) -> None:
    pay_and_die(acme, AFTER_THE_BANK)
    clock.advance(timedelta(days=30))

    assert pay(acme).refusal == IN_USE
    sweep()
    assert PaymentIntent.objects.get().status == "requires_confirmation"


def _crash(*_arguments: object) -> None:
    raise RuntimeError("a bug")


# --- What a send again proves, and what it does not -------------------------------------------


@pytest.mark.at_the_sandbox("nothing is sent again to other banks")
def test_a_send_again_that_does_not_leave_says_nothing_about_the_first(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = first_send_is_slow(acme, bank, monkeypatch)
    bank.fault_of_posts = "cut_before"

    answer = pay(acme)

    assert answer["status"] == "processing"
    bank.fault_of_posts = None
    call_bank(*late)  # The bank works off the first send after all.
    path = f"{PATH}/{answer['id']}/confirm"
    assert acme.post(path, confirmation()).refusal[1] == "payment_intent_unexpected_state"
    sweep_after(10)
    assert_charged_once(acme)


def first_send_is_slow(
    client: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str, bytes]:
    """Pay with a request that is on its way to the bank when everything else has failed."""
    bank.fault = "lost"
    with monkeypatch.context() as patch:
        patch.setattr("acquirers.conversation.settling.settle", _crash)
        assert pay(client).status == 500
    bank.fault = None
    return bank.lost[-1]
