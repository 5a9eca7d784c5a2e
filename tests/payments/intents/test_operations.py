"""Captures and cancellations whose request died, or that meet the sweeper."""

import pytest

from acquirers.conversation import settling
from acquirers.outcomes import Answer as Says
from acquirers.outcomes import Outcome
from core import clock
from payments.bank import attempts, modification_rows, modifications
from payments.intents.models import Attempt, Modification
from payments.payer import returns
from tests.payments.intents.test_races import then_wait
from tests.stage import bank_books
from tests.stage.audited import audit
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD, confirmation, three_d_secure
from tests.stage.races import asking, deadlocks, late, sweeping
from tests.stage.sweeper import Died, dies, leases_run_out, on_one_thread_each, sweep_after
from tests.stage.threads import together
from tests.stage.threeds import bring, challenged, decide

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
NOTHING_IS_RELEASED, CHARGED_SILENTLY = "4000001100000074", "4000001100000017"


def authorized(client: ApiClient, number: str = GOOD_CARD) -> str:
    return client.pay(number, capture_method="manual")["id"]


def asked(client: ApiClient, payment_id: str, action: str) -> Answer:
    return client.post(f"{PATH}/{payment_id}/{action}", idempotency_key="k")


def died_after_the_bank(client: ApiClient, payment_id: str, action: str) -> None:
    with dies(modifications, "_order", afterwards=True), pytest.raises(Died):
        asked(client, payment_id, action)
    leases_run_out()


@pytest.mark.parametrize(
    ("action", "status", "captured"), [("capture", "succeeded", 12500), ("cancel", "canceled", 0)]
)
def test_a_retry_that_does_not_reach_the_bank_knows_nothing_of_what_was_done(
    action: str, status: str, captured: int, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    died_after_the_bank(acme, payment_id, action)

    bank.fault = "cut_before"
    assert asked(acme, payment_id, action)["status"] == "processing"
    bank.fault = None
    sweep_after(60)

    assert acme.payment(payment_id)["status"] == status
    assert captured_by_bank(acme) == acme.pending() == captured
    assert audit()[0] == 0


@pytest.mark.at_the_sandbox("a refused request is sent again to the sandbox's bank alone")
def test_a_retry_hears_that_the_bank_released_nothing(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = authorized(acme, NOTHING_IS_RELEASED)
    died_after_the_bank(acme, payment_id, "cancel")

    answer, again = (asked(acme, payment_id, "cancel") for _ in range(2))

    assert answer.refusal == (400, "cancel_failed", None)
    assert answer.error["payment_intent"] == acme.payment(payment_id).body
    assert again.response.content == answer.response.content
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("by_another", [False, True], ids=["by itself", "by another process"])
def test_a_retry_hears_what_was_refused_before_it_came(
    by_another: bool, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme, NOTHING_IS_RELEASED)
    where = (modifications, "_order") if by_another else (settling, "apply_with_retry")
    with dies(*where, afterwards=True), pytest.raises(Died):
        asked(acme, payment_id, "cancel")
    leases_run_out()
    if by_another:
        settling.settle(modifications.KIND, Modification.objects.get(), Outcome(Says.DECLINED))
    asked_before = list(bank.seen)

    answer, again = (asked(acme, payment_id, "cancel") for _ in range(2))

    assert answer.refusal == (400, "cancel_failed", None)
    assert answer.error["payment_intent"]["status"] == "requires_capture"
    assert again.response.content == answer.response.content
    for one in (answer, again):
        assert one.headers["Idempotent-Replayed"] == "true"
        assert one.headers["Original-Request"] == Modification.objects.get().request_id
    assert bank.seen == asked_before


@pytest.mark.parametrize(("action", "ends_as"), [("capture", "succeeded"), ("cancel", "canceled")])
def test_a_retry_hears_that_nothing_had_left_for_the_bank_and_the_key_is_free(
    action: str, ends_as: str, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = authorized(acme)
    bank.fault = "cut_before"
    with dies(settling, "apply_with_retry", afterwards=True), pytest.raises(Died):
        asked(acme, payment_id, action)
    bank.fault = None
    leases_run_out()

    answer, again = (asked(acme, payment_id, action) for _ in range(2))

    assert answer.refusal == (503, "upstream_unavailable", None)
    assert (again.status, again["status"]) == (200, ends_as)
    assert audit()[0] == 0


def test_a_payer_who_refused_is_not_asked_about_at_the_bank(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    with dies(returns, "_outcome"), pytest.raises(Died):
        bring(decide(paid, "Reject").fields)
    leases_run_out()

    sweep_after(10)

    failed = acme.payment(paid["id"])
    assert failed["status"] == "requires_payment_method"
    assert failed["last_payment_error"]["reason"] == "authentication_failed"
    assert len(bank_books.orders()) == 0


def test_the_bank_is_asked_about_what_is_unknown_and_not_about_what_is_given_back(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    given_up = Attempt.objects.get()
    unknown = confirmation(CHARGED_SILENTLY, **three_d_secure("none"))
    assert acme.post(f"{PATH}/{paid['id']}/confirm", unknown)["status"] == "processing"
    bank_books.charge(
        "4242424242424242", reference=given_up.acquirer_reference, merchant=acme.merchant.id
    )
    settling.settle(attempts.KIND, given_up, Outcome(Says.APPROVED, authorization_code="A1B2C3"))

    refused = asked(acme, paid["id"], "cancel")

    assert refused.error["payment_intent"]["status"] == "succeeded"


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
@pytest.mark.parametrize("action", ["capture", "cancel"])
def test_the_sweeper_and_a_request_do_not_lock_each_other_out(
    action: str, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment_id, before = authorized(acme), deadlocks()
    Attempt.objects.update(due_at=clock.now())
    monkeypatch.setattr(modification_rows, "begin", then_wait(modification_rows.begin))

    with on_one_thread_each():
        together([sweeping(), late(asking(acme, payment_id, action), 0.1)])

    assert deadlocks() == before
