"""Every action is tried in every state of a refund; one table holds the right answers."""

import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from django.db import IntegrityError, transaction

from acquirers.notices.refusals import NotKnown
from events.transitions import UnlistedTransition
from ledger.models import Price
from payments.intents.models import Attempt, PaymentIntent
from payments.refunds import notices, render, steps, tasks
from payments.refunds.models import Refund
from payments.refunds.states import REFUNDS, RefundStatus
from tests.stage.bank_days import begin_at_noon, end_the_day, wait_for_refunds
from tests.stage.bank_transport import BankTransport
from tests.stage.both_banks import NESTPAY
from tests.stage.client import REFUNDS as PATH
from tests.stage.client import Answer, ApiClient
from tests.stage.sweeper import sweep, sweep_after
from tests.stage.walks import assert_tells_its_change

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.at_the_old_bank,
    pytest.mark.django_db(databases=["default", "bank"]),
]

# A status: it has it now. same: nothing has changed. refused: 400 with the refund, and the same.
# sent: it waits for funds no more. "-" is what cannot be.
EVERY_ACTION = """
                 description  cancel    ask        money  a month    dispute  bounce
waits for funds  same         canceled  same       sent   failed     failed   -
was not sent     same         canceled  succeeded  same   succeeded  same     -
is at the bank   same         refused   succeeded  same   succeeded  same     failed
pends there      same         refused   same       same   succeeded  same     failed
succeeded        same         refused   same       same   same       same     failed
was voided       same         refused   same       same   same       same     -
failed           same         refused   same       same   same       same     same
bounced          same         refused   same       same   same       same     same
canceled         same         refused   same       same   same       same     -
"""
HEADER, *TABLE = [re.split(r"  +", line) for line in EVERY_ACTION.strip("\n").splitlines()]
ANSWERS = {row[0]: dict(zip(HEADER[1:], row[1:], strict=True)) for row in TABLE}
# A bank that takes a repeated refund for another one is sent it again once "no record" is believed,
# which is the third time.
WITHOUT_NAMES = {("is at the bank", "ask"): "same", ("is at the bank", "a month"): "same"}
# One bank gives a refund that pends a number of its own, and names it in its history alone.
AT_NESTPAY = {("pends there", "ask"): "numbered"}
MONTH = 30 * 86_400


class Told(NamedTuple):
    """A notice that a refund bounced, as the bank tells it."""

    refund_reference: str | None
    network_reason_code: str | None = None


@dataclass
class Stage:
    """A merchant, its bank, and the refund that the actions are about."""

    shop: ApiClient
    bank: BankTransport
    refund_id: str = ""

    def shown(self) -> dict[str, Any]:
        return self.shop.refunded(self.refund_id).body

    def pay(self, number: str = "4242424242424242") -> str:
        begin_at_noon()
        return self.shop.pay(number)["id"]

    def refund(self, number: str = "4242424242424242", amount: int | None = 4000) -> None:
        payment_id = self.pay(number)
        if amount is not None:
            wait_for_refunds(self.bank)
        self.refund_id = self.shop.refund(payment_id, amount)["id"]

    @contextmanager
    def cut_off(self, fault: str) -> Any:
        payment_id = self.pay()
        wait_for_refunds(self.bank)
        self.bank.fault = fault
        self.refund_id = self.shop.refund(payment_id, 4000)["id"]
        yield
        self.bank.fault = None


# --- States -----------------------------------------------------------------------------------


def waits_for_funds(stage: Stage) -> None:
    price = Price.objects.create(merchant=stage.shop.merchant, currency="try", bps=10_000)
    payment_id = stage.pay()
    price.delete()
    end_the_day()
    stage.refund_id = stage.shop.refund(payment_id)["id"]


def was_not_sent(stage: Stage) -> None:
    with stage.cut_off("cut_before"):
        pass


def is_at_the_bank(stage: Stage) -> None:
    with stage.cut_off("lost"):
        pass


def was_canceled(stage: Stage) -> None:
    was_not_sent(stage)
    stage.shop.post(f"{PATH}/{stage.refund_id}/cancel")


def has_bounced(stage: Stage) -> None:
    stage.refund()
    bounce(stage)


STATES: dict[str, Callable[[Stage], None]] = {
    "waits for funds": waits_for_funds,
    "was not sent": was_not_sent,
    "is at the bank": is_at_the_bank,
    "pends there": lambda stage: stage.refund("4000000000007726"),
    "succeeded": lambda stage: stage.refund(),
    "was voided": lambda stage: stage.refund(amount=None),
    "failed": lambda stage: stage.refund("4000001100000074"),
    "bounced": has_bounced,
    "canceled": was_canceled,
}


# --- Actions ----------------------------------------------------------------------------------


def describe(stage: Stage) -> Answer:
    said = stage.shop.post(f"{PATH}/{stage.refund_id}", {"description": "Tea"})
    stage.shop.post(f"{PATH}/{stage.refund_id}", {"description": None})
    return said


def cancel(stage: Stage) -> Answer:
    return stage.shop.post(f"{PATH}/{stage.refund_id}/cancel")


def ask_the_bank(stage: Stage) -> None:
    """Let the sweeper ask at once about what is on its way: too early for what pends there."""
    on_the_way = Refund.objects.filter(pending_reason="processing")
    on_the_way.update(due_at="2026-01-01T00:00:00Z")
    sweep()


def money_comes(stage: Stage) -> None:
    stage.shop.pay()
    tasks.send_waiting()


def a_dispute_opens(stage: Stage) -> None:
    payments = PaymentIntent.objects.filter(id=stage.shown()["payment_intent"])
    payments.update(disputed_minor=12500)
    tasks.send_waiting()
    payments.update(disputed_minor=0)


def bounce(stage: Stage) -> None:
    refund = Refund.objects.get(id=stage.refund_id)
    attempt = Attempt.objects.get(id=refund.attempt_id)
    with transaction.atomic():
        notices.refund_bounced(Told(refund.acquirer_reference), attempt)


ACTIONS: dict[str, Callable[[Stage], Answer | None]] = {
    "description": describe,
    "cancel": cancel,
    "ask": ask_the_bank,
    "money": money_comes,
    "a month": lambda stage: sweep_after(MONTH),
    "dispute": a_dispute_opens,
    "bounce": bounce,
}


def said(stage: Stage, action: str) -> str:
    """Do it; return what the table above calls the answer."""
    before, told = stage.shown(), stage.shop.events_of(stage.refund_id)
    try:
        answer = ACTIONS[action](stage)
    except NotKnown:
        return "-"
    after = stage.shown()
    if answer is not None and answer.status != 200:
        assert answer.refusal == (400, "refund_unexpected_state", None)
        assert answer.error["refund"] == before == after
        return "refused"
    _assert_told(stage, told, before, after)
    if after["status"] != before["status"]:
        return after["status"]
    changed = {name for name in after if after[name] != before[name]}
    return "numbered" if changed == {"reference"} else "sent" if changed else "same"


def _assert_told(stage: Stage, told: list[Any], before: Any, after: Any) -> None:
    """Hold each new event against the one before, and the last against what is shown."""
    former = before
    for event in stage.shop.events_of(stage.refund_id)[len(told) :]:
        assert_tells_its_change(former, event["data"])
        former = event["data"]["object"]
    assert former == after, "changed without an event"


@pytest.fixture
def stage(acme: ApiClient, bank: BankTransport) -> Stage:
    return Stage(acme, bank)


@pytest.mark.dear("tries each action in each state")
@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("state", STATES)
def test_every_action_in_every_state(state: str, action: str, stage: Stage, door: str) -> None:
    STATES[state](stage)

    expected = ANSWERS[state][action]
    if not stage.bank.repeats:
        expected = WITHOUT_NAMES.get((state, action), expected)
    if door == NESTPAY:
        expected = AT_NESTPAY.get((state, action), expected)
    assert said(stage, action) == expected


def test_the_table_has_every_state_and_every_action() -> None:
    assert ANSWERS.keys() == STATES.keys()
    assert set(HEADER[1:]) == ACTIONS.keys()


# --- The table of changes ---------------------------------------------------------------------


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("state", STATES)
def test_a_status_that_is_not_listed_next_is_refused(state: str, stage: Stage) -> None:
    STATES[state](stage)
    row = Refund.objects.filter(id=stage.refund_id)
    status = row.get().status

    for after in RefundStatus:
        if (status, after) in REFUNDS.pairs or after == status:
            continue
        with pytest.raises(UnlistedTransition):
            steps.move(row.get(), after, render.refund(row.get()))
        with pytest.raises(IntegrityError, match="does not move"), transaction.atomic():
            row.update(status=after)


def test_every_listed_change_was_made_above() -> None:
    made = {
        (_begins(state), _ends(state, answer))
        for state, answers in ANSWERS.items()
        for answer in answers.values()
        if answer not in ("refused", "-", "same")
    }

    assert made == {(str(before), str(after)) for before, after in REFUNDS.pairs}


def _begins(state: str) -> str:
    ended = {"was voided": "succeeded", "bounced": "failed"}
    return ended.get(state, state) if state in (*RefundStatus, *ended) else "pending"


def _ends(state: str, answer: str) -> str:
    return _begins(state) if answer == "sent" else answer
