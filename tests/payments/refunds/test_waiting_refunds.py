"""Refunds that wait for the merchant's funds: nothing is booked, and the oldest goes first."""

from datetime import timedelta

import pytest
from django.db import OperationalError

from core import clock
from ledger.models import Movement, Price
from merchants.models import NegativeLimit
from payments.intents.models import PaymentIntent
from payments.refunds import steps, tasks, waiting
from payments.refunds.models import Refund
from payments.refunds.states import RefundStatus
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_transport import BankTransport
from tests.stage.booked import movements
from tests.stage.client import REFUNDS, Answer, ApiClient
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import sweep, sweep_after

pytestmark = [
    pytest.mark.usefixtures("books_agree"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

DAY = 86_400
SETTLES_AT_ONCE = "4000000000007726"
# Of each 12500 the merchant gets 6250, and the rest is a fee that refunds do not bring back.
HALF = 6250


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    """A payment of yesterday, for which the merchant has half of its money."""
    Price.objects.create(merchant=acme.merchant, currency="try", bps=5000)
    begin_at_noon()
    payment_id = acme.pay()["id"]
    end_the_day()
    return payment_id


def look() -> None:
    """Run the look of beat, and then the sweeper."""
    tasks.send_waiting()
    sweep()


def statuses(client: ApiClient) -> list[str]:
    """Return the statuses of all refunds, the oldest first; what a pending one waits for."""
    refunds = client.get(f"{REFUNDS}?sort=created&limit=100")["data"]
    return [row["pending_reason"] or row["status"] for row in refunds]


def types(client: ApiClient, made: Answer) -> list[str]:
    return [event["type"].removeprefix("refund.") for event in client.events_of(made["id"])]


def test_it_waits_if_the_funds_do_not_reach(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    before, asked = acme.get("/v1/balance").body, list(bank.seen)

    made = acme.refund(paid, HALF + 1)

    assert (made.status, made["status"], made["pending_reason"], made["method"]) == (
        200, "pending", "insufficient_funds", "refund",
    )  # fmt: skip
    assert acme.payment(paid)["refunded_minor"] == HALF + 1
    assert acme.get("/v1/balance").body == before
    assert bank.seen == asked
    assert types(acme, made) == ["created"]
    assert acme.refund(paid, HALF).refusal[1] == "amount_too_large"


def test_it_goes_once_money_has_come(paid: str, acme: ApiClient, bank: BankTransport) -> None:
    made = acme.refund(paid)
    look()
    assert acme.refunded(made["id"]).body == made.body
    acme.pay()

    look()

    assert acme.refunded(made["id"])["status"] == "succeeded"
    created, updated, succeeded = acme.events_of(made["id"])
    assert updated["type"] == "refund.updated"
    assert updated["data"]["previous_attributes"] == {"pending_reason": "insufficient_funds"}
    assert succeeded["type"] == "refund.succeeded"
    assert {event["request_id"] for event in (created, updated, succeeded)} == {
        made.headers["Request-Id"]
    }
    assert given_back(paid) == GivenBack(12500, 12500)


def test_the_limit_below_zero_counts_as_funds(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    NegativeLimit.objects.create(merchant=acme.merchant, currency="try", amount=HALF - 1)

    assert acme.refund(paid)["pending_reason"] == "insufficient_funds"
    NegativeLimit.objects.update(amount=HALF)
    look()

    assert statuses(acme) == ["succeeded"]


def test_the_oldest_goes_first_and_keeps_younger_ones_waiting(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    other = acme.pay()["id"]
    end_the_day()
    first = acme.refund(paid)
    assert first["status"] == "succeeded"  # All that there was.
    for amount in (7000, 100, 200):
        acme.refund(other, amount)
    waits = "insufficient_funds"
    assert statuses(acme) == ["succeeded", waits, waits, waits]

    acme.pay(amount=2000)
    look()
    assert statuses(acme) == ["succeeded", waits, waits, waits]
    acme.pay(amount=12300)
    look()

    assert statuses(acme) == ["succeeded", "succeeded", "succeeded", waits]


def test_what_is_within_the_funds_goes_at_once_though_others_wait(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.refund(paid, HALF + 1)

    assert acme.refund(paid, 100)["status"] == "succeeded"


def test_one_merchants_funds_are_no_others(
    paid: str, acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    made = acme.refund(paid)
    globex.pay()
    acme.pay(currency="eur")

    look()

    assert acme.refunded(made["id"]).body == made.body


def test_a_void_never_waits(acme: ApiClient, bank: BankTransport) -> None:
    Price.objects.create(merchant=acme.merchant, currency="try", bps=10_000)
    begin_at_noon()

    made = acme.refund(acme.pay()["id"])

    assert (made["status"], made["method"]) == ("succeeded", "void")


def test_a_void_that_became_a_refund_may_wait(acme: ApiClient, bank: BankTransport) -> None:
    Price.objects.create(merchant=acme.merchant, currency="try", bps=5000)
    begin_at_noon()
    payment_id = acme.pay(SETTLES_AT_ONCE)["id"]

    made = acme.refund(payment_id)

    assert (made["method"], made["pending_reason"]) == ("refund", "insufficient_funds")
    updated = acme.events_of(made["id"])[1]
    assert updated["data"]["previous_attributes"] == {
        "method": "void", "pending_reason": "processing",
    }  # fmt: skip
    assert movements(made["id"]) == ["void", "void_undone"]
    acme.pay()
    look()
    sweep_after(60)
    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert types(acme, made) == ["created", "updated", "updated", "succeeded"]
    assert given_back(payment_id) == GivenBack(12500, 12500)


# --- Its other ends ---------------------------------------------------------------------------


def test_while_it_waits_it_may_be_canceled(paid: str, acme: ApiClient, bank: BankTransport) -> None:
    before = acme.get("/v1/balance").body
    made = acme.refund(paid)

    canceled = acme.post(f"{REFUNDS}/{made['id']}/cancel")

    assert (canceled["status"], canceled["pending_reason"]) == ("canceled", None)
    assert acme.get("/v1/balance").body == before
    assert acme.payment(paid)["amount_refundable"] == 12500
    acme.pay()
    look()
    assert acme.refunded(made["id"]).body == canceled.body
    assert types(acme, made) == ["created", "updated"]
    assert not Movement.objects.filter(cause_id=made["id"]).exists()
    assert acme.post(f"{REFUNDS}/{made['id']}/cancel").refusal[1] == "refund_unexpected_state"


def test_until_it_is_sent_it_may_be_canceled(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    made = acme.refund(paid)
    acme.pay()
    before = acme.get("/v1/balance").body
    tasks.send_waiting()  # And the sweeper has not come by yet.
    assert acme.refunded(made["id"])["pending_reason"] == "processing"

    assert acme.post(f"{REFUNDS}/{made['id']}/cancel")["status"] == "canceled"

    sweep()
    assert acme.get("/v1/balance").body == before
    assert given_back(paid) == GivenBack(0, 0)


def test_after_thirty_days_it_fails(paid: str, acme: ApiClient, bank: BankTransport) -> None:
    made = acme.refund(paid)
    before = acme.get("/v1/balance").body

    sweep_after(30 * DAY - 60)
    assert acme.refunded(made["id"]).body == made.body
    sweep_after(60)

    failed = acme.refunded(made["id"])
    assert (failed["status"], failed["failure_reason"]) == ("failed", "insufficient_funds")
    assert types(acme, made) == ["created", "failed"]
    assert acme.payment(paid)["amount_refundable"] == 12500
    assert acme.get("/v1/balance").body == before


def test_what_has_left_does_not_fail_after_thirty_days(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    made = acme.refund(paid)
    acme.pay()
    tasks.send_waiting()
    bank.fault = "lost"

    for _ in range(40):
        sweep_after(DAY)

    assert acme.refunded(made["id"])["pending_reason"] == "processing"


def dispute(payment_id: str, amount: int) -> None:
    """Let the bank's dispute of an amount stand in the payment, as `note_dispute` writes it."""
    PaymentIntent.objects.filter(id=payment_id).update(disputed_minor=amount)


def test_a_dispute_that_leaves_no_room_for_it_ends_it(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    old, young = acme.refund(paid, 8000), acme.refund(paid, 4500)
    assert statuses(acme) == ["insufficient_funds", "succeeded"]
    waits = acme.refund(acme.pay(amount=100)["id"])
    dispute(paid, 1)

    look()

    ended = acme.refunded(old["id"])
    assert (ended["status"], ended["failure_reason"]) == (
        "failed", "charge_for_pending_refund_disputed",
    )  # fmt: skip
    assert types(acme, old) == ["created", "failed"]
    assert acme.refunded(young["id"])["status"] == "succeeded"
    assert acme.refunded(waits["id"])["status"] == "succeeded"
    assert acme.payment(paid)["amount_refundable"] == 12500 - 4500 - 1


def test_of_several_the_youngest_ends_and_the_others_stay(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.refund(paid, HALF)
    for amount in (3000, 2000, 1000):
        acme.refund(paid, amount)
    dispute(paid, 1000)

    look()

    waits = "insufficient_funds"
    assert statuses(acme) == ["succeeded", waits, waits, "failed"]


def test_one_without_room_is_not_sent_though_money_came(
    paid: str, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = acme.refund(paid)
    acme.pay()
    dispute(paid, 1)
    monkeypatch.setattr(waiting, "_crowded", list)  # It was disputed a moment later.

    look()

    assert acme.refunded(made["id"]).body == made.body


# --- The look ---------------------------------------------------------------------------------


def test_a_retry_by_its_key_answers_what_waits(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    made = acme.refund(paid, idempotency_key="k")

    again = acme.refund(paid, idempotency_key="k")

    assert (again.body, again.headers["Idempotent-Replayed"]) == (made.body, "true")
    assert Refund.objects.count() == 1


def test_it_is_in_the_sweepers_way_only_after_thirty_days(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.refund(paid)

    row = Refund.objects.get(status=RefundStatus.PENDING)

    assert row.due_at == row.created_at + timedelta(days=30) > clock.now()
    assert (row.lease_until, row.sent_at) == (None, None)


@pytest.mark.parametrize("problem", [OperationalError, RuntimeError])
def test_one_that_cannot_be_looked_at_stops_no_other_merchants(
    paid: str,
    problem: type[Exception],
    acme: ApiClient,
    globex: ApiClient,
    bank: BankTransport,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowded = acme.refund(paid)
    dispute(paid, 1)
    Price.objects.create(merchant=globex.merchant, currency="try", bps=5000)
    other = globex.refund(globex.pay()["id"], HALF + 1)
    globex.pay()
    locked = steps.locked

    def refuses(refund: Refund) -> Refund:
        if refund.merchant_id == acme.merchant.id:
            raise problem
        return locked(refund)

    with monkeypatch.context() as patched:
        patched.setattr(steps, "locked", refuses)
        tasks.send_waiting()

    assert globex.refunded(other["id"])["pending_reason"] == "processing"
    assert acme.refunded(crowded["id"]).body == crowded.body
    look()
    assert acme.refunded(crowded["id"])["status"] == "failed"


def test_a_look_at_nothing_asks_one_thing_of_two_indexes(
    acme: ApiClient, bank: BankTransport, django_assert_num_queries: object
) -> None:
    with django_assert_num_queries(2):
        waiting.look(job="test")
