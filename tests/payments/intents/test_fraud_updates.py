"""Verdicts that come later: the bank's warning, once, and a person's word."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from acquirers.models import Terminal
from acquirers.noticed import Notice as Told
from acquirers.notices import storing
from acquirers.notices.models import Inbox, Notice
from core import clock
from core.errors import PermissionDenied, ResourceMissing
from merchants.models import AuditEntry, RequestLog, User
from payments.charging import fraud_updates
from payments.charging.fraud_updates import ReasonMissing
from payments.intents.models import Attempt
from payments.intents.refusals import IntentUnexpectedState
from payments.risk import verdicts
from payments.risk.verdicts import FraudStatus
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import RETURN_URL, confirmation, three_d_secure
from tests.stage.notifier import Notifier, take_in
from tests.stage.processes import run
from tests.stage.risky import APPROVED, paid_by, set_rule
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

REPORTED_CARD = "4000000000005423"
WARNED = ["created", "succeeded", "fraud_updated"]
POLLERS = 4


@pytest.fixture
def operator() -> User:
    user = User.objects.create_user("operator@pay.example", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="judge_fraud"))
    return User.objects.get(pk=user.pk)


def warn(notifier: Notifier, payment_id: str, **more: Any) -> Told:
    return notifier.tell("fraud_warning", payment_id, dispute=None, due_by=None, **more)


def poll() -> None:
    Inbox.objects.update(held_until=None)
    take_in()


def verdict(client: ApiClient, payment_id: str) -> tuple[str, str, int, str | None]:
    shown = client.payment(payment_id)["fraud"]
    return shown["status"], shown["risk_level"], shown["risk_score"], shown["rule"]


def test_the_reported_card_is_fraud_within_five_seconds(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = paid_by(acme, REPORTED_CARD)
    take_in()
    assert paid["fraud"]["status"] == acme.payment(paid["id"])["fraud"]["status"] == "clear"

    clock.advance(timedelta(seconds=5))
    poll()

    assert verdict(acme, paid["id"]) == ("fraud", "highest", 100, "bank_warning")
    assert acme.told(paid["id"]) == WARNED
    event = acme.events_of(paid["id"])[-1]
    assert set(event["data"]["previous_attributes"]) == {"fraud"}
    assert event["data"]["previous_attributes"]["fraud"]["status"] == "clear"
    assert RequestLog.objects.filter(id=event["request_id"], kind="job").exists()
    assert Notice.objects.get().applied_at is not None


def test_a_warning_changes_no_money(
    acme: ApiClient, bank: BankTransport, notifier: Notifier
) -> None:
    paid = paid_by(acme)
    warn(notifier, paid["id"])
    take_in()

    after = acme.payment(paid["id"]).body

    unlike = {name for name, value in after.items() if paid[name] != value}
    assert unlike == {"fraud"}


def test_later_warnings_of_a_payment_change_nothing(
    acme: ApiClient, bank: BankTransport, notifier: Notifier, operator: User
) -> None:
    paid = paid_by(acme)
    warn(notifier, paid["id"])
    warn(notifier, paid["id"])
    take_in()
    assert acme.told(paid["id"]) == WARNED

    fraud_updates.judge(
        operator, paid["id"], FraudStatus.CLEAR, reason="The cardholder was mistaken."
    )
    warn(notifier, paid["id"])
    poll()

    assert verdict(acme, paid["id"]) == ("clear", "normal", 10, "person")
    assert acme.told(paid["id"]) == [*WARNED, "fraud_updated"]


def test_warnings_out_of_order_and_told_twice_are_applied_once(
    acme: ApiClient, bank: BankTransport, notifier: Notifier
) -> None:
    paid = [paid_by(acme)["id"] for _ in range(2)]
    warn(notifier, paid[0], number=3)
    warn(notifier, paid[1], number=1)
    warn(notifier, paid[0], number=2)
    notifier.told += notifier.told[:2]

    take_in()
    poll()

    assert [acme.told(one) for one in paid] == [WARNED, WARNED]


def test_a_warning_that_counted_each_time_would_be_seen(
    acme: ApiClient, bank: BankTransport, notifier: Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned_first = verdicts.with_banks_warning

    def warned_anew(verdict: verdicts.RiskVerdict, *, at: int) -> verdicts.RiskVerdict:
        clock.advance(timedelta(seconds=1))
        return warned_first(replace(verdict, is_warned=False), at=at)

    monkeypatch.setattr(verdicts, "with_banks_warning", warned_anew)
    paid = paid_by(acme)
    warn(notifier, paid["id"])
    warn(notifier, paid["id"])
    take_in()

    assert acme.told(paid["id"]) == [*WARNED, "fraud_updated"]


def test_a_warning_about_an_unknown_reference_waits_and_stops_no_other(
    acme: ApiClient, bank: BankTransport, notifier: Notifier
) -> None:
    paid = paid_by(acme)
    notifier.tell_of("fraud_warning", "NOBODY00000000000001", dispute=None)
    warn(notifier, paid["id"])

    take_in()

    assert acme.told(paid["id"]) == WARNED
    unknown = Notice.objects.get(reference="NOBODY00000000000001")
    assert (unknown.applied_at, unknown.last_error) == (None, "NotKnown")


def test_pollers_that_meet_warn_once(
    acme: ApiClient, bank: BankTransport, notifier: Notifier
) -> None:
    paid = [paid_by(acme)["id"] for _ in range(3)]
    for one in paid * 2:
        warn(notifier, one)

    together([poll] * POLLERS)
    poll()

    assert [acme.told(one) for one in paid] == [WARNED] * 3


@pytest.mark.parametrize(
    "boundary",
    ["with a notice in its hands", "between applying a notice and going on"],
)
def test_a_poller_that_is_killed_loses_no_warning_and_doubles_none(
    boundary: str, acme: ApiClient, bank: BankTransport, notifier: Notifier
) -> None:
    paid = paid_by(acme)["id"]
    told = warn(notifier, paid)
    storing.store(Terminal.objects.get(), notifier.told)  # And left to the one that dies.

    dying = {"DIES": boundary, "DIES_AT": str(told.number)}
    status, said = run("-m", "tests.stage.deadly_poller", **dying)
    assert status == -9, said
    poll()

    assert acme.told(paid) == WARNED


def test_a_warning_before_the_answer_is_shown_with_it(
    acme: ApiClient, bank: BankTransport, notifier: Notifier
) -> None:
    def warn_now() -> None:
        bank.meanwhile = lambda: None
        payment_id = Attempt.objects.get().intent_id
        warn(notifier, payment_id)
        take_in()

    bank.meanwhile = warn_now

    paid = paid_by(acme)

    assert paid["status"] == "succeeded"
    assert verdict(acme, paid["id"]) == ("fraud", "highest", 100, "bank_warning")
    assert acme.told(paid["id"]) == ["created", "succeeded"]


# --- A person's word --------------------------------------------------------------------------


def test_a_person_clears_a_payment_in_review(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    set_rule(acme.merchant, "amount", "review", 1, currency="try")
    paid = paid_by(acme)["id"]

    fraud_updates.judge(operator, paid, FraudStatus.CLEAR, reason="A regular customer.")
    fraud_updates.judge(operator, paid, FraudStatus.CLEAR, reason="Once more.")

    assert verdict(acme, paid) == ("clear", "normal", 10, "person")
    assert acme.told(paid) == WARNED
    rows = AuditEntry.objects.filter(action="payment.judged", subject=paid).order_by("sequence")
    assert [(row.before["fraud"], row.after["fraud"], row.reason) for row in rows] == [
        ("review", "clear", "A regular customer."), ("clear", "clear", "Once more."),
    ]  # fmt: skip


def test_a_persons_word_is_final_until_the_bank_says_otherwise(
    acme: ApiClient, bank: BankTransport, notifier: Notifier, operator: User
) -> None:
    paid = paid_by(acme)["id"]
    fraud_updates.judge(operator, paid, FraudStatus.FRAUD, reason="Stolen card, the police called.")
    assert verdict(acme, paid) == ("fraud", "highest", 100, "person")
    fraud_updates.judge(operator, paid, FraudStatus.CLEAR, reason="They meant another payment.")

    warn(notifier, paid)
    take_in()

    assert verdict(acme, paid) == ("fraud", "highest", 100, "bank_warning")


def test_another_card_has_a_verdict_of_its_own(
    acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    waiting = paid_by(acme, return_url=RETURN_URL, **three_d_secure("required"))["id"]

    fraud_updates.judge(operator, waiting, FraudStatus.FRAUD, reason="We know this one.")
    path = f"/v1/payment_intents/{waiting}/confirm"
    again = acme.post(path, {**confirmation(APPROVED[1]), **three_d_secure("none")})

    assert again["fraud"]["rule"] is None
    assert acme.told(waiting)[-2:] == ["fraud_updated", "succeeded"]


def test_who_may_not_judge_is_refused(acme: ApiClient, bank: BankTransport, operator: User) -> None:
    paid = paid_by(acme)["id"]
    stranger = User.objects.create_user("stranger@pay.example", is_staff=True)
    made = acme.post("/v1/payment_intents", {"amount": 100, "currency": "try"})["id"]
    judge = partial(fraud_updates.judge, reason="Because.")

    with pytest.raises(PermissionDenied):
        judge(stranger, paid, FraudStatus.FRAUD)
    with pytest.raises(ReasonMissing):
        fraud_updates.judge(operator, paid, FraudStatus.FRAUD, reason=" ")
    with pytest.raises(ResourceMissing):
        judge(operator, "pi_unknown", FraudStatus.FRAUD)
    with pytest.raises(IntentUnexpectedState):
        judge(operator, made, FraudStatus.FRAUD)
    with pytest.raises(ValueError, match="review"):
        judge(operator, paid, FraudStatus.REVIEW)
    assert acme.told(paid) == ["created", "succeeded"]
