"""The bank's answers to refunds, applied late, twice, or by an asker that was overtaken."""

from collections import Counter
from collections.abc import Callable
from contextvars import copy_context

import pytest

from acquirers.conversation import leases, settling
from acquirers.outcomes import Answer, Outcome
from payments.refunds import asking, render
from payments.refunds.models import Refund
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import leases_run_out, sweep_after

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SETTLES_AT_ONCE = "4000000000007726"
ENDS = (Answer.APPROVED, Answer.DECLINED)


@pytest.fixture
def asked(acme: ApiClient, bank: BankTransport) -> Refund:
    """A refund that the bank was asked for and did not answer, leased by its asker."""
    begin_at_noon()
    payment_id = acme.pay()["id"]
    bank.fault = "lost"
    acme.refund(payment_id, 4000)
    return taken(Refund.objects.get())


def taken(refund: Refund) -> Refund:
    leases_run_out()
    leased = leases.take(refund)
    assert leased is not None
    return leased


def now() -> dict[str, object]:
    return render.refund(Refund.objects.get())


@pytest.mark.parametrize("answer", [Answer.APPROVED, Answer.DECLINED])
def test_the_banks_word_counts_once(answer: Answer, asked: Refund, acme: ApiClient) -> None:
    settling.settle(asking.KIND, asked, Outcome(answer))
    ended, events = now(), len(acme.events_of(asked.id))

    for again in (answer, Answer.UNKNOWN, Answer.NOT_SENT, Answer.NO_RECORD):
        settling.settle(asking.KIND, asked, Outcome(again))

    assert now() == ended
    assert len(acme.events_of(asked.id)) == events == 2


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("answer", [Answer.NOT_SENT, Answer.NO_RECORD, Answer.UNKNOWN])
def test_a_conclusion_counts_from_the_holder_of_the_lease_only(
    answer: Answer, asked: Refund
) -> None:
    before = Refund.objects.values().get()
    taken(asked)
    overtaking = Refund.objects.values().get()

    settling.settle(asking.KIND, asked, Outcome(answer))

    assert Refund.objects.values().get() == overtaking
    assert before["sent_at"] == overtaking["sent_at"] is not None


def test_the_banks_word_counts_from_an_asker_that_was_overtaken(asked: Refund) -> None:
    taken(asked)

    settling.settle(asking.KIND, asked, Outcome(Answer.APPROVED, network_reference="N1"))

    assert (now()["status"], now()["reference"]) == ("succeeded", "N1")


@pytest.mark.parametrize("answer", [Answer.APPROVED, Answer.DECLINED, Answer.SETTLED])
def test_an_answer_to_the_void_says_nothing_about_the_refund_that_it_became(
    answer: Answer, acme: ApiClient, bank: BankTransport, caplog: pytest.LogCaptureFixture
) -> None:
    begin_at_noon()
    payment_id = acme.pay()["id"]
    bank.fault = "lost"
    acme.refund(payment_id)
    slow = taken(Refund.objects.get())
    settling.settle(asking.KIND, taken(slow), Outcome(Answer.SETTLED))
    became = now()
    assert (became["method"], became["status"]) == ("refund", "pending")

    settling.settle(asking.KIND, slow, Outcome(answer))

    assert now() == became
    assert ("refund_done_another_way" in caplog.text) == (answer is Answer.APPROVED)


def test_a_yes_after_a_failure_changes_nothing_and_is_told_to_operators(
    asked: Refund, acme: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    settling.settle(asking.KIND, asked, Outcome(Answer.DECLINED))
    failed = now()

    settling.settle(asking.KIND, asked, Outcome(Answer.APPROVED))

    assert now() == failed
    assert "refund_done_after_its_end" in caplog.text


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("05", "declined"), ("41", "lost_or_stolen_card"), ("43", "lost_or_stolen_card"),
        ("54", "expired_or_canceled_card"), ("12", "declined"), (None, "declined"),
    ],
)  # fmt: skip
def test_a_refusal_tells_why(code: str | None, reason: str, asked: Refund) -> None:
    settling.settle(asking.KIND, asked, Outcome(Answer.DECLINED, response_code=code))

    assert (now()["status"], now()["failure_reason"]) == ("failed", reason)


def test_a_reference_that_the_bank_tells_early_is_an_update(asked: Refund, acme: ApiClient) -> None:
    settling.settle(asking.KIND, asked, Outcome(Answer.PENDING, network_reference="N1"))
    settling.settle(asking.KIND, taken(asked), Outcome(Answer.PENDING, network_reference="N1"))

    created, updated = acme.events_of(asked.id)
    assert updated["type"] == "refund.updated"
    assert updated["data"]["previous_attributes"] == {"reference": None}
    assert now()["status"] == "pending"


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("answer", [one for one in Answer if one not in ENDS])
def test_nothing_but_a_yes_or_a_no_ends_it(answer: Answer, asked: Refund) -> None:
    for _ in range(5):
        settling.settle(asking.KIND, taken(Refund.objects.get()), Outcome(answer))

    assert now()["status"] == "pending"
    assert Refund.objects.get().due_at is not None


# --- A void that came after the bank's day ------------------------------------------------------


def canceled_elsewhere(acme: ApiClient) -> None:
    acme.post(f"/v1/refunds/{Refund.objects.get().id}/cancel")


def swept_to_its_end(_acme: ApiClient) -> None:
    leases_run_out()
    for _ in range(3):
        sweep_after(130)


@pytest.mark.parametrize(
    ("meanwhile", "status", "at_the_bank"),
    [(canceled_elsewhere, "canceled", 0), (swept_to_its_end, "succeeded", 12500)],
)
def test_one_that_another_ends_before_it_goes_on_as_a_refund_is_answered_as_it_ended(
    meanwhile: Callable[[ApiClient], None],
    status: str,
    at_the_bank: int,
    acme: ApiClient,
    bank: BankTransport,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin_at_noon()
    paid = acme.pay(SETTLES_AT_ONCE)["id"]
    real, is_first = asking.KIND.begun, True

    def begun(refund: Refund) -> Refund | None:
        nonlocal is_first
        if is_first:
            is_first = False
            copy_context().run(meanwhile, acme)  # In a request of its own.
        return real(refund)

    monkeypatch.setattr(asking.KIND, "begun", begun)
    answer = acme.refund(paid, idempotency_key="k")

    assert not is_first
    assert (answer.status, answer["status"], answer["method"]) == (200, status, "refund")
    assert acme.refund(paid, idempotency_key="k").body == answer.body
    assert acme.refunded(answer["id"]).body == answer.body
    assert given_back(paid) == GivenBack(at_the_bank, at_the_bank)
    assert Counter(bank.seen)["/refunds"] == (1 if at_the_bank else 0)
