"""Notices of banks are asked for, behind the last one, and stored as they came."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from acquirers import terminals
from acquirers.models import Terminal
from acquirers.notices import polling, storing
from acquirers.notices.models import Inbox, Notice
from core import context
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.notifier import Notifier, take_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SANDBOX = "sandbox"


@pytest.fixture(autouse=True)
def _a_piece_of_work() -> Iterator[None]:
    with context.work():
        yield


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    return acme.pay()["id"]


def numbers() -> list[int]:
    return list(Notice.objects.order_by("number").values_list("number", flat=True))


# --- Asking -----------------------------------------------------------------------------------


def test_a_bank_is_asked_for_what_came_behind_the_last_notice(
    notifier: Notifier, paid: str
) -> None:
    notifier.tell("dispute_opened", paid)
    take_in()
    notifier.tell("dispute_lost", paid)
    take_in()
    take_in()

    assert notifier.asked == [(SANDBOX, 0), (SANDBOX, 1), (SANDBOX, 2)]
    assert numbers() == [1, 2]


def test_a_notice_is_stored_with_all_that_the_bank_told(notifier: Notifier, paid: str) -> None:
    told = notifier.tell("dispute_opened", paid)

    take_in()

    row = Notice.objects.get()
    same = (
        "number", "reference", "refund_reference", "dispute", "amount", "currency", "reason",
        "network_reason_code", "due_by", "at",
    )  # fmt: skip
    assert {name: getattr(row, name) for name in same} == {
        name: getattr(told, name) for name in same
    }
    assert (row.kind, row.about, row.terminal.name) == ("dispute_opened", told.dispute, SANDBOX)


def test_a_long_list_is_read_page_by_page(
    notifier: Notifier, paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "PAGE", 2)
    for _ in range(5):
        notifier.tell("card_replaced", paid)

    take_in()

    assert numbers() == [1, 2, 3, 4, 5]
    assert notifier.asked == [(SANDBOX, 0), (SANDBOX, 2), (SANDBOX, 4)]


def test_a_bank_that_tells_the_same_for_ever_is_asked_again_by_the_next_run(
    notifier: Notifier, paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "PAGE", 1)
    told = notifier.tell("card_replaced", paid)
    monkeypatch.setattr(notifier, "notices", lambda *_a, **_o: [told])

    take_in()

    assert numbers() == [1]


def test_a_page_that_is_told_twice_is_stored_once(notifier: Notifier, paid: str) -> None:
    terminal = Terminal.objects.get()
    page = [notifier.tell("card_replaced", paid), notifier.tell("fraud_warning", paid)]

    storing.store(terminal, page)
    storing.store(terminal, page)

    assert numbers() == [1, 2]


def test_a_page_out_of_order_is_stored_whole(notifier: Notifier, paid: str) -> None:
    told = [notifier.tell("card_replaced", paid, number=number) for number in (3, 1, 2)]

    storing.store(Terminal.objects.get(), told)

    assert numbers() == [1, 2, 3]
    assert storing.last_number(Terminal.objects.get()) == 3


def test_a_kind_that_nobody_knows_is_kept(notifier: Notifier, paid: str) -> None:
    notifier.tell("rain_tomorrow", paid)

    take_in()

    row = Notice.objects.get()
    assert (row.kind, row.applied_at, row.tries) == ("rain_tomorrow", None, 0)


# --- Banks that do not answer -----------------------------------------------------------------


def test_a_bank_that_gives_no_notices_is_left_alone_for_longer_each_time(
    notifier: Notifier, paid: str
) -> None:
    notifier.away.add(SANDBOX)
    waits = []
    for _ in range(6):
        take_in()
        inbox = Inbox.objects.get()
        waits.append(round((inbox.held_until - inbox.polled_at).total_seconds()))
        Inbox.objects.update(held_until=timezone.now() - timedelta(seconds=1))

    assert waits == [2, 5, 15, 60, 60, 60]
    assert Inbox.objects.get().failures == 6


def test_a_bank_that_comes_back_is_asked_as_ever(notifier: Notifier, paid: str) -> None:
    notifier.away.add(SANDBOX)
    take_in()
    notifier.away.clear()
    notifier.tell("card_replaced", paid)
    take_in()
    assert numbers() == []  # It is left alone for two seconds.
    Inbox.objects.update(held_until=timezone.now() - timedelta(seconds=1))

    take_in()

    inbox = Inbox.objects.get()
    assert (numbers(), inbox.failures, inbox.held_until) == ([1], 0, None)


def test_one_silent_bank_keeps_no_other_from_being_heard(notifier: Notifier, paid: str) -> None:
    terminals.add("another", kind="sandbox")
    notifier.away.add(SANDBOX)
    notifier.tell("card_replaced", paid)

    take_in()

    assert [row.terminal.name for row in Notice.objects.all()] == ["another"]


def test_the_terminal_that_was_not_asked_for_the_longest_time_comes_first(
    notifier: Notifier, paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminals.add("another", kind="sandbox")
    take_in()
    terminals.add("a-third", kind="sandbox")
    notifier.asked.clear()

    take_in()

    assert [name for name, _after in notifier.asked] == ["a-third", SANDBOX, "another"]


def test_a_run_asks_no_further_bank_when_its_time_is_over(
    notifier: Notifier, paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminals.add("another", kind="sandbox")
    monkeypatch.setattr(polling, "POLL_SECONDS", -1)

    take_in()

    assert notifier.asked == []


# --- Terminals --------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "is_asked"), [("draining", True), ("disabled", False)])
def test_a_terminal_is_polled_as_long_as_its_bank_may_be_asked(
    notifier: Notifier, paid: str, status: str, is_asked: bool
) -> None:
    Terminal.objects.update(status=status)

    take_in()

    assert bool(notifier.asked) == is_asked


def test_a_terminal_without_an_adapter_is_left_out(
    notifier: Notifier, paid: str, settings: Any
) -> None:
    settings.ACQUIRERS = {}

    take_in()

    assert notifier.asked == []


def test_a_bank_that_tells_nothing_by_itself_is_no_failure(
    acme: ApiClient, notifier: Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "notices", lambda *_a, **_o: None)

    take_in()

    assert Inbox.objects.get().failures == 0


def test_an_inbox_that_another_poller_holds_is_left_to_it(notifier: Notifier, paid: str) -> None:
    take_in()
    Inbox.objects.update(held_until=timezone.now() + timedelta(seconds=5))

    take_in()

    assert len(notifier.asked) == 1


def test_an_inbox_whose_poller_died_is_taken_over(notifier: Notifier, paid: str) -> None:
    take_in()
    Inbox.objects.update(held_until=timezone.now() - timedelta(seconds=1))

    take_in()

    assert len(notifier.asked) == 2


# --- What the database refuses ----------------------------------------------------------------


@pytest.mark.every_case("the database refuses whatever the code does")
@pytest.mark.parametrize(
    "change",
    [
        {"kind": "dispute_won"}, {"number": 7}, {"reference": "X"}, {"dispute": None},
        {"amount": 1}, {"due_by": None}, {"currency": "usd"},
    ],
)  # fmt: skip
def test_a_notice_stays_as_the_bank_told_it(
    notifier: Notifier, paid: str, change: dict[str, Any]
) -> None:
    notifier.tell("rain_tomorrow", paid)
    take_in()

    with pytest.raises(IntegrityError, match="kept as the bank told it"), transaction.atomic():
        Notice.objects.update(**change)


def test_a_notice_is_not_deleted(notifier: Notifier, paid: str) -> None:
    notifier.tell("rain_tomorrow", paid)
    take_in()

    with pytest.raises(IntegrityError, match="kept as the bank told it"), transaction.atomic():
        Notice.objects.all().delete()


def test_an_applied_notice_is_not_made_to_wait_again(notifier: Notifier, paid: str) -> None:
    notifier.tell("dispute_opened", paid)
    take_in()

    with pytest.raises(IntegrityError, match="applied once"), transaction.atomic():
        Notice.objects.update(applied_at=None, next_try_at=timezone.now())


@pytest.mark.parametrize(
    "wrong", [{"reference": "x" * 41}, {"amount": 2**63}, {"reason": "a\x00"}, {"currency": None}]
)
def test_a_bank_whose_notices_cannot_be_stored_keeps_no_other_from_being_heard(
    notifier: Notifier, paid: str, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Terminal.objects.get()
    second = terminals.add("another", kind="sandbox")
    Inbox.objects.create(terminal=first, polled_at=timezone.now() - timedelta(days=1))
    Inbox.objects.create(terminal=second, polled_at=timezone.now())
    good = notifier.tell("dispute_opened", paid)
    told = {first.id: [replace(good, **wrong)], second.id: [good]}
    monkeypatch.setattr(
        notifier, "notices", lambda terminal, *, after, limit: told[terminal.id] * (not after)
    )

    take_in()

    assert list(Notice.objects.values_list("terminal_id", "number")) == [(second.id, 1)]
    inbox = Inbox.objects.get(terminal=first)
    assert (inbox.failures, inbox.held_until > timezone.now()) == (1, True)
