"""Payouts whose end is not known: silent banks, requests that never left, processes that died."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.conf import settings
from structlog.testing import capture_logs

from acquirers.conversation import settling
from acquirers.outcomes import Answer
from acquirers.rails import TransferLine, TransferOutcome
from acquirers.sandbox.transfers import SandboxTransfers
from acquirers.transfers import taking_in
from acquirers.transfers.models import TransferNotice
from audit import transfer_notices, transfers
from audit.transfer_notices import TransferNews
from core import clock
from ledger import book
from payouts import notices, sending, steps
from payouts.models import Payout
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.sweeper import Died, dies, leases_run_out, sweep, sweep_after
from tests.stage.transfers import (
    DELAY,
    at_the_bank,
    balance,
    hear,
    hear_after,
    pay_out,
    rich,
    shown,
    told,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

HOUR = 3600


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return rich(acme)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("fault", ["cut_after", "delay", "garble"])
def test_without_an_answer_it_is_in_transit_until_the_bank_tells(
    fault: str, shop: ApiClient, bank: BankTransport
) -> None:
    made = pay_out(shop)
    bank.fault = fault
    sweep_after(DELAY)
    assert shown(shop, made["id"])["status"] == "in_transit"
    bank.fault = None

    sweep_after(30)

    assert shown(shop, made["id"])["status"] == "paid"
    assert at_the_bank() == [(5000, "paid", 5000)]
    assert_audit_is_clean(despite_unknown=True)


def test_a_bank_that_is_away_for_an_hour_then_tells_the_truth(
    shop: ApiClient, bank: BankTransport
) -> None:
    made, lost = pay_out(shop), pay_out(shop, destination="test_declined")
    bank.fault = "cut_after"
    sweep_after(DELAY)
    for _ in range(12):
        sweep_after(300)
        assert shown(shop, made["id"])["status"] == "in_transit"
    bank.fault = None

    for _ in range(3):
        sweep_after(HOUR)

    assert shown(shop, made["id"])["status"] == "paid"
    assert shown(shop, lost["id"])["status"] == "failed"
    assert balance(shop) == 95_000
    assert_audit_is_clean(despite_unknown=True)


def test_what_never_left_is_sent_again(shop: ApiClient, bank: BankTransport) -> None:
    made = pay_out(shop)
    bank.fault = "cut_before"
    sweep_after(DELAY)
    assert shown(shop, made["id"])["status"] == "in_transit"
    bank.fault = None

    sweep_after(30)
    hear_after(5)

    assert shown(shop, made["id"])["status"] == "paid"
    assert at_the_bank() == [(5000, "paid", 5000)]


def test_what_was_lost_on_its_way_is_sent_again_and_leaves_once(
    shop: ApiClient, bank: BankTransport
) -> None:
    made = pay_out(shop)
    bank.fault = "lost"
    sweep_after(DELAY)
    bank.fault = None

    for _ in range(6):
        sweep_after(HOUR)
    hear_after(5)

    assert shown(shop, made["id"])["status"] == "paid"
    assert at_the_bank() == [(5000, "paid", 5000)]


def test_what_never_leaves_is_tried_at_growing_intervals(
    shop: ApiClient, bank: BankTransport
) -> None:
    pay_out(shop)
    bank.fault = "cut_before"

    sweep_after(DELAY)
    for tries in range(1, 4):
        sweep_after(HOUR)
        assert Payout.objects.get().inquiry_count == tries


def test_a_bank_that_may_not_be_asked_twice_is_inquired_by_the_schedule(
    shop: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SandboxTransfers, "references_are_idempotent", False)
    made = pay_out(shop)
    bank.fault = "lost"
    sweep_after(DELAY)
    bank.fault = None

    for inquiries in range(1, 6):
        sweep_after(10 * HOUR)
        assert Payout.objects.get().inquiry_count == inquiries
    assert shown(shop, made["id"])["status"] == "in_transit"
    assert at_the_bank() == []


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    ("module", "name", "afterwards"),
    [
        (sending.KIND, "begun", True),
        (sending.KIND, "ask", False),
        (sending.KIND, "ask", True),
        (settling, "settle", False),
        (settling, "settle", True),
    ],
)
def test_whenever_the_sender_dies_the_bank_has_it_once(
    module: object, name: str, afterwards: bool, shop: ApiClient
) -> None:
    made = pay_out(shop)
    with dies(module, name, afterwards=afterwards), pytest.raises(Died):
        sweep_after(DELAY)
    leases_run_out()

    for _ in range(8):
        sweep_after(HOUR)
    hear_after(5)

    assert shown(shop, made["id"])["status"] == "paid"
    assert at_the_bank() == [(5000, "paid", 5000)]
    assert told(shop, made["id"]) == ["created", "paid"]
    assert_audit_is_clean(despite_unknown=True)


@pytest.mark.parametrize("destination", ["main", "test_declined", "test_bounced"])
def test_each_notice_told_twice_changes_nothing(destination: str, shop: ApiClient) -> None:
    made = pay_out(shop, destination=destination)
    sweep_after(DELAY)
    hear_after(5)
    before, ended = shown(shop, made["id"]).body, told(shop, made["id"])

    for notice in TransferNotice.objects.order_by("number"):
        handler = notices.paid if notice.kind == "transfer_paid" else notices.failed
        if not (destination == "test_bounced" and notice.kind == "transfer_paid"):
            handler(notice)

    assert (shown(shop, made["id"]).body, told(shop, made["id"])) == (before, ended)
    assert_audit_is_clean()


def told_paid(payout_id: str, at: datetime) -> TransferNotice:
    """Store one more notice of the bank: the payout's money has arrived."""
    payout = Payout.objects.get(id=payout_id)
    return TransferNotice.objects.create(
        rail=settings.TRANSFERS, number=99, kind="transfer_paid", amount=payout.amount,
        reference=payout.acquirer_reference, currency=payout.currency, at=at,
        stored_at=clock.now(), next_try_at=clock.now(),
    )  # fmt: skip


def test_one_that_the_bank_pays_after_it_failed_is_left_to_a_person(shop: ApiClient) -> None:
    made = pay_out(shop, destination="test_declined")
    sweep_after(DELAY)
    hear_after(5)
    assert shown(shop, made["id"])["status"] == "failed"

    notice = told_paid(made["id"], clock.now())
    with capture_logs() as logs:
        hear()

    notice.refresh_from_db()
    [line] = [entry for entry in logs if entry["log_level"] == "error"]
    assert line == {
        "event": "transfer_notice_needs_person", "log_level": "error", "notice": notice.id,
        "reason": "PaidAfterItsEnd",
    }  # fmt: skip
    assert (notice.applied_at, notice.last_error) == (None, "PaidAfterItsEnd")
    [listed] = transfers.untold().unknown
    assert "PaidAfterItsEnd" in listed
    assert shown(shop, made["id"])["status"] == "failed"


def test_one_that_an_inquiry_found_returned_needs_nobody_for_its_older_notices(
    shop: ApiClient,
) -> None:
    made = pay_out(shop, destination="test_bounced")
    sweep_after(DELAY)
    clock.advance(timedelta(seconds=5))
    payout = Payout.objects.get(id=made["id"])
    settling.settle(sending.KIND, payout, TransferOutcome(Answer.DECLINED))

    hear()

    assert shown(shop, made["id"])["status"] == "failed"
    assert transfers.untold().unknown == []


def test_a_notice_of_money_that_came_back_since_may_come_again(shop: ApiClient) -> None:
    made = pay_out(shop, destination="test_bounced")
    sweep_after(DELAY)
    hear_after(5)
    first = TransferNotice.objects.get(kind="transfer_paid")

    told_paid(made["id"], first.at)
    hear()

    assert shown(shop, made["id"])["status"] == "failed"
    assert transfers.untold().unknown == []


def test_a_notice_of_nothing_we_sent_stays_and_stops_no_other(shop: ApiClient) -> None:
    row = {
        "rail": "other", "number": 1, "kind": "transfer_paid", "reference": "UNKNOWN",
        "amount": 1, "currency": "try", "at": clock.now(), "stored_at": clock.now(),
        "next_try_at": clock.now(),
    }  # fmt: skip
    TransferNotice.objects.create(**row)
    made = pay_out(shop)
    sweep_after(DELAY)

    hear_after(5)

    assert shown(shop, made["id"])["status"] == "paid"
    assert TransferNotice.objects.get(rail="other").last_error == "TransferNotKnown"


def test_a_payout_that_comes_back_and_is_not_given_back_is_found(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "payout_bounced", lambda *_args, **_options: None)
    pay_out(shop, destination="test_bounced")
    sweep_after(DELAY)
    hear_after(5)

    with pytest.raises(AssertionError, match="payouts are in the ledger"):
        assert_audit_is_clean()


def test_a_transfer_that_we_think_failed_and_the_bank_paid_is_found(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = steps.pay
    monkeypatch.setattr(
        steps, "pay", lambda payout, _trace, **_when: steps.fail(payout, "declined")
    )
    made = pay_out(shop)
    sweep_after(DELAY)
    hear_after(5)
    monkeypatch.setattr(steps, "pay", real)

    with pytest.raises(AssertionError, match=f"payout {made['id']} is failed .* 5000 of 5000"):
        assert_audit_is_clean()


def test_a_return_that_is_taken_in_while_the_audit_compares_is_no_difference(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay_out(shop, destination="test_bounced")
    sweep_after(DELAY)
    hear_after(2)
    clock.advance(timedelta(seconds=2))
    real = TransferNews.references

    def when_it_is_told(told: TransferNews) -> set[str]:
        hear()
        return real(told)

    monkeypatch.setattr(TransferNews, "references", when_it_is_told)

    found = transfers.check()

    assert (found.differences, Payout.objects.get().status) == ([], "failed")


def test_all_that_the_bank_has_yet_to_tell_explains_a_difference(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_notices, "PAGE", 1)
    for _ in range(3):
        pay_out(shop, destination="test_bounced")
    sweep_after(DELAY)
    hear_after(2)
    clock.advance(timedelta(seconds=2))

    found = transfers.check()

    assert (found.differences, len(found.unknown)) == ([], 3)


def test_a_bank_that_lost_its_numbers_is_no_error(shop: ApiClient, bank: BankTransport) -> None:
    bank.fault = "garble"

    hear_after(1)

    assert taking_in.last_number() == 0
    clock.advance(timedelta(seconds=1))
    sweep()
    assert Payout.objects.count() == 0


def test_a_line_that_is_older_than_the_banks_news_is_no_difference(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pay_out(shop, destination="test_bounced")
    sweep_after(DELAY)
    clock.advance(timedelta(seconds=3))
    real = SandboxTransfers.statement

    def read_before_the_news(self: SandboxTransfers) -> Iterator[TransferLine]:
        lines = list(real(self))
        hear_after(3)
        yield from lines

    monkeypatch.setattr(SandboxTransfers, "statement", read_before_the_news)

    found = transfers.check()

    assert shown(shop, made["id"])["status"] == "failed"
    assert (found.differences, len(found.unknown)) == ([], 1)
