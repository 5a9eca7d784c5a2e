"""Every action is tried in every state of a payment; one table holds the right answers."""

import re

import pytest

from payments.intents.states import PaymentStatus
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.doors import DOORS, STARTS, starting
from tests.stage.walks import Walk

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

# A status: 200, and the payment has it now (302 for the payer who comes back). same: likewise,
# and nothing has changed. The refusals are below; "-" is what cannot be.
EVERY_ACTION = """
                         description  amount   card       confirm    capture    cancel    return
requires_payment_method  same         same     succeeded  no card    refused    canceled  -
… whose card failed      same         refused  succeeded  no card    refused    canceled  same
requires_confirmation    same         same     succeeded  succeeded  refused    canceled  -
requires_action          same         refused  succeeded  no code    refused    canceled  succeeded
processing               same         refused  refused    refused    refused    refused   same
requires_capture         same         refused  refused    refused    succeeded  canceled  same
succeeded                same         refused  refused    refused    refused    refused   same
canceled                 same         refused  refused    refused    refused    refused   same
"""
CARD_FAILED = "… whose card failed"
REFUSALS = {
    (400, "payment_intent_unexpected_state", None): "refused",
    (400, "parameter_missing", "payment_method_data"): "no card",
    (400, "parameter_missing", "payment_method_data[card][cvc]"): "no code",
}
ACTIONS = {
    "description": "new description", "amount": "new amount", "card": "confirm with a card",
    "confirm": "confirm", "capture": "capture", "cancel": "cancel", "return": "come back",
}  # fmt: skip
HEADER, *ROWS = [re.split(r"  +", line) for line in EVERY_ACTION.strip("\n").splitlines()]


def said(walk: Walk, action: str) -> str:
    """Do it, and come back to before; return what the table above calls the answer."""
    began = walk.status
    with walk.rehearsal():
        answer = DOORS[ACTIONS[action]](walk).answered
        if answer is None:
            return "-"
        if answer.status in (200, 302):
            return "same" if walk.status == began else walk.status
        word = REFUSALS[answer.refusal]
        assert answer.error.get("payment_intent") == (walk.shown() if word == "refused" else None)
        return word


@pytest.fixture
def walk(acme: ApiClient, bank: BankTransport) -> Walk:
    return Walk(acme, bank)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(("state", "answers"), [(row[0], row[1:]) for row in ROWS])
def test_every_action_in_every_state(state: str, answers: list[str], walk: Walk) -> None:
    failed = STARTS["requires_payment_method"]["card failed"]
    failed(walk) if state == CARD_FAILED else starting(walk, state)

    assert [said(walk, action) for action in HEADER[1:]] == answers


def test_the_actions_table_has_every_state() -> None:
    assert {row[0] for row in ROWS} == {*PaymentStatus, CARD_FAILED}
    assert set(HEADER[1:]) == ACTIONS.keys()
    assert {len(row) for row in ROWS} == {len(HEADER)}
