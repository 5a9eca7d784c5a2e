"""kill -9 of a web worker that takes a dispute's answer, or of the sweeper that sends it (I8)."""

from functools import partial
from typing import Any, NamedTuple

import pytest

from acquirers.notices.models import Notice
from core import clock
from events.models import Event
from payments.disputes.models import Dispute, DisputeDelivery
from testbank import behaviours
from testbank import models as bank
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_disputes import DISPUTED
from tests.stage.booked import movements
from tests.stage.client import ApiClient
from tests.stage.kills import (
    DISPUTES_BOUNDARIES,
    INSIDE,
    PROOF_OF_KILLS,
    SWEEPERS_BOUNDARIES,
    Installation,
    retried,
    until,
    until_swept,
)
from tests.stage.lengths import one_of_all
from tests.stage.notifier import take_in

pytestmark = PROOF_OF_KILLS


class Answer(NamedTuple):
    """An answer of the merchant, and the one end that it leads to.

    :param at_the_bank: the dispute's state, and how often evidence came.
    """

    door: str
    body: dict[str, Any]
    delivery: str
    status: str
    told: list[str]
    moved: list[str]
    at_the_bank: tuple[str, int]


EVIDENCE = {"evidence": {"uncategorized_text": "winning_evidence"}, "submit": True}
ANSWERS = {
    "submit": Answer(
        "", EVIDENCE, "evidence", "won", ["created", "updated", "closed"],
        ["dispute_opened", "dispute_won"], ("won", 1),
    ),
    "close": Answer(
        "/close", {}, "acceptance", "lost", ["created", "closed"],
        ["dispute_opened", "dispute_lost"], ("accepted", 0),
    ),
}  # fmt: skip


@pytest.fixture
def dispute_id(installation: Installation, acme: ApiClient) -> str:
    """A dispute about 125.00 that awaits an answer."""
    acme.pay(DISPUTED)
    clock.advance(behaviours.DISPUTED_AFTER)
    take_in()
    return Dispute.objects.get().id


def is_the_bank_told() -> bool:
    """Tell whether the bank has acknowledged it, or has decided what it got from a dead process."""
    rows = list(DisputeDelivery.objects.values_list("status", flat=True))
    return rows in (["acknowledged"], ["superseded"])


def is_all_taken_in() -> bool:
    """Take in what the bank tells; a poller that does so this moment lets nobody else ask it."""
    take_in()
    told, taken_in = bank.Notice.objects.all(), Notice.objects.exclude(applied_at=None)
    return set(told.values_list("number")) == set(taken_in.values_list("number"))


def assert_it_ends_once(answer: Answer) -> None:
    """Wait until the bank has decided, and the poller has heard of it; then look at all books."""
    until_swept(is_the_bank_told)
    clock.advance(behaviours.DECIDED_AFTER)
    until(lambda: Dispute.objects.get().status == answer.status)
    until(is_all_taken_in)
    assert list(DisputeDelivery.objects.values_list("kind", flat=True)) == [answer.delivery]
    dispute = Dispute.objects.get()
    told = Event.objects.filter(aggregate_id=dispute.id).order_by("sequence")
    types = [one.removeprefix("dispute.") for one in told.values_list("type", flat=True)]
    assert (types, movements(dispute.id)) == (answer.told, answer.moved)
    state = bank.Dispute.objects.get().state
    assert (state, bank.Evidence.objects.count()) == answer.at_the_bank
    assert_audit_is_clean()


@pytest.mark.parametrize(
    ("boundary", "what"), one_of_all(DISPUTES_BOUNDARIES, ANSWERS, short=(INSIDE, "submit"))
)
def test_after_a_kill_the_retry_finishes_it(
    boundary: str, what: str, dispute_id: str, installation: Installation, acme: ApiClient
) -> None:
    answer = ANSWERS[what]
    ask = partial(installation.answer, acme, dispute_id, answer.door, answer.body)
    installation.start(boundary)
    installation.dies_during(ask)

    first = retried(ask)

    assert (first.status_code, ask().content) == (200, first.content)
    installation.start_sweeper()
    assert_it_ends_once(answer)


@pytest.mark.only_full("the sweeper delivers as it does after its own death")
@pytest.mark.parametrize("what", ANSWERS)
def test_after_a_kill_what_is_written_reaches_the_bank_without_a_retry(
    what: str, dispute_id: str, installation: Installation, acme: ApiClient
) -> None:
    answer = ANSWERS[what]
    ask = partial(installation.answer, acme, dispute_id, answer.door, answer.body)
    installation.start("before_the_answer")
    installation.start_sweeper()
    installation.dies_during(ask)

    assert_it_ends_once(answer)

    assert retried(ask).json()["status"] == answer.status
    assert_it_ends_once(answer)


@pytest.mark.parametrize(
    ("boundary", "what"),
    one_of_all(SWEEPERS_BOUNDARIES, ANSWERS, short=(SWEEPERS_BOUNDARIES[2], "close")),
)
def test_after_a_kill_of_the_sweeper_another_one_delivers_it(
    boundary: str, what: str, dispute_id: str, installation: Installation, acme: ApiClient
) -> None:
    answer = ANSWERS[what]
    assert installation.answer(acme, dispute_id, answer.door, answer.body).status_code == 200
    installation.start(boundary)

    installation.start_sweeper(is_deadly=True)

    until(lambda: not installation.once.exists())
    assert_it_ends_once(answer)
