"""Money of disputes: each end books the lines of contract-money's table."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from core import clock
from ledger.balance import funds
from payments.charging import installments
from payments.charging.installments import ChosenPlan
from tests.stage.booked import charge_fees, lines, movements, settle_everything
from tests.stage.complaints import Complaint

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

Another = Callable[..., Complaint]


@pytest.fixture
def charged(another: Another) -> Complaint:
    """A payment of 100.00, of which the merchant gets 97.25; not settled yet."""
    shop = another().shop
    charge_fees(shop.merchant)
    return another(amount=10_000)


@pytest.fixture
def settled(charged: Complaint) -> Complaint:
    settle_everything(charged.shop.merchant)
    return charged


@pytest.fixture
def with_surcharge(charged: Complaint, another: Another, monkeypatch: Any) -> Complaint:
    """A settled payment of 120.00 and 6.00 surcharge, in three installments."""
    monkeypatch.setattr(installments, "plan_of", lambda *_: ChosenPlan(3, surcharge=600))
    bought = another(amount=12_000)
    settle_everything(bought.shop.merchant)
    return bought


def refundable(complaint: Complaint) -> int:
    return complaint.shop.payment(complaint.payment_id)["amount_refundable"]


def totals(complaint: Complaint) -> dict[str, int]:
    """Return what the balance shows, in minor units."""
    shown = complaint.shop.get("/v1/balance").body
    return {name: shown[name][0]["amount"] for name in ("pending", "available", "reserved")}


# --- The reserve ------------------------------------------------------------------------------


def test_a_dispute_of_settled_money_is_reserved_from_what_is_available(settled: Complaint) -> None:
    settled.opened(amount=10_000)

    assert lines(settled.id) == {"available": -10_000, "reserved": 10_000}
    assert refundable(settled) == 0
    assert settled.shown()["is_payment_refundable"] is False


def test_a_dispute_of_unsettled_money_takes_the_payments_own_parts_first(
    charged: Complaint,
) -> None:
    charged.opened(amount=10_000)

    assert lines(charged.id) == {"pending": -9725, "available": -275, "reserved": 10_000}


def test_a_dispute_leaves_the_surcharges_share_where_it_is(with_surcharge: Complaint) -> None:
    with_surcharge.opened(amount=12_600)

    assert lines(with_surcharge.id) == {"available": -12_000, "reserved": 12_000}


def test_a_part_of_a_payment_may_be_disputed_and_the_rest_refunded(settled: Complaint) -> None:
    settled.opened(amount=4_000)

    assert (refundable(settled), settled.shown()["is_payment_refundable"]) == (6_000, True)
    assert lines(settled.id) == {"available": -4_000, "reserved": 4_000}


def test_a_dispute_asks_for_no_funds(charged: Complaint) -> None:
    charged.opened(amount=10_000)
    merchant = charged.shop.merchant

    # The earlier charges are pending, and pay for nothing yet.
    assert funds(merchant.id, "try").available < 0


def test_an_inquiry_moves_nothing(settled: Complaint) -> None:
    before = totals(settled)

    settled.inquired(amount=10_000)

    assert (lines(settled.id), totals(settled), refundable(settled)) == ({}, before, 10_000)


def test_an_inquiry_that_becomes_a_chargeback_is_reserved(settled: Complaint) -> None:
    settled.inquired(amount=10_000).escalated(amount=9_000)

    assert lines(settled.id) == {"available": -9_000, "reserved": 9_000}
    assert (settled.shown()["amount"], refundable(settled)) == (9_000, 1_000)


# --- Its ends ---------------------------------------------------------------------------------


def test_a_won_dispute_is_released(charged: Complaint) -> None:
    before = totals(charged)
    charged.opened(amount=10_000).won()

    assert movements(charged.id) == ["dispute_opened", "dispute_won"]
    assert (lines(charged.id), totals(charged), refundable(charged)) == ({}, before, 10_000)


def test_a_lost_dispute_goes_to_the_bank(settled: Complaint) -> None:
    settled.opened(amount=10_000).lost()

    assert lines(settled.id, "dispute_lost") == {"reserved": -10_000, "acquirer": 10_000}
    assert refundable(settled) == 0


def test_the_surcharges_share_of_a_lost_dispute_goes_with_it(with_surcharge: Complaint) -> None:
    with_surcharge.opened(amount=12_600).lost()

    assert lines(with_surcharge.id, "dispute_lost") == {
        "reserved": -12_000,
        "surcharge": -600,
        "acquirer": 12_600,
    }


def test_an_accepted_dispute_is_lost(settled: Complaint) -> None:
    settled.opened(amount=10_000).close()

    assert lines(settled.id, "dispute_lost") == {"reserved": -10_000, "acquirer": 10_000}
    assert totals(settled)["reserved"] == 0


def test_a_dispute_past_its_due_date_is_lost(settled: Complaint) -> None:
    settled.opened(amount=10_000).days_pass().jobs_run()

    assert lines(settled.id, "dispute_lost") == {"reserved": -10_000, "acquirer": 10_000}


def test_a_dispute_that_is_won_after_it_was_lost_comes_back(settled: Complaint) -> None:
    settled.opened(amount=10_000).lost().told("dispute_regained")

    assert lines(settled.id, "dispute_regained") == {"acquirer": -10_000, "available": 10_000}
    assert (refundable(settled), settled.status) == (10_000, "won")


def test_a_regained_dispute_brings_the_surcharges_share_back(with_surcharge: Complaint) -> None:
    with_surcharge.opened(amount=12_600).lost().won()

    assert lines(with_surcharge.id, "dispute_regained") == {
        "acquirer": -12_600,
        "surcharge": 600,
        "available": 12_000,
    }


def test_a_dispute_that_is_lost_after_it_was_won_is_taken_again(settled: Complaint) -> None:
    settled.opened(amount=10_000).won().lost()

    assert lines(settled.id, "dispute_lost") == {"available": -10_000, "acquirer": 10_000}
    assert (refundable(settled), settled.status) == (0, "lost")


def test_the_surcharges_share_is_taken_again_too(with_surcharge: Complaint) -> None:
    with_surcharge.opened(amount=12_600).won().lost()

    assert lines(with_surcharge.id, "dispute_lost") == {
        "available": -12_000,
        "surcharge": -600,
        "acquirer": 12_600,
    }


def test_what_was_refunded_since_it_was_won_is_taken_all_the_same(settled: Complaint) -> None:
    settled.opened(amount=10_000).won()
    settled.shop.refund(settled.payment_id)

    settled.lost()

    assert lines(settled.id, "dispute_lost") == {"available": -10_000, "acquirer": 10_000}
    assert refundable(settled) == 0


# --- Several disputes of one payment ----------------------------------------------------------


def test_two_disputes_of_one_payment_are_counted_together(settled: Complaint) -> None:
    first = settled.opened(amount=4_000).id
    settled.told("dispute_opened", dispute="BANK000000000000DP02", amount=5_000)

    assert refundable(settled) == 1_000
    settled.won()
    assert (lines(first), refundable(settled)) == ({}, 5_000)


def test_disputes_of_more_than_the_payment_are_recorded_all_the_same(settled: Complaint) -> None:
    settled.opened(amount=8_000)
    settled.told("dispute_opened", dispute="BANK000000000000DP02", amount=8_000)

    assert settled.payment.disputed_minor == 16_000
    assert refundable(settled) == 0
    assert totals(settled)["reserved"] == 16_000


@pytest.mark.parametrize("amount", [0, 10_001, None, -5])
def test_a_dispute_of_other_money_than_was_captured_is_left_to_a_person(
    charged: Complaint, amount: int | None
) -> None:
    charged.opened(amount=amount)

    assert charged.is_notice_kept
    assert charged.payment.disputed_minor == 0


def test_a_dispute_in_another_currency_is_left_to_a_person(charged: Complaint) -> None:
    charged.opened(amount=10_000, currency="usd")

    assert charged.is_notice_kept


def test_a_dispute_of_a_payment_that_is_not_captured_yet_waits_for_its_capture(
    another: Another,
) -> None:
    held = another(capture_method="manual")
    held.opened()
    assert held.is_notice_kept

    held.shop.post(f"/v1/payment_intents/{held.payment_id}/capture")
    clock.advance(timedelta(seconds=10))
    held.jobs_run()

    assert held.status == "needs_response"
