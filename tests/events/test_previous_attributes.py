"""`previous_attributes` holds changed fields only, an absent one as null (contract 2 and 8)."""

from typing import Any

import pytest

from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.doors import MANUAL
from tests.stage.factories import GOOD_CARD, unconfirmed
from tests.stage.walks import SECURE, Walk

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

NOTHING_YET = {
    "surcharge": 0, "amount_received": 0, "amount_capturable": 0, "captured_minor": 0,
    "refunded_minor": 0, "amount_refundable": 0,
}  # fmt: skip
# Fields that a payment in requires_action does not show, and shows again afterwards.
SHOWN_AGAIN = dict.fromkeys([*NOTHING_YET, "card"])


@pytest.fixture
def walk(acme: ApiClient, bank: BankTransport) -> Walk:
    return Walk(acme, bank)


def before(walk: Walk) -> dict[str, Any]:
    """Return the last event's previous attributes."""
    return walk.events()[-1]["data"]["previous_attributes"]


def test_what_becomes_absent_is_told_with_its_old_value(walk: Walk) -> None:
    card = walk.create(**unconfirmed()).shown()["card"]

    walk.confirm(GOOD_CARD, **SECURE)

    assert before(walk) == {
        **NOTHING_YET,
        "card": card,
        "status": "requires_confirmation",
        "three_d_secure": {"requested": "automatic", "effective": "automatic"},
        "next_action": None,
        "return_url": None,
        "fraud": None,
        "latest_attempt": None,
        "attempts": [],
    }


def test_what_was_null_and_becomes_absent_has_not_changed(walk: Walk) -> None:
    walk.create().confirm(GOOD_CARD, **SECURE)

    assert before(walk).keys() >= NOTHING_YET.keys()
    assert "card" not in before(walk)
    assert "amount_charged" not in before(walk)


def test_what_is_shown_again_was_null(walk: Walk) -> None:
    action = walk.pay(**SECURE).shown()["next_action"]

    walk.come_back()

    told = before(walk)
    told["fraud"].pop("updated", None)  # The bank's answer may come in a new second.
    assert told == {
        **SHOWN_AGAIN,
        "amount_charged": None,
        "status": "requires_action",
        "next_action": action,
        "fraud": {"risk_score": 10},
    }


@pytest.mark.parametrize("button", ["Reject", "Cancel"])
def test_a_payer_who_refuses_changes_the_error(button: str, walk: Walk) -> None:
    action = walk.pay(**SECURE).shown()["next_action"]

    walk.come_back(button)

    assert before(walk) == {
        **SHOWN_AGAIN,
        "status": "requires_action",
        "next_action": action,
        "last_payment_error": None,
    }


def test_a_new_action_tells_its_old_address_and_nothing_around_it(walk: Walk) -> None:
    first = walk.pay(**SECURE).shown()

    walk.confirm(GOOD_CARD, **SECURE)

    told = before(walk)
    told.pop("fraud", None)  # The new attempt may be judged in a new second.
    assert told == {
        "next_action": {"redirect_to_url": {"url": first["next_action"]["redirect_to_url"]["url"]}},
        "latest_attempt": first["latest_attempt"],
        "attempts": first["attempts"],
    }


def test_a_canceled_payment_had_no_date_of_it(walk: Walk) -> None:
    action = walk.pay(**SECURE).shown()["next_action"]

    walk.cancel(reason="duplicate")

    assert before(walk) == {
        **SHOWN_AGAIN,
        "status": "requires_action",
        "next_action": action,
        "canceled_at": None,
        "cancellation_reason": None,
    }


def test_an_unanswered_capture_changes_the_status_alone(walk: Walk) -> None:
    walk.pay(**MANUAL).cut_off("cut_after").capture()
    assert before(walk) == {"status": "requires_capture"}

    walk.reach_again().sweep(10)

    assert before(walk) == {
        "status": "processing",
        "amount_charged": None,
        "amount_received": 0,
        "amount_capturable": 12500,
        "captured_minor": 0,
        "amount_refundable": 0,
    }


def test_a_refused_capture_tells_what_could_have_been_captured(walk: Walk) -> None:
    walk.pay("4000001100000066", **MANUAL).capture()

    assert before(walk) == {
        "status": "requires_capture",
        "amount_capturable": 12500,
        "last_payment_error": None,
    }
