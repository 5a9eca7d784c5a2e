"""Refunds whose end is not known: silent banks, requests that never left, requests that died.

Money goes back once, whatever is lost on the way; without the bank's word nothing ends.
"""

from typing import Any

import pytest

from acquirers.conversation import settling
from acquirers.models import BankExchange
from acquirers.outcomes import Answer, Outcome
from core.rest import expansion
from payments.refunds import asking
from payments.refunds.models import Refund
from payments.refunds.states import Method
from tests.stage.bank_days import begin_at_noon, end_the_day, wait_for_refunds
from tests.stage.bank_transport import BankTransport
from tests.stage.client import REFUNDS, ApiClient
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import Died, dies, leases_run_out, sweep_after

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.at_the_old_bank,
    pytest.mark.usefixtures("books_agree"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

WHOLE, PART = 12500, 4000
BOTH = pytest.mark.parametrize("amount", [WHOLE, PART], ids=["void", "refund"])
DAY = 86_400
# A bank without names of refunds is believed that it has none at the end of its day.
HALF_A_DAY = 43_200


@pytest.fixture
def amount() -> int:
    """Refund a part, where a test does not say how much."""
    return PART


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport, amount: int) -> str:
    begin_at_noon()
    return pay(acme, bank, amount)


def pay(client: ApiClient, bank: BankTransport, amount: int, *card: str) -> str:
    """Make a payment of which so much can be refunded now."""
    payment_id = client.pay(*card)["id"]
    if amount == PART:
        wait_for_refunds(bank)
    return payment_id


def types(client: ApiClient, refund_id: str) -> list[str]:
    return [event["type"].removeprefix("refund.") for event in client.events_of(refund_id)]


# --- Without an answer ------------------------------------------------------------------------


@pytest.mark.every_case("the states of money and of banks' answers")
@BOTH
@pytest.mark.parametrize("fault", ["cut_after", "delay", "garble"])
def test_without_an_answer_it_is_pending_until_the_bank_tells(
    fault: str, amount: int, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = fault
    made = acme.refund(paid, amount)
    assert (made.status, made["status"], made["pending_reason"]) == (200, "pending", "processing")
    assert acme.payment(paid)["refunded_minor"] == amount
    bank.fault = None

    sweep_after(10)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert types(acme, made["id"]) == ["created", "succeeded"]
    assert given_back(paid) == GivenBack(amount, amount)
    [event] = acme.events_of(made["id"])[1:]
    assert event["request_id"] == made.headers["Request-Id"]


@BOTH
def test_what_was_lost_on_its_way_is_sent_again_and_goes_back_once(
    amount: int, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "lost"
    made = acme.refund(paid, amount)
    assert (made["status"], made["pending_reason"]) == ("pending", "processing")
    bank.fault = None

    for _ in range(6):
        sweep_after(HALF_A_DAY)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert given_back(paid) == GivenBack(amount, amount)


@BOTH
def test_a_bank_that_stays_silent_is_asked_for_ever(
    amount: int, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "lost"
    made = acme.refund(paid, amount)

    for _ in range(12):
        sweep_after(DAY)

    assert acme.refunded(made["id"]).body == made.body
    assert Refund.objects.get().due_at is not None
    assert types(acme, made["id"]) == ["created"]
    assert given_back(paid) == GivenBack(amount, 0)


@BOTH
def test_while_it_is_unknown_nothing_more_goes_back(
    amount: int, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "cut_after"
    made = acme.refund(paid, amount)
    bank.fault = None

    again = acme.refund(paid, WHOLE)

    code = "payment_already_refunded" if amount == WHOLE else "amount_too_large"
    assert again.refusal[1] == code
    assert acme.post(f"{REFUNDS}/{made['id']}/cancel").refusal[1] == "refund_unexpected_state"


def test_no_record_is_not_believed_at_once(paid: str, acme: ApiClient, bank: BankTransport) -> None:
    """A bank whose references are not idempotent gets nothing twice before it is sure."""
    bank.fault = "lost"
    made = acme.refund(paid, PART)
    bank.fault = None

    sweep_after(10)

    succeeded = bank.repeats  # Sent again under its reference, which is one refund there.
    assert acme.refunded(made["id"])["status"] == ("succeeded" if succeeded else "pending")
    assert given_back(paid).at_the_bank == (PART if succeeded else 0)


@pytest.mark.at_the_sandbox("a card of the sandbox's bank")
def test_a_pending_one_is_not_sent_again(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.pay("4000000000007726")["id"]
    made = acme.refund(payment_id, PART)
    posts = bank.seen.count("/refunds")

    sweep_after(3)
    assert acme.refunded(made["id"])["status"] == "pending"
    sweep_after(10)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert bank.seen.count("/refunds") == posts == 1


# --- Not sent ---------------------------------------------------------------------------------


@BOTH
def test_what_could_not_be_sent_is_sent_by_itself(
    amount: int, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "cut_before"
    made = acme.refund(paid, amount)
    assert (made.status, made["status"], made["pending_reason"]) == (200, "pending", "processing")
    sweep_after(10)
    assert Refund.objects.get().sent_at is None
    bank.fault = None

    sweep_after(60)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert types(acme, made["id"]) == ["created", "succeeded"]
    assert given_back(paid) == GivenBack(amount, amount)


@BOTH
def test_what_could_not_be_sent_may_be_canceled(
    amount: int, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    before = acme.get("/v1/balance").body
    bank.fault = "cut_before"
    made = acme.refund(paid, amount)

    canceled = acme.post(f"{REFUNDS}/{made['id']}/cancel")

    bank.fault = None
    sweep_after(DAY)
    assert (canceled["status"], canceled["pending_reason"]) == ("canceled", None)
    assert acme.refunded(made["id"]).body == canceled.body
    assert types(acme, made["id"]) == ["created", "updated"]
    assert acme.get("/v1/balance").body == before
    assert given_back(paid) == GivenBack(0, 0)
    assert acme.events_of(made["id"])[1]["request_id"] == canceled.headers["Request-Id"]


def test_what_may_have_left_once_is_never_canceled(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "lost"
    made = acme.refund(paid, PART)
    bank.fault = "cut_before"
    for _ in range(6):
        sweep_after(DAY)

    refused = acme.post(f"{REFUNDS}/{made['id']}/cancel")

    assert refused.refusal == (400, "refund_unexpected_state", None)
    assert refused.error["refund"] == acme.refunded(made["id"]).body
    assert Refund.objects.get().sent_at is not None


# --- The end of the bank's day ----------------------------------------------------------------


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.at_the_sandbox("the old bank's day has no end")
@pytest.mark.parametrize("fault", ["lost", "cut_after", "cut_before"])
def test_a_silent_void_over_the_end_of_the_day_gives_back_once(
    fault: str, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = fault
    made = acme.refund(paid)
    assert made["method"] == "void"
    bank.fault = None
    end_the_day()

    for _ in range(3):
        sweep_after(600)

    ended = acme.refunded(made["id"])
    assert ended["status"] == "succeeded"
    # A void that was done before midnight stays one.
    assert ended["method"] == ("void" if fault == "cut_after" else "refund")
    assert given_back(paid) == GivenBack(WHOLE, WHOLE)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.at_the_sandbox("the old bank's day has no end")
@pytest.mark.parametrize("fault", ["lost", "cut_after", "cut_before"])
def test_a_void_that_became_a_silent_refund_gives_back_once(
    fault: str, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment_id = acme.pay("4000000000007726")["id"]
    voided = asking.repayments.void

    def void_and_cut(attempt: Any) -> Any:
        outcome = voided(attempt)
        bank.fault = fault
        return outcome

    monkeypatch.setattr(asking.repayments, "void", void_and_cut)
    made = acme.refund(payment_id)
    assert (made["status"], made["method"]) == ("pending", "refund")
    bank.fault = None

    for _ in range(3):
        sweep_after(600)

    assert acme.refunded(made["id"])["status"] == "succeeded"
    assert types(acme, made["id"]) == ["created", "updated", "succeeded"]
    assert given_back(payment_id) == GivenBack(WHOLE, WHOLE)


@pytest.mark.at_the_sandbox("the old bank's day has no end")
def test_settled_is_believed_after_a_silence_only_with_an_inquiry(
    paid: str, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first void may have been done: only the bank's book tells that it was not."""
    bank.fault = "lost"
    made = acme.refund(paid)
    bank.fault = None
    end_the_day()
    silent = Outcome(Answer.UNKNOWN, is_from_inquiry=True)
    with monkeypatch.context() as patched:
        patched.setattr(asking.repayments, "inquire", lambda *_asked: silent)
        sweep_after(10)
    assert acme.refunded(made["id"])["method"] == Method.VOID

    for _ in range(2):
        sweep_after(600)
    assert acme.refunded(made["id"])["method"] == Method.REFUND
    assert given_back(paid) == GivenBack(WHOLE, WHOLE)


# --- Requests that died -----------------------------------------------------------------------

# Between a refund's row and its answer: the function at whose call, or behind which, it dies.
DEATHS = {
    "before the bank": (asking.KIND, "ask", False),
    "after the bank": (asking.KIND, "ask", True),
    "before the end is written": (settling, "settle", False),
    "after the end is written": (settling, "settle", True),
    "before the answer": (expansion, "expand", False),
}
WRITTEN = ("after the end is written", "before the answer")


def die(client: ApiClient, payment_id: str, amount: int, death: str) -> None:
    module, name, afterwards = DEATHS[death]
    with dies(module, name, afterwards=afterwards), pytest.raises(Died):
        client.refund(payment_id, amount, idempotency_key="k")


@pytest.mark.every_case("one key has one effect")
@BOTH
@pytest.mark.parametrize("death", DEATHS)
def test_a_refund_that_died_is_finished_by_its_retry(
    death: str, amount: int, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    die(acme, paid, amount, death)
    if death not in WRITTEN:
        assert acme.refund(paid, amount, idempotency_key="k").status == 409
    leases_run_out()

    answer = acme.refund(paid, amount, idempotency_key="k")

    assert answer.status == 200
    if death == "before the bank" and amount == PART and not bank.repeats:
        # Nothing is sent again to such a bank, until "no record" is believed.
        assert (answer["status"], given_back(paid).at_the_bank) == ("pending", 0)
        return
    assert answer["status"] == "succeeded"
    assert Refund.objects.count() == 1
    assert given_back(paid) == GivenBack(amount, amount)
    assert types(acme, answer["id"]) == ["created", "succeeded"]
    again = acme.refund(paid, amount, idempotency_key="k")
    assert (again.body, again.headers["Idempotent-Replayed"]) == (answer.body, "true")


@pytest.mark.every_case("one key has one effect")
@BOTH
@pytest.mark.parametrize("death", DEATHS)
def test_a_refund_that_died_is_finished_by_the_sweeper(
    death: str, amount: int, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    die(acme, paid, amount, death)
    leases_run_out()

    for _ in range(6):
        sweep_after(HALF_A_DAY if amount == PART else 3700)  # A void is done on the day.

    [made] = acme.get(REFUNDS)["data"]
    assert made["status"] == "succeeded"
    assert types(acme, made["id"]) == ["created", "succeeded"]
    assert given_back(paid) == GivenBack(amount, amount)
    answer = acme.refund(paid, amount, idempotency_key="k")
    assert (answer.status, answer.body) == (200, made)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.at_the_sandbox("the old bank's day has no end")
@pytest.mark.parametrize("death", ["before the end is written", "after the end is written"])
@pytest.mark.parametrize("by", ["retry", "sweeper"])
def test_a_void_that_died_on_its_way_to_become_a_refund_gives_back_once(
    death: str, by: str, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay("4000000000007726")["id"]
    die(acme, payment_id, WHOLE, death)
    leases_run_out()

    if by == "retry":
        answer = acme.refund(payment_id, WHOLE, idempotency_key="k")
        assert (answer.status, answer["status"]) == (200, "pending")
    for _ in range(4):
        sweep_after(600)

    [made] = acme.get(REFUNDS)["data"]
    assert (made["status"], made["method"]) == ("succeeded", "refund")
    assert given_back(payment_id) == GivenBack(WHOLE, WHOLE)


@pytest.mark.every_case("the states of money and of banks' answers")
@BOTH
@pytest.mark.parametrize("death", list(DEATHS)[1:])
def test_a_dead_refund_that_the_bank_refused_fails_once(
    death: str, amount: int, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = pay(acme, bank, amount, "4000001100000074")
    die(acme, payment_id, amount, death)
    leases_run_out()

    answer = acme.refund(payment_id, amount, idempotency_key="k")
    # One bank's history does not say which refusals are final: it is sent such a refund again.
    for _ in range(6):
        sweep_after(HALF_A_DAY)

    ended = acme.refunded(answer["id"])
    assert (ended["status"], ended["failure_reason"]) == ("failed", "declined")
    assert types(acme, answer["id"]) == ["created", "failed"]
    assert given_back(payment_id) == GivenBack(0, 0)


def test_a_dead_cancellation_and_a_dead_update_are_answered_by_their_retries(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    bank.fault = "cut_before"
    made = acme.refund(paid, PART)["id"]
    for path, body, name in (
        (f"{REFUNDS}/{made}", {"description": "Tea"}, "update"),
        (f"{REFUNDS}/{made}/cancel", {}, "cancel"),
    ):
        with dies(expansion, "expand"), pytest.raises(Died):
            acme.post(path, body, idempotency_key=name)

        assert acme.post(path, body, idempotency_key=name).body == acme.refunded(made).body
    assert types(acme, made) == ["created", "updated", "updated"]


# --- What is kept of it -----------------------------------------------------------------------


@pytest.mark.at_the_sandbox("the doors of the sandbox's bank")
def test_every_exchange_is_kept(paid: str, acme: ApiClient, bank: BankTransport) -> None:
    bank.fault = "lost"
    made = acme.refund(paid, PART)
    bank.fault = None

    sweep_after(10)

    rows = BankExchange.objects.filter(operation_id=made["id"]).order_by("sent_at")
    assert [(row.operation, row.answer) for row in rows] == [
        ("refund", "unknown"), ("refund_inquiry", "no_record"), ("refund", "approved"),
    ]  # fmt: skip
