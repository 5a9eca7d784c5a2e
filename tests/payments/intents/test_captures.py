"""Taking what was authorised, in full or in part (contract 3, capture)."""

from typing import Any

import pytest

from merchants import accounts
from payments.bank import modifications
from payments.intents.models import Attempt, PaymentIntent
from tests.stage import bank_books
from tests.stage.audited import audit
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank, refused
from tests.stage.client import Answer, ApiClient
from tests.stage.sweeper import Died, dies, leases_run_out, sweep_after

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
CAPTURE_FAILS, NOTHING_IS_RELEASED = "4000001100000066", "4000001100000074"
DAY = 86_400


@pytest.fixture(autouse=True)
def _books_agree(acme: ApiClient, bank: BankTransport) -> Any:
    yield
    status, said = audit()
    assert status == 0, said


def authorized(client: ApiClient, number: str = "4242424242424242", **changes: Any) -> str:
    paid = client.pay(number, capture_method="manual", **changes)
    assert paid["status"] == "requires_capture"
    return paid["id"]


def capture(
    client: ApiClient, payment_id: str, amount: int | None = None, **headers: str
) -> Answer:
    body = {} if amount is None else {"amount_to_capture": amount}
    return client.post(f"{PATH}/{payment_id}/capture", body, **headers)


def test_all_of_it_is_captured(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = authorized(acme)

    done = capture(acme, payment_id)

    assert (done.status, done["status"]) == (200, "succeeded")
    assert (done["amount_charged"], done["amount_received"], done["amount_capturable"]) == (
        12500, 12500, 0,
    )  # fmt: skip
    assert captured_by_bank(acme) == acme.pending() == 12500
    assert acme.told(payment_id) == ["created", "amount_capturable_updated", "succeeded"]


def test_a_closed_account_captures_nothing_and_may_release(
    acme: ApiClient, bank: BankTransport
) -> None:
    first, second = authorized(acme), authorized(acme)
    accounts.change(acme.merchant, {"status": "restricted"})
    assert capture(acme, first)["status"] == "succeeded"
    accounts.change(acme.merchant, {"status": "closed"})

    assert capture(acme, second).refusal == (403, "merchant_restricted", None)
    assert acme.post(f"{PATH}/{second}/cancel")["status"] == "canceled"


def test_of_a_part_the_rest_is_released(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = authorized(acme)

    done = capture(acme, payment_id, 5000)

    assert (done["amount"], done["amount_charged"], done["amount_refundable"]) == (
        12500, 5000, 5000,
    )  # fmt: skip
    assert captured_by_bank(acme) == acme.pending() == 5000
    before = acme.events_of(payment_id)[-1]["data"]["previous_attributes"]
    assert (before["amount_capturable"], before["status"]) == (12500, "requires_capture")


def test_what_cannot_be_captured_is_refused(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = authorized(acme)
    path = f"{PATH}/{payment_id}/capture"

    for amount, code in (
        (12501, "amount_too_large"),
        (0, "amount_too_small"),
        ("1", "parameter_invalid"),
    ):
        answer = refused(acme, path, {"amount_to_capture": amount}, bank=bank)
        assert answer.refusal == (400, code, "amount_to_capture")
    assert refused(acme, path, {"amount": 1}, bank=bank).refusal[1] == "parameter_unknown"


@pytest.mark.every_case("one key has one effect")
@pytest.mark.parametrize(
    ("installments", "amount", "code"),
    [(1, 12501, "amount_too_large"), (3, 5000, "partial_capture_not_allowed")],
)
def test_an_amount_that_the_payment_does_not_allow_is_refused_again_with_its_key(
    installments: int, amount: int, code: str, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    PaymentIntent.objects.update(installments=installments)
    first = capture(acme, payment_id, amount, idempotency_key="k")
    assert capture(acme, payment_id)["status"] == "succeeded"

    again = capture(acme, payment_id, amount, idempotency_key="k")

    assert first.refusal == (400, code, "amount_to_capture")
    assert again.response.content == first.response.content
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("number", ["4242424242424242", "4000000000000002", "4000001100000058"])
def test_only_what_awaits_it_is_captured(number: str, acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(number)

    answer = capture(acme, paid["id"])

    assert answer.refusal == (400, "payment_intent_unexpected_state", None)
    assert answer.error["payment_intent"]["status"] == paid["status"]


def test_a_second_capture_is_refused_and_a_repeated_one_replayed(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    first = capture(acme, payment_id, 5000, idempotency_key="k")

    assert capture(acme, payment_id, 5000, idempotency_key="k").body == first.body
    assert capture(acme, payment_id).refusal[1] == "payment_intent_unexpected_state"
    assert captured_by_bank(acme) == 5000


def test_a_refused_capture_is_released_and_the_payer_may_try_again(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme, CAPTURE_FAILS)

    answer = capture(acme, payment_id)

    assert (answer.status, answer["status"]) == (200, "requires_payment_method")
    assert answer["last_payment_error"]["code"] == "processing_error"
    assert answer["amount_capturable"] == acme.pending() == captured_by_bank(acme) == 0
    assert bank_books.order().state == "voided"
    assert acme.told(payment_id)[-1] == "payment_failed"


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
def test_after_seven_days_nothing_can_be_captured(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = authorized(acme)
    Attempt.objects.update(due_at=None)  # The sweeper has not come by yet.
    sweep_after(7 * DAY)

    assert capture(acme, payment_id).refusal == (400, "capture_expired", None)

    Attempt.objects.update(due_at="2026-01-01T00:00:00Z")
    sweep_after(0)


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
def test_after_seven_days_it_is_canceled(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = authorized(acme)

    sweep_after(7 * DAY - 60)
    assert acme.payment(payment_id)["status"] == "requires_capture"
    sweep_after(120)

    canceled = acme.payment(payment_id)
    assert (canceled["status"], canceled["cancellation_reason"]) == ("canceled", "expired")
    assert acme.told(payment_id)[-1] == "canceled"
    rows = acme.get("/v1/request_logs?limit=100")["data"]
    [job] = [row for row in rows if row["kind"] == "job"]
    assert acme.events_of(payment_id)[-1]["request_id"] == job["id"]


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
def test_an_expired_one_that_the_bank_does_not_release_is_canceled_when_it_lapsed(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme, NOTHING_IS_RELEASED)

    sweep_after(7 * DAY + 60)

    assert acme.payment(payment_id)["status"] == "canceled"
    assert bank_books.order().state == "lapsed"


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("fault", ["lost", "cut_after", "delay", "garble"])
def test_without_an_answer_it_is_processing_until_the_bank_tells(
    fault: str, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    bank.fault = fault

    assert capture(acme, payment_id)["status"] == "processing"
    bank.fault = None
    for _ in range(4):
        sweep_after(3700)

    ended = "requires_capture" if fault == "lost" else "succeeded"
    assert acme.payment(payment_id)["status"] == ended
    assert captured_by_bank(acme) == acme.pending() == (0 if fault == "lost" else 12500)
    assert acme.told(payment_id)[-2] == "processing"


def test_a_bank_that_was_not_reached_has_changed_nothing(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    bank.fault = "cut_before"

    answer = capture(acme, payment_id, idempotency_key="k")

    assert answer.refusal == (503, "upstream_unavailable", None)
    bank.fault = None
    assert acme.payment(payment_id)["status"] == "requires_capture"
    assert capture(acme, payment_id, idempotency_key="k")["status"] == "succeeded"


@pytest.mark.parametrize("afterwards", [False, True], ids=["before the bank", "after the bank"])
def test_a_capture_that_died_is_finished_by_its_retry(
    afterwards: bool, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    _die_at_the_bank(acme, payment_id, afterwards)
    assert capture(acme, payment_id).refusal == (409, "lock_timeout", None)
    leases_run_out()

    answer = capture(acme, payment_id, 5000, idempotency_key="k")

    if not (afterwards or bank.repeats):
        # Nothing is sent again to such a bank: it is asked, until "no record" is believed.
        assert (answer["status"], captured_by_bank(acme)) == ("processing", 0)
        return
    assert (answer["status"], answer["amount_charged"]) == ("succeeded", 5000)
    assert captured_by_bank(acme) == acme.pending() == 5000
    assert acme.told(payment_id).count("succeeded") == 1


@pytest.mark.parametrize("afterwards", [False, True], ids=["before the bank", "after the bank"])
def test_a_capture_that_died_is_resolved_by_the_sweeper(
    afterwards: bool, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    _die_at_the_bank(acme, payment_id, afterwards)
    leases_run_out()

    for _ in range(4):
        sweep_after(3700)

    ended = "succeeded" if afterwards else "requires_capture"
    assert acme.payment(payment_id)["status"] == ended
    assert captured_by_bank(acme) == acme.pending() == (5000 if afterwards else 0)


def _die_at_the_bank(client: ApiClient, payment_id: str, afterwards: bool) -> None:
    with dies(modifications, "_order", afterwards=afterwards), pytest.raises(Died):
        capture(client, payment_id, 5000, idempotency_key="k")
