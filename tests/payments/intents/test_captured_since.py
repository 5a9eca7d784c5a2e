"""Captures that the bank writes down after three times "no record": their money is booked.

The payment is `requires_capture` by then. A release is refused, because the money was taken.
"""

from collections.abc import Iterator

import pytest

from acquirers.outcomes import Answer as BanksAnswer
from acquirers.outcomes import Outcome
from cases.models import Case
from payments.intents.models import Attempt, Modification
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import end_the_day
from tests.stage.client import Answer, ApiClient
from tests.stage.doors import MANUAL
from tests.stage.protocol_way import ProtocolWay
from tests.stage.real_banks import KINDS, real_bank
from tests.stage.sweeper import sweep, sweep_after
from tests.stage.undecided import does_it_late

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
SEVEN_DAYS = 7 * 86_400


@pytest.fixture(params=KINDS)
def bank(db: None, request: pytest.FixtureRequest) -> Iterator[ProtocolWay]:
    with real_bank(request.param) as way:
        yield way


def ask_on() -> None:
    """Let the time pass in which the bank is asked until "no record" is believed."""
    for seconds in (10, 30, 120, 600, 3600):
        sweep_after(seconds)


@pytest.fixture
def paid_today(acme: ApiClient, bank: ProtocolWay) -> Answer:
    """Return a payment whose capture the bank has written down after it was given up."""
    held = acme.pay(**MANUAL)
    bank.fault = "lost"
    acme.post(f"{PATH}/{held['id']}/capture", {})
    bank.fault = None
    ask_on()
    assert acme.payment(held["id"])["status"] == "requires_capture"
    does_it_late(bank)
    return held


@pytest.fixture
def paid(paid_today: Answer) -> Answer:
    """Return the same payment once the bank's day is over: no void is done any more."""
    end_the_day()
    return paid_today


def test_a_cancel_that_finds_the_money_taken_fails_and_the_capture_is_booked(
    acme: ApiClient, bank: ProtocolWay, paid: Answer
) -> None:
    answer = acme.post(f"{PATH}/{paid['id']}/cancel", {}, idempotency_key="k")
    assert answer.refusal[:2] == (400, "cancel_failed")

    sweep()

    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert Modification.objects.get(kind="capture").status == "succeeded"
    assert acme.pending() == 12500
    assert_audit_is_clean()
    assert acme.post(f"{PATH}/{paid['id']}/cancel", {}, idempotency_key="k").body == answer.body


def test_an_authorisation_that_expires_with_its_money_taken_is_booked(
    acme: ApiClient, bank: ProtocolWay, paid: Answer
) -> None:
    sweep_after(SEVEN_DAYS)
    for _ in range(3):
        sweep_after(60)

    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert_audit_is_clean()


def test_a_capture_that_was_booked_late_is_asked_about_no_more(
    acme: ApiClient, bank: ProtocolWay, paid: Answer
) -> None:
    acme.post(f"{PATH}/{paid['id']}/cancel", {})
    sweep()

    assert Modification.objects.get(kind="capture").due_at is None


@pytest.mark.parametrize("bank", ["garanti"], indirect=True)
def test_a_release_that_the_bank_knows_nothing_of_leads_to_the_capture_of_that_day(
    acme: ApiClient, bank: ProtocolWay, paid_today: Answer
) -> None:
    # The void names the hold, which is not the order's newest line any more: no clear refusal.
    acme.post(f"{PATH}/{paid_today['id']}/cancel", {})

    ask_on()
    sweep()

    assert acme.payment(paid_today["id"])["status"] == "succeeded"
    assert acme.pending() == 12500
    assert_audit_is_clean()


def test_a_release_whose_answer_is_lost_leads_to_the_capture(
    acme: ApiClient, bank: ProtocolWay, paid: Answer
) -> None:
    bank.fault = "lost"
    assert acme.post(f"{PATH}/{paid['id']}/cancel", {})["status"] == "processing"
    bank.fault = None

    ask_on()
    sweep()

    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert_audit_is_clean()


def test_another_capture_is_no_contradiction_of_one_that_had_failed(
    acme: ApiClient, bank: ProtocolWay
) -> None:
    held = acme.pay(**MANUAL)
    for action in ("capture", "cancel"):
        bank.fault = "lost"
        acme.post(f"{PATH}/{held['id']}/{action}", {})
        bank.fault = None
        ask_on()
    bank.lost.clear()
    assert Modification.objects.get(kind="capture").due_at is not None

    assert acme.post(f"{PATH}/{held['id']}/capture", {})["status"] == "succeeded"
    ask_on()

    assert not Case.objects.exists()
    assert [row.due_at for row in Modification.objects.all()] == [None] * 3
    assert_audit_is_clean()


def test_a_capture_that_shows_while_another_release_is_at_the_bank_is_not_forgotten(
    acme: ApiClient, bank: ProtocolWay, paid: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme.post(f"{PATH}/{paid['id']}/cancel", {})

    def swept_meanwhile(*_: object) -> Outcome:
        sweep()
        return Outcome(BanksAnswer.NOT_SENT)

    with monkeypatch.context() as patched:
        patched.setattr("acquirers.hearing.HeardGateway.void", swept_meanwhile)
        assert acme.post(f"{PATH}/{paid['id']}/cancel", {}).status == 503
    sweep_after(30)

    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert_audit_is_clean()


def test_a_capture_that_was_booked_late_is_looked_at_once_more_after_the_banks_day(
    acme: ApiClient, bank: ProtocolWay, paid: Answer
) -> None:
    acme.post(f"{PATH}/{paid['id']}/cancel", {})
    sweep()
    assert Attempt.objects.get().due_at is not None

    sweep_after(2 * 86_400)

    assert Attempt.objects.get().due_at is None
    assert_audit_is_clean()


def test_money_that_the_bank_captured_by_itself_comes_to_a_person(
    acme: ApiClient, bank: ProtocolWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = acme.pay(**MANUAL)
    settled = Outcome(BanksAnswer.SETTLED)
    monkeypatch.setattr("acquirers.hearing.HeardGateway.void", lambda *_: settled)

    answers = [acme.post(f"{PATH}/{held['id']}/cancel", {}) for _ in range(2)]

    assert [one.refusal[:2] for one in answers] == [(400, "cancel_failed")] * 2
    assert Case.objects.get(intent=held["id"]).kind == "bank_contradicts_book"
