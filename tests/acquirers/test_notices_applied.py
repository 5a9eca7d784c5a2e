"""Stored notices are applied once each, those about one object in their order."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError

from acquirers import notice_applier, terminals
from acquirers.notices import applying, polling
from acquirers.notices.models import Notice
from merchants.models import RequestLog
from payments.customers.models import Customer
from payments.disputes import notices as dispute_notices
from payments.disputes.models import Dispute
from tests.stage import listeners
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.listeners import KIND
from tests.stage.notifier import Notifier, another_dispute, take_in, take_in_after
from tests.stage.sweeper import Died

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DAY = 86_400


@pytest.fixture(autouse=True)
def _somebody_listens(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(applying.HANDLERS, KIND, listeners.listen)
    listeners.heard.clear()
    yield
    listeners.hated.clear()


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    return acme.pay()["id"]


def waiting() -> list[tuple[int, int, str | None]]:
    """Return number, tries and last error of the notices that are not applied."""
    rows = Notice.objects.filter(applied_at=None).order_by("number")
    return list(rows.values_list("number", "tries", "last_error"))


def of_one_object(notifier: Notifier, paid: str, count: int) -> None:
    for _ in range(count):
        notifier.tell(KIND, paid)


def of_different_objects(notifier: Notifier, paid: str, count: int) -> None:
    for _ in range(count):
        notifier.tell(KIND, paid, dispute=another_dispute())


# --- Once -------------------------------------------------------------------------------------


def test_a_notice_is_applied_once_however_often_the_poller_runs(
    notifier: Notifier, paid: str
) -> None:
    of_different_objects(notifier, paid, 3)

    for _ in range(3):
        take_in()

    assert sorted(listeners.heard) == [1, 2, 3]
    assert waiting() == []


def test_the_mark_is_in_the_transaction_of_the_work(
    notifier: Notifier, paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_one_object(notifier, paid, 1)

    def last_words(_applied: Notice) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(applying, "_try_again_those_not_known", last_words)
        with pytest.raises(Died):
            take_in()
    assert (Customer.objects.count(), waiting()) == (0, [(1, 0, None)])
    take_in()

    assert (Customer.objects.count(), waiting()) == (1, [])


def test_terminals_of_one_bank_that_are_told_the_same_apply_it_once(
    notifier: Notifier, paid: str
) -> None:
    terminals.add("another", kind="sandbox")
    of_one_object(notifier, paid, 2)

    take_in()

    assert listeners.heard == [1, 2]
    assert Notice.objects.exclude(applied_at=None).count() == 4


def test_each_notice_is_a_piece_of_work_of_its_own(
    notifier: Notifier, paid: str, acme: ApiClient
) -> None:
    for _ in range(2):
        notifier.tell("dispute_opened", paid, dispute=another_dispute(), amount=100)

    take_in()

    events = [e for e in acme.get("/v1/events")["data"] if e["type"] == "dispute.created"]
    causes = {event["request_id"] for event in events}
    logged = RequestLog.objects.filter(id__in=causes)
    assert len(causes) == 2
    assert {(row.kind, row.path) for row in logged} == {("job", "acquirers.notices.tasks.take_in")}
    assert {row.object_id for row in logged} == {event["aggregate_id"] for event in events}


# --- In order ---------------------------------------------------------------------------------


def test_notices_about_one_object_are_applied_in_order_of_their_numbers(
    notifier: Notifier, paid: str
) -> None:
    for number in (3, 1, 2):
        notifier.tell(KIND, paid, number=number)

    take_in()

    assert listeners.heard == [1, 2, 3]


def test_a_refund_and_a_dispute_of_one_payment_are_two_objects(
    notifier: Notifier, paid: str
) -> None:
    listeners.hated.add(1)
    notifier.tell(KIND, paid)
    notifier.tell(KIND, paid, dispute=None, refund_reference="REFUND0000000000R001")
    notifier.tell(KIND, paid, dispute=None)

    take_in()

    assert [number for number, _tries, _error in waiting()] == [1]


def test_a_decision_that_is_told_before_its_dispute_is_applied_behind_it(
    notifier: Notifier, paid: str, acme: ApiClient
) -> None:
    notifier.tell("dispute_lost", paid)
    take_in()
    assert waiting() == [(1, 1, "NotKnown")]
    notifier.tell("dispute_opened", paid)

    take_in()

    assert waiting() == []
    assert Dispute.objects.get().status == "lost"


@pytest.mark.parametrize(
    ("first", "then", "ends_as"),
    [("dispute_lost", "dispute_regained", "won"), ("dispute_won", "dispute_lost", "lost")],
)
def test_decisions_that_were_not_known_keep_their_order_in_runs_that_meet(
    notifier: Notifier, paid: str, first: str, then: str, ends_as: str
) -> None:
    notifier.tell(first, paid)
    notifier.tell(then, paid)
    take_in()
    assert waiting() == [(1, 1, "NotKnown"), (2, 1, "NotKnown")]
    notifier.tell("dispute_opened", paid)
    list(polling.poll())
    ids = Notice.objects.in_bulk(field_name="pk")
    one, two, opened = sorted(ids, key=lambda row_id: ids[row_id].number)

    applied = [applying.NOTICES.apply(row_id) for row_id in (opened, two, one, two)]

    assert applied == [True, False, True, True]
    assert Dispute.objects.get().status == ends_as


# --- Notices that cannot be applied -----------------------------------------------------------


def test_one_that_raises_stops_no_other_object(notifier: Notifier, paid: str) -> None:
    listeners.hated.add(2)
    of_different_objects(notifier, paid, 3)

    take_in()

    assert sorted(listeners.heard) == [1, 2, 3]
    assert Customer.objects.count() == 2
    assert waiting() == [(2, 1, "Deaf")]


def test_later_notices_about_the_same_object_wait_for_one_that_raises(
    notifier: Notifier, paid: str
) -> None:
    listeners.hated.add(2)
    of_one_object(notifier, paid, 4)
    take_in()
    assert waiting() == [(2, 1, "Deaf"), (3, 0, None), (4, 0, None)]
    listeners.hated.clear()

    take_in_after(10)

    assert waiting() == []
    assert listeners.heard == [1, 2, 2, 3, 4]


def test_one_that_raises_is_tried_again_less_and_less_often(notifier: Notifier, paid: str) -> None:
    listeners.hated.add(1)
    of_one_object(notifier, paid, 1)
    take_in()

    waits = []
    for wait in (10, 30, 120, 600, 3600, 21_600, DAY, DAY):
        take_in_after(wait // 2)  # On a busy machine real seconds pass as well.
        tries = Notice.objects.get().tries
        take_in_after(wait // 2)
        waits.append(Notice.objects.get().tries - tries)

    assert waits == [1] * 8


def test_an_operator_can_let_it_be_tried_now(notifier: Notifier, paid: str) -> None:
    listeners.hated.add(1)
    of_one_object(notifier, paid, 1)
    take_in_after(0)
    take_in_after(10)
    listeners.hated.clear()

    assert applying.try_now(Notice.objects.all()) == 1
    take_in()

    assert waiting() == []


def test_the_text_of_an_error_is_kept_nowhere(notifier: Notifier, paid: str) -> None:
    listeners.hated.add(1)
    of_one_object(notifier, paid, 1)

    take_in()

    assert Notice.objects.get().last_error == "Deaf"
    assert Notice.objects.get().tries == 1


def test_what_the_database_refuses_is_tried_again_too(
    notifier: Notifier, paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise IntegrityError("no")

    with monkeypatch.context() as patched:
        patched.setattr(dispute_notices.decisions, "charge_back", refuse)
        notifier.tell("dispute_opened", paid)
        take_in()
    assert waiting() == [(1, 1, "IntegrityError")]
    take_in_after(10)

    assert waiting() == []


def test_a_notice_about_nothing_is_kept_and_blocks_nothing(notifier: Notifier, paid: str) -> None:
    notifier.tell_of("dispute_opened", "NEVERWAS00000000NEVER", dispute=another_dispute())
    notifier.tell("dispute_opened", paid)

    take_in()

    assert waiting() == [(1, 1, "NotKnown")]
    assert Dispute.objects.count() == 1


def test_a_notice_about_an_order_of_another_kind_of_bank_is_about_nothing(
    notifier: Notifier, paid: str, settings: Any
) -> None:
    settings.ACQUIRERS = {**settings.ACQUIRERS, "other": settings.ACQUIRERS["sandbox"]}
    terminals.add("other", kind="other")
    notifier.away.add("sandbox")
    of_one_object(notifier, paid, 1)

    take_in()

    assert (listeners.heard, waiting()) == ([], [(1, 1, "NotKnown")])


def test_a_kind_without_a_handler_is_not_tried_and_blocks_nothing(
    notifier: Notifier, paid: str
) -> None:
    notifier.tell("rain_tomorrow", paid)
    of_one_object(notifier, paid, 1)

    take_in()

    assert waiting() == [(1, 0, None)]
    assert listeners.heard == [2]


def test_a_kind_is_applied_once_there_is_a_handler(
    notifier: Notifier, paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    notifier.tell("rain_tomorrow", paid)
    take_in()

    monkeypatch.setitem(applying.HANDLERS, "rain_tomorrow", listeners.listen)
    take_in()

    assert (listeners.heard, waiting()) == ([1], [])


def test_very_many_that_wait_for_one_keep_nobody_else_waiting(
    notifier: Notifier, paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notice_applier, "BATCH", 3)
    listeners.hated.add(1)
    of_one_object(notifier, paid, 10)
    of_different_objects(notifier, paid, 5)

    take_in()

    assert sorted(listeners.heard) == [1, *range(11, 16)]


def test_a_run_applies_no_further_notice_when_its_time_is_over(
    notifier: Notifier, paid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notice_applier, "APPLY_SECONDS", -1)
    of_different_objects(notifier, paid, 2)

    take_in()

    assert listeners.heard == []
