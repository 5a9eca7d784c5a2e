"""Requests about disputes that died: their retry with the same key has one effect (I8)."""

from typing import Any

import pytest

from acquirers.conversation import settling
from api import idempotency
from core.rest import expansion
from events import outbox
from payments.disputes import deliveries
from payments.disputes.models import DisputeDelivery
from tests.stage.booked import movements
from tests.stage.complaints import PATH, TEXT, Complaint
from tests.stage.sweeper import Died, dies, leases_run_out, sweep

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SUBMIT = ("", {"evidence": TEXT, "submit": True})
EVIDENCE = ("", {"evidence": TEXT})
CLOSE = ("/close", {})
DOORS = {"evidence": EVIDENCE, "submit": SUBMIT, "close": CLOSE}
# Where a process dies, and whether the work of that place is done by then.
BOUNDARIES: dict[str, tuple[Any, str, bool]] = {
    "before anything": (idempotency, "take", False),
    "with the claim": (idempotency, "take", True),
    "with the event": (outbox, "record", True),
    "after the commit": (expansion, "expand", False),
    "before the answer is kept": (idempotency, "save_answer", False),
    "before the answer is sent": (idempotency, "save_answer", True),
}
EFFECTS = {
    "evidence": ("needs_response", [], ["created", "updated"]),
    "submit": ("under_review", ["evidence"], ["created", "updated"]),
    "close": ("lost", ["acceptance"], ["created", "closed"]),
}


def effect(complaint: Complaint) -> tuple[str, list[str], list[str]]:
    """Return status, what is owed to the bank, and the events."""
    owed = list(DisputeDelivery.objects.values_list("kind", flat=True))
    told = [event["type"].removeprefix("dispute.") for event in complaint.events()]
    return complaint.status, owed, told


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_after_a_crash_the_retry_has_one_effect(
    boundary: str, door: str, complaint: Complaint
) -> None:
    complaint.opened()
    module, name, afterwards = BOUNDARIES[boundary]
    with dies(module, name, afterwards=afterwards), pytest.raises(Died):
        complaint.post(*DOORS[door], idempotency_key="k")
    leases_run_out()

    first = complaint.post(*DOORS[door], idempotency_key="k").answered
    second = complaint.post(*DOORS[door], idempotency_key="k").answered

    assert (first.status, first.body) == (200, complaint.shown())
    assert second.body == first.body
    assert effect(complaint) == EFFECTS[door]


def test_a_close_is_whole_or_nothing(complaint: Complaint) -> None:
    complaint.opened()
    with dies(deliveries, "owe_acceptance"), pytest.raises(Died):
        complaint.close()

    assert effect(complaint) == ("needs_response", [], ["created"])
    assert movements(complaint.id) == ["dispute_opened"]


def test_a_retry_after_the_dispute_has_gone_on_shows_it_as_it_is(complaint: Complaint) -> None:
    complaint.opened()
    with dies(idempotency, "save_answer"), pytest.raises(Died):
        complaint.post(*SUBMIT, idempotency_key="k")
    complaint.lost()

    answer = complaint.post(*SUBMIT, idempotency_key="k").answered

    assert (answer.status, answer["status"]) == (200, "lost")
    assert answer["evidence_details"]["submission_count"] == 1


def test_what_died_is_delivered_without_a_retry(complaint: Complaint) -> None:
    complaint.opened()
    with dies(idempotency, "save_answer"), pytest.raises(Died):
        complaint.post(*SUBMIT, idempotency_key="k")

    sweep()

    assert [sent.number for sent in complaint.notifier.handed_in] == [1]


def test_a_delivery_that_died_at_the_bank_is_sent_again_the_same(complaint: Complaint) -> None:
    complaint.opened().submit()
    with dies(settling, "settle"), pytest.raises(Died):
        sweep()
    leases_run_out()
    DisputeDelivery.objects.update(lease_until=None)

    complaint.days_pass(0.01).jobs_run()

    first, second = complaint.notifier.handed_in
    assert first == second
    assert DisputeDelivery.objects.get().status == "acknowledged"


def test_a_key_of_one_answer_is_not_another_ones(complaint: Complaint) -> None:
    complaint.opened().post(*EVIDENCE, idempotency_key="k")

    complaint.post(*SUBMIT, idempotency_key="k")

    assert complaint.answered.refusal == (400, "idempotency_key_reused", None)
    assert complaint.status == "needs_response"


def test_a_lasting_refusal_is_kept_and_a_form_is_not(complaint: Complaint) -> None:
    complaint.opened().submit()
    shop, path = complaint.shop, f"{PATH}/{complaint.id}"

    refused = [shop.post(f"{path}/close", idempotency_key="k") for _ in range(2)]
    unknown = shop.post(path, {"colour": "blue"}, idempotency_key="other")
    told = shop.post(path, {"metadata": {"a": "1"}}, idempotency_key="other")

    assert refused[0].refusal == (400, "dispute_unexpected_state", None)
    assert refused[1].body == refused[0].body
    assert refused[1].headers["Idempotent-Replayed"] == "true"
    assert (unknown.status, told.status) == (400, 200)
