"""Refunds, voids, disputes and notices that meet at the bank: never more back than was taken."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.db import connections, transaction

from core import clock
from testbank import behaviours, book, decisions, notices
from testbank.decisions import Undecidable
from testbank.models import Authorization, Dispute, Notice, Repayment, Reversal
from testbank.router import BANK
from testbank.states import DisputeState, NoticeKind, State
from tests.stage import bank_orders
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_disputes import DISPUTED
from tests.stage.bank_orders import authorize, refund, statement, submit, void
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(databases=["default", "bank"], transaction=True)

PATIENCE_SECONDS = 60


def given_back(reference: str = "ref_1") -> int:
    """Return the sum of the rows of money that went back, by voids and refunds."""
    repaid = Repayment.objects.filter(refund__authorization__reference=reference)
    voided = Reversal.objects.filter(authorization__reference=reference)
    return sum(row.amount for rows in (repaid, voided) for row in rows)


def test_forty_refunds_at_once_give_back_exactly_what_was_captured() -> None:
    authorize(capture=True)

    told = together([partial(refund, 500, f"back_{number}") for number in range(40)])

    ends = Counter((one["result"], one["response_code"]) for one in told)
    print(f"{len(told)} refunds of 5.00 of 125.00 at once: {dict(ends)}")  # noqa: T201
    assert ends == {("refunded", "00"): 25, ("refused", "13"): 15}
    assert Authorization.objects.get().refunded_amount == given_back() == 12500


def test_forty_times_the_same_refund_at_once_is_one() -> None:
    authorize(capture=True)

    told = together([partial(refund, 5000)] * 40)

    print(f"{len(told)} times one refund at once: {told[0]}")  # noqa: T201
    assert told == [told[0]] * 40
    assert given_back() == 5000


def test_one_reference_for_two_orders_at_once_is_one_refund() -> None:
    for reference in ("ref_1", "ref_2"):
        authorize(reference=reference, capture=True)

    told = together([partial(refund, 5000, "back_1", f"ref_{1 + turn % 2}") for turn in range(12)])

    print(f"{len(told)} refunds of two orders with one reference: {told[0]}")  # noqa: T201
    assert told == [told[0]] * 12
    assert given_back("ref_1") + given_back("ref_2") == 5000


def test_a_void_that_races_with_refunds_wins_or_loses_whole() -> None:
    begin_at_noon()
    ends: Counter[str] = Counter()
    for turn in range(8):
        reference = f"ref_{turn}"
        authorize(reference=reference, capture=True)

        tries = [partial(refund, 6000, f"back_{turn}_{part}", reference) for part in range(3)]
        *refunds, voided = [one["result"] for one in together([*tries, partial(void, reference)])]

        state = Authorization.objects.get(reference=reference).state
        assert (voided == "voided") == (state == State.VOIDED)
        assert refunds.count("refunded") == (0 if voided == "voided" else 2)
        assert given_back(reference) == (12500 if voided == "voided" else 12000)
        ends[voided] += 1
    print(f"{ends.total()} races of a void and three refunds: {dict(ends)}")  # noqa: T201


def test_a_void_that_races_with_the_end_of_the_day_is_done_or_settled() -> None:
    for turn in range(4):
        begin_at_noon()
        authorize(reference=f"ref_{turn}", capture=True)

        voided, *_rest = together([partial(void, f"ref_{turn}"), end_the_day])

        assert given_back(f"ref_{turn}") == (12500 if voided["response_code"] == "00" else 0)
        assert voided["response_code"] in ("00", "21")


def disputing(reference: str) -> str:
    try:
        return decisions.dispute(reference)
    except Undecidable as refusal:
        return str(refusal)


def test_refunds_that_race_with_disputes_share_what_was_captured() -> None:
    for turn in range(6):
        reference = f"ref_{turn}"
        authorize(reference=reference, capture=True)

        refunds = [partial(refund, 5000, f"back_{turn}_{part}", reference) for part in range(2)]
        together([*refunds, *[partial(disputing, reference)] * 2])

        row = Authorization.objects.get(reference=reference)
        assert row.refunded_amount == given_back(reference)
        assert row.refunded_amount + row.disputed_amount == 12500
        assert row.disputes.count() == 1


def test_a_decision_that_races_with_evidence_and_acceptance_is_one_end() -> None:
    for turn in range(6):
        authorize(reference=f"ref_{turn}", capture=True)
        dispute = decisions.dispute(f"ref_{turn}")

        calls: list[Callable[[], Any]] = [
            partial(decided, decisions.win, dispute),
            partial(decided, decisions.lose, dispute),
            partial(bank_orders.accept, dispute),
            partial(submit, dispute, "losing_evidence"),
        ]
        together(calls)

        row = Dispute.objects.get(reference=dispute)
        ends = Notice.objects.filter(dispute=row).exclude(kind=NoticeKind.DISPUTE_OPENED)
        told = list(ends.order_by("number").values_list("kind", flat=True))
        # One that was won may be lost after all, and no other end follows another.
        won, lost = [NoticeKind.DISPUTE_WON], [NoticeKind.DISPUTE_LOST]
        assert told in (won, lost, won + lost)
        is_won = row.state == DisputeState.WON
        assert is_won == (told == won)
        assert is_won or row.state in (DisputeState.LOST, DisputeState.ACCEPTED)


def decided(decision: Callable[[str], None], dispute: str) -> str:
    try:
        decision(dispute)
    except Undecidable as refusal:
        return str(refusal)
    return "done"


# --- Notices ----------------------------------------------------------------------------------


def test_polls_that_race_open_each_dispute_once() -> None:
    for number in range(10):
        authorize(DISPUTED, reference=f"ref_{number}", capture=True)
    clock.advance(behaviours.DISPUTED_AFTER)

    # Each may miss what another is about to commit, and never sees a gap.
    for told in together([bank_orders.notices] * 8):
        assert [one["number"] for one in told] == [*range(1, len(told) + 1)]

    assert len(bank_orders.notices()) == Dispute.objects.count() == 10


def test_readers_beside_many_writers_see_every_number_in_its_order() -> None:
    for number in range(12):
        authorize(reference=f"ref_{number}", capture=True)
    done = Event()

    def read() -> list[int]:
        seen: list[int] = []
        while not done.is_set() or not seen:
            seen += [one["number"] for one in bank_orders.notices(seen[-1] if seen else 0)]
        return seen

    def write() -> None:
        inquiries = [partial(decisions.inquiry, f"ref_{number}") for number in range(12)]
        try:
            for dispute in together(inquiries):
                decisions.end(dispute)
        finally:
            done.set()

    *read_by_each, _ = together([read, read, write])

    last = Notice.objects.count()
    print(f"{last} notices, read as {[len(seen) for seen in read_by_each]}")  # noqa: T201
    assert last == 24
    for seen in read_by_each:
        assert seen == [*range(1, len(seen) + 1)]


def held_open(told: Event, go_on: Event, *, fails: bool) -> None:
    """Tell a notice, and commit it (or not) once another has tried to come first."""
    try:
        with transaction.atomic(using=BANK):
            authorization = book.locked("ref_2")
            assert authorization is not None
            notices.tell_of_dispute(NoticeKind.DISPUTE_WON, authorization.disputes.get())
            told.set()
            assert go_on.wait(PATIENCE_SECONDS)
            transaction.set_rollback(fails, using=BANK)
    finally:
        connections.close_all()


def waits_for_the_counter() -> bool:
    with connections[BANK].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


@pytest.mark.parametrize("fails", [False, True])
def test_a_notice_waits_for_the_one_before_it_and_leaves_no_gap(fails: bool) -> None:
    for reference in ("ref_1", "ref_2"):
        authorize(reference=reference, capture=True)
    dispute, _other = decisions.dispute("ref_1"), decisions.dispute("ref_2")
    told, go_on = Event(), Event()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(held_open, told, go_on, fails=fails)
        assert told.wait(PATIENCE_SECONDS)
        second = pool.submit(lambda: (decisions.win(dispute), connections.close_all()))
        while not waits_for_the_counter():
            assert not second.done()
        before = [one.number for one in notices.behind(0)]
        go_on.set()
        first.result(PATIENCE_SECONDS)
        second.result(PATIENCE_SECONDS)

    assert before == [1, 2]
    assert [one.number for one in notices.behind(0)] == [*range(1, 4 if fails else 5)]


# --- The statement ----------------------------------------------------------------------------


def test_the_statement_is_the_sum_of_the_rows_after_a_storm() -> None:
    begin_at_noon()
    names = [f"ref_{number}" for number in range(6)]
    for name in names:
        authorize(reference=name, capture=True)
    storm: list[Callable[[], Any]] = []
    for name in names:
        storm += [partial(refund, 4000, f"{name}_{part}", name) for part in range(3)]
        storm += [partial(disputing, name), partial(void, name)]

    together(storm)
    for dispute in Dispute.objects.filter(state=DisputeState.OPEN).order_by("pk")[:2]:
        decisions.lose(dispute.reference)

    states = Counter(line[1] for line in statement())
    lines = bank_orders.ask(b"", "/statement", "GET")[1]["lines"]
    print(f"{len(storm)} calls: {dict(states)}, {lines[0]}")  # noqa: T201
    for line in lines:
        row = Authorization.objects.get(reference=line["reference"])
        back = given_back(row.reference)
        assert line["returned_amount"] + line["repaid_amount"] == back
        lost = sum(one.chargeback.amount for one in row.disputes.filter(state="lost"))
        assert line["charged_back_amount"] == lost
        assert back + row.disputed_amount <= line["taken_amount"] == 12500
