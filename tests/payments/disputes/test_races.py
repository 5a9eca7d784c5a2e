"""Merchants, the bank and the due date that meet over one dispute: one end, one booking."""

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from acquirers.conversation import sweeper
from acquirers.notices.models import Inbox
from core import clock, context
from payments.disputes import tasks
from payments.disputes.models import Dispute, DisputeDelivery
from tests.stage.booked import lines, movements
from tests.stage.client import ApiClient
from tests.stage.complaints import PATH, TEXT, Complaint
from tests.stage.lengths import chance, length, tried
from tests.stage.notifier import Notifier, take_in
from tests.stage.races import SPREAD_SECONDS, deadlocks, late
from tests.stage.threads import Meet, team

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

Contestant = Callable[[], str]
ROUNDS = length(short=4, full=60)
# The time in which a dispute is opened, before those who race for its due date begin.
BEFORE_THE_DUE_DATE = timedelta(seconds=1)
# The lines that an end leaves behind, together with those of the opening.
LEFT = {
    "won": {},
    "lost": {"acquirer": 12500, "pending": -12500},
    "needs_response": {"reserved": 12500, "pending": -12500},
    "under_review": {"reserved": 12500, "pending": -12500},
}


def asking(shop: ApiClient, dispute_id: str, door: str, body: dict[str, Any]) -> Contestant:
    twin = shop.twin()

    def call() -> str:
        answer = twin.post(f"{PATH}/{dispute_id}{door}", body)
        return answer["status"] if answer.status == 200 else answer.error["code"]

    return call


def telling(notifier: Notifier, complaint: Complaint, word: str) -> Contestant:
    def call() -> str:
        notifier.tell(word, complaint.payment_id, dispute=complaint.bank_reference)
        for _ in range(3):
            Inbox.objects.update(held_until=None)
            take_in()
        return word

    return call


def towards(moment: datetime, contestant: Contestant) -> Contestant:
    """Let somebody begin a little before a moment, so that its work is met by it now and then."""

    def call() -> str:
        time.sleep(max(0.0, (moment - clock.now()).total_seconds() - 0.5 * SPREAD_SECONDS))
        return contestant()

    return call


def running_out() -> str:
    tasks.close_overdue()
    return "ran out"


def sweeping() -> str:
    with context.work():
        sweeper.sweep(job="races")
    return "swept"


def judged(complaint: Complaint) -> str:
    """Hold events, lines and payment against the dispute's end; return it."""
    row = Dispute.objects.get(id=complaint.id)
    complaint.moves()
    assert complaint.events()[-1]["data"]["object"]["status"] == row.status
    assert lines(complaint.id) == LEFT[row.status]
    assert complaint.payment.disputed_minor == (0 if row.status == "won" else 12500)
    assert len(movements(complaint.id)) == len(set(movements(complaint.id)))
    return row.status


def run(name: str, arrange: Callable[[int], tuple[Complaint, list[Contestant]]]) -> Counter[Any]:
    ended: Counter[Any] = Counter()
    before = deadlocks()
    with team(3) as meet:
        for turn in range(ROUNDS):
            complaint, contestants = arrange(turn)
            ended[(*met(meet, contestants, name, turn), judged(complaint))] += 1
    assert deadlocks() == before
    print(dict(ended))  # noqa: T201
    tried(sum(ended.values()), f"rounds of {name}")
    return ended


def met(meet: Meet, contestants: list[Contestant], name: str, turn: int) -> list[str]:
    draws = chance(name, turn)
    return meet([late(one, draws.uniform(0, SPREAD_SECONDS)) for one in contestants])


REFUSED = {"dispute_unexpected_state", "evidence_past_due", "lock_timeout"}


def test_a_close_and_the_banks_decision_for_the_merchant(
    another: Callable[..., Complaint], notifier: Notifier
) -> None:
    def arrange(_turn: int) -> tuple[Complaint, list[Contestant]]:
        one = another().opened()
        return one, [
            asking(one.shop, one.id, "/close", {}),
            telling(notifier, one, "dispute_won"),
        ]

    ended = run("close against won", arrange)

    assert {end for *_told, end in ended} == {"won"}
    assert {said for said, *_rest in ended} <= {"lost", *REFUSED}


def test_two_closes_and_the_banks_decision_for_the_cardholder(
    another: Callable[..., Complaint], notifier: Notifier
) -> None:
    def arrange(_turn: int) -> tuple[Complaint, list[Contestant]]:
        one = another().opened()
        close = partial(asking, one.shop, one.id, "/close", {})
        return one, [close(), close(), telling(notifier, one, "dispute_lost")]

    ended = run("two closes against lost", arrange)

    assert {end for *_told, end in ended} == {"lost"}


def test_evidence_while_the_due_date_passes(
    another: Callable[..., Complaint], notifier: Notifier
) -> None:
    def arrange(_turn: int) -> tuple[Complaint, list[Contestant]]:
        due_by = clock.now() + BEFORE_THE_DUE_DATE
        one = another().opened(due_by=due_by)
        submit = asking(one.shop, one.id, "", {"evidence": TEXT, "submit": True})
        return one, [towards(due_by, each) for each in (submit, running_out, running_out)]

    ended = run("evidence against the due date", arrange)

    for said, *_others, end in ended:
        assert (said, end) in {
            ("under_review", "under_review"),
            ("evidence_past_due", "lost"),
            ("evidence_past_due", "needs_response"),  # The job came a moment before.
        }


def test_two_submissions_and_the_sweeper(
    another: Callable[..., Complaint], notifier: Notifier
) -> None:
    def arrange(_turn: int) -> tuple[Complaint, list[Contestant]]:
        one = another().opened()
        submit = partial(asking, one.shop, one.id, "", {"evidence": TEXT, "submit": True})
        return one, [submit(), submit(), sweeping]

    ended = run("two submissions", arrange)

    for *said, _swept, end in ended:
        assert sorted(said)[-1] == end == "under_review"
        assert REFUSED & set(said)
    per_dispute = Counter(DisputeDelivery.objects.values_list("dispute_id", flat=True))
    assert set(per_dispute.values()) == {1}


def test_evidence_over_two_requests_is_never_too_long(
    another: Callable[..., Complaint], notifier: Notifier
) -> None:
    def arrange(_turn: int) -> tuple[Complaint, list[Contestant]]:
        one = another().opened()
        texts = [{key: "a" * 10_001} for key in ("refund_policy", "access_activity_log")]
        return one, [asking(one.shop, one.id, "", {"evidence": text}) for text in texts]

    ended = run("evidence of two requests", arrange)

    for *said, _end in ended:
        assert sorted(said) == ["needs_response", "parameter_invalid"]


def test_an_escalation_and_a_close_of_the_inquiry(
    another: Callable[..., Complaint], notifier: Notifier
) -> None:
    def arrange(_turn: int) -> tuple[Complaint, list[Contestant]]:
        one = another().inquired()
        return one, [
            asking(one.shop, one.id, "/close", {}),
            telling(notifier, one, "dispute_escalated"),
            sweeping,
        ]

    ended = run("escalation against close", arrange)

    # Closed before: the inquiry, which goes on. Closed after: the chargeback, which is lost.
    for said, _word, _swept, end in ended:
        assert (said, end) in {("warning_closed", "needs_response"), ("lost", "lost")}
