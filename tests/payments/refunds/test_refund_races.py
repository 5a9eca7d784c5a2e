"""Refunds that meet: whatever their order, what was captured goes back once, and no more (I2).

Each check is also run against a service whose guard was taken away, for a race that cannot be lost
proves nothing.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
from django.db import IntegrityError, transaction

from ledger.models import Account, LedgerEntry, Movement, Price
from payments.charging import installments
from payments.intents import given_back as writers
from payments.intents.models import PaymentIntent
from payments.refunds import steps, tasks
from payments.refunds.models import Refund
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon, end_the_day, wait_for_refunds
from tests.stage.bank_transport import BankTransport
from tests.stage.client import REFUNDS, Answer, ApiClient
from tests.stage.lengths import length, tried
from tests.stage.races import deadlocks
from tests.stage.refund_books import GivenBack, given_back
from tests.stage.sweeper import on_one_thread_each, sweep, sweep_after
from tests.stage.threads import at_once, team, together
from tests.stage.web_process import WebProcess

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

MANY = 40
ROUNDS = length(short=8, full=50)
BUSY = ("lock_timeout", "upstream_unavailable", "overloaded")


@pytest.fixture(autouse=True)
def _sweepers_ask_where_they_are() -> Iterator[None]:
    with on_one_thread_each():
        yield


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    begin_at_noon()
    return acme.pay(amount=12000)["id"]


def patiently(ask: Callable[[], Answer]) -> Callable[[], Answer]:
    """Return a call that is made again for as long as it is told to come back later."""

    def call() -> Answer:
        while (answer := ask()).status >= 400 and answer.error["code"] in BUSY:
            time.sleep(0.05)
        return answer

    return call


def refunding(client: ApiClient, payment_id: str, amount: int | None, **given: Any) -> Any:
    twin = client.twin()
    return patiently(lambda: twin.refund(payment_id, amount, **given))


def sums(*kinds: str) -> int:
    """Return what the ledger has in accounts of these kinds, in minor units."""
    entries = LedgerEntry.objects.filter(account__kind__in=kinds)
    return sum(entries.values_list("amount", flat=True))


# --- Together never more than was captured ----------------------------------------------------


@pytest.mark.not_at_real_doors("one refund of a payment is at such a bank at a time")
@pytest.mark.both_banks
@pytest.mark.at_the_old_bank
def test_forty_refunds_at_once_give_back_exactly_what_was_captured(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    before = deadlocks()

    answers = at_once([refunding(acme, paid, 600) for _ in range(MANY)])

    told = Counter(one["status"] if one.status == 200 else one.error["code"] for one in answers)
    assert told == {"succeeded": 20, "payment_already_refunded": 20}
    assert given_back(paid) == GivenBack(12000, 12000)
    assert sums("pending", "available", "refunds", "acquirer") == 0
    assert deadlocks() == before
    assert_audit_is_clean()


def test_forty_whole_refunds_at_once_are_one(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    answers = at_once([refunding(acme, paid, None) for _ in range(MANY)])

    assert Counter(one.status for one in answers) == {200: 1, 400: MANY - 1}
    assert given_back(paid) == GivenBack(12000, 12000)
    assert Refund.objects.get().method == "void"
    assert_audit_is_clean()


def test_a_void_and_a_part_at_once_are_one_or_the_other(
    acme: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    for _ in range(ROUNDS):
        payment_id = acme.pay()["id"]

        whole, part = together([
            refunding(acme, payment_id, 12500), refunding(acme, payment_id, 100),
        ])  # fmt: skip

        won = (whole if whole.status == 200 else part)["amount"]
        assert {whole.status, part.status} == {200, 400}
        assert given_back(payment_id) == GivenBack(won, won)
    assert_audit_is_clean()


def test_the_check_sees_a_service_that_counts_no_refunds(
    paid: str, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last guard is the database's: refunded is within captured."""
    monkeypatch.setattr(writers, "reserve_refund", lambda _intent, _amount: None)

    at_once([refunding(acme, paid, 600) for _ in range(4)])

    with pytest.raises(AssertionError):
        given_back(paid)
    with pytest.raises(IntegrityError, match="refunded_is_within_captured"):
        PaymentIntent.objects.update(refunded_minor=12001)


@pytest.mark.slow
def test_forty_refunds_over_several_processes_give_back_exactly_what_was_captured(
    acme: ApiClient, bank: BankTransport, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        stack.enter_context(_stopped := ExitStack())
        bank_process = WebProcess(tmp_path / "bank.log", "testbank.wsgi")
        _stopped.callback(bank_process.stop)
        webs = []
        for name in ("one", "two"):
            settings = {"TESTBANK_URL": bank_process.url, "WEB_WORKERS": "2"}
            webs.append(WebProcess(tmp_path / f"{name}.log", **settings))
            _stopped.callback(webs[-1].stop)
        payment_id = acme.pay(amount=12000)["id"]

        told = together([_posting(webs[n % 2], acme, payment_id, 600) for n in range(MANY)])

    assert Counter(told) == {"200": 20, "payment_already_refunded": 20}
    assert given_back(payment_id) == GivenBack(12000, 12000)
    assert_audit_is_clean()


def _posting(web: WebProcess, client: ApiClient, payment_id: str, amount: int) -> Any:
    body = {"payment_intent": payment_id, "amount": amount}
    headers = {"Authorization": f"Bearer {client.key}"}

    def post() -> str:
        while True:
            answer = requests.post(f"{web.url}{REFUNDS}", json=body, headers=headers, timeout=60)
            code = "200" if answer.status_code == 200 else answer.json()["error"]["code"]
            if code not in BUSY:
                return code
            time.sleep(0.05)

    return post


# --- The surcharge's remainder ----------------------------------------------------------------


@pytest.mark.parametrize("returns_fee", [False, True])
def test_the_last_two_refunds_at_once_share_surcharge_and_fee_to_the_last_kurus(
    returns_fee: bool, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = installments.ChosenPlan(3, surcharge=601)
    monkeypatch.setattr(installments, "plan_of", lambda *_asked: plan)
    Price.objects.create(
        merchant=acme.merchant, currency="try", bps=333, fixed=7, returns_fee=returns_fee
    )
    begin_at_noon()
    other = acme.pay(amount=50_000)["id"]  # Its money pays the fees that refunds do not return.
    for _ in range(ROUNDS):
        payment_id = acme.pay(amount=12001)["id"]
        acme.refund(payment_id, 5001)

        answers = at_once([refunding(acme, payment_id, part) for part in (3333, 4268)])

        assert [one["status"] for one in answers] == ["succeeded", "succeeded"]
        assert given_back(payment_id) == GivenBack(12602, 12602)
        assert _left_of(payment_id, "surcharge") == 0
        assert (_left_of(payment_id, "fees") == 0) == returns_fee
    assert given_back(other) == GivenBack(0, 0)
    assert_audit_is_clean()


def _left_of(payment_id: str, kind: str) -> int:
    attempt = PaymentIntent.objects.get(id=payment_id).attempts.get()
    entries = LedgerEntry.objects.filter(movement__charge_id=attempt.id, account__kind=kind)
    return sum(entries.values_list("amount", flat=True))


# --- One key ----------------------------------------------------------------------------------


@pytest.mark.both_banks
@pytest.mark.at_the_old_bank
def test_one_key_at_once_is_one_refund(paid: str, acme: ApiClient, bank: BankTransport) -> None:
    wait_for_refunds(bank)
    bank.pause_seconds = 0.2

    answers = at_once([
        partial(acme.twin().refund, paid, 600, idempotency_key="k") for _ in range(8)
    ])  # fmt: skip

    assert {one.status for one in answers} <= {200, 409}
    assert Refund.objects.count() == 1
    bank.pause_seconds = 0.0
    assert acme.refund(paid, 600, idempotency_key="k")["status"] == "succeeded"
    assert given_back(paid) == GivenBack(600, 600)


# --- With what else may happen to the payment -------------------------------------------------


@pytest.mark.parametrize("action", ["capture", "cancel"])
def test_a_refund_meets_a_capture_or_a_cancellation(
    action: str, acme: ApiClient, bank: BankTransport
) -> None:
    told: Counter[str] = Counter()
    begin_at_noon()
    for _ in range(ROUNDS):
        payment_id = acme.pay(capture_method="manual")["id"]
        path, twins = f"/v1/payment_intents/{payment_id}/{action}", (acme.twin(), acme.twin())

        done, refunded = together([
            lambda twin=twins[0], path=path: twin.post(path),
            lambda twin=twins[1], one=payment_id: twin.refund(one, 4000),
        ])  # fmt: skip

        assert done["status"] == ("succeeded" if action == "capture" else "canceled")
        told[str(refunded.status if refunded.status == 200 else refunded.error["code"])] += 1
        back = 4000 if refunded.status == 200 else 0
        assert given_back(payment_id) == GivenBack(back, back)
    may = {"payment_intent_unexpected_state", "lock_timeout"}
    assert set(told) <= may | ({"200"} if action == "capture" else set()), told
    assert_audit_is_clean()


@pytest.mark.proof(part="races")
@pytest.mark.timeout(900)
@pytest.mark.both_banks
@pytest.mark.at_the_old_bank
def test_a_cancellation_meets_the_sweeper_that_sends(acme: ApiClient, bank: BankTransport) -> None:
    """A refund that was not sent is canceled or sent, and never both."""
    begin_at_noon()
    ended: Counter[str] = Counter()
    with team(3) as meet:
        for _ in range(ROUNDS):
            payment_id = acme.pay()["id"]
            wait_for_refunds(bank)
            bank.fault = "cut_before"
            made = acme.refund(payment_id, 4000)["id"]
            bank.fault = None
            Refund.objects.filter(id=made).update(due_at="2026-01-01T00:00:00Z")
            path, twin = f"{REFUNDS}/{made}/cancel", acme.twin()

            canceled, *_ = meet([lambda path=path, twin=twin: twin.post(path), sweep, sweep])

            for _round in range(6):
                sweep_after(60)
            status = acme.refunded(made)["status"]
            assert status == ("canceled" if canceled.status == 200 else "succeeded")
            back = 0 if status == "canceled" else 4000
            assert given_back(payment_id) == GivenBack(back, back)
            ended[status] += 1
    tried(ended.total(), "cancellations beside the sweeper")
    print(dict(ended))  # noqa: T201
    assert_audit_is_clean()


@pytest.mark.proof(part="races")
@pytest.mark.timeout(900)
def test_money_comes_for_two_lookers_and_a_cancellation(
    acme: ApiClient, bank: BankTransport
) -> None:
    """A refund that waited is booked once, whoever finds it."""
    price = Price.objects.create(merchant=acme.merchant, currency="try", bps=10_000)
    ended: Counter[str] = Counter()
    with team(4) as meet:
        for _ in range(ROUNDS):
            price.bps = 10_000
            price.save()
            begin_at_noon()
            payment_id = acme.pay()["id"]
            end_the_day()
            made = acme.refund(payment_id)["id"]
            assert acme.refunded(made)["pending_reason"] == "insufficient_funds"
            price.bps = 0
            price.save()
            acme.pay()
            path, twin = f"{REFUNDS}/{made}/cancel", acme.twin()

            canceled, *_ = meet([
                lambda path=path, twin=twin: patiently(lambda: twin.post(path))(),
                tasks.send_waiting, tasks.send_waiting, sweep,
            ])  # fmt: skip

            sweep_after(60)
            status = acme.refunded(made)["status"]
            assert status == ("canceled" if canceled.status == 200 else "succeeded")
            booked = Movement.objects.filter(cause_id=made, kind="refund").count()
            assert booked == 1 or status == "canceled"
            ended[status] += 1
            if status == "canceled":  # The next round begins without funds again.
                assert acme.refund(payment_id)["status"] == "succeeded"
    tried(ended.total(), "waiting refunds that were looked at by several")
    print(dict(ended))  # noqa: T201
    assert_audit_is_clean()


@pytest.mark.proof(part="races")
@pytest.mark.timeout(900)
@pytest.mark.both_banks
@pytest.mark.at_the_old_bank
def test_sweepers_that_meet_over_a_refund_that_was_lost_send_it_once(
    acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    """Without leases they all ask at once: references, or "no record", keep it one refund."""
    settings.REQUEST_LEASE_SECONDS = 0.0
    begin_at_noon()
    with team(3) as meet:
        for turn in range(ROUNDS):
            payment_id, amount = acme.pay()["id"], 4000 if turn % 4 < 2 else None
            if amount:
                wait_for_refunds(bank)
            bank.fault = "lost" if turn % 2 else "cut_after"
            made = acme.refund(payment_id, amount)
            bank.fault = None
            for _ in range(3):
                Refund.objects.filter(due_at__isnull=False).update(due_at="2026-01-01T00:00:00Z")
                meet([sweep, sweep, sweep])

            assert acme.refunded(made["id"])["status"] in ("succeeded", "pending")
            assert given_back(payment_id).at_the_bank in (0, made["amount"])
            if bank.repeats:
                assert acme.refunded(made["id"])["status"] == "succeeded"
    tried(ROUNDS, "refunds that three sweepers asked about")
    assert_audit_is_clean(despite_unknown=True)


def test_two_refunds_of_a_merchant_share_its_funds(acme: ApiClient, bank: BankTransport) -> None:
    """Each alone is within the funds: the account's lock lets one of them wait."""
    Price.objects.create(merchant=acme.merchant, currency="try", bps=5000)
    begin_at_noon()
    payments = [acme.pay()["id"] for _ in range(2)]
    end_the_day()

    at_once([refunding(acme, one, 12500) for one in payments])

    assert sorted(row.pending_reason or row.status for row in Refund.objects.all()) == [
        "insufficient_funds", "succeeded",
    ]  # fmt: skip
    assert sums(Account.Kind.PENDING, Account.Kind.AVAILABLE) == 0
    assert_audit_is_clean()


def test_the_check_sees_a_service_that_books_twice(
    paid: str, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme.refund(paid, 600)
    refund = Refund.objects.get()

    twice = pytest.raises(IntegrityError, match="a_cause_moves_money_once_per_kind")
    with twice, transaction.atomic():
        steps.book_or_wait(refund)
    assert bank_books.order().given_back == (600,)
