"""The bank's word about a dispute: it counts once, in its order, and after the merchant's."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F

from core import clock
from events.transitions import UnlistedTransition
from payments.disputes import decisions, locks
from payments.disputes.models import Dispute
from payments.disputes.states import DISPUTES, DisputeStatus
from payments.intents.models import PaymentIntent
from tests.stage.booked import movements
from tests.stage.complaints import STARTS, Complaint

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

Another = Callable[..., Complaint]


def told(complaint: Complaint) -> list[str]:
    return [event["type"].removeprefix("dispute.") for event in complaint.events()]


# --- Close against the bank's decision --------------------------------------------------------


def test_a_decision_for_the_merchant_beats_a_close(complaint: Complaint) -> None:
    complaint.opened().close().won()

    assert (complaint.status, told(complaint)) == ("won", ["created", "closed", "closed"])
    assert movements(complaint.id) == ["dispute_opened", "dispute_lost", "dispute_regained"]
    assert complaint.payment.disputed_minor == 0


def test_a_close_after_the_decision_is_refused(complaint: Complaint) -> None:
    complaint.opened().won().close()

    assert complaint.answered.refusal == (400, "dispute_unexpected_state", None)
    assert (complaint.status, told(complaint)) == ("won", ["created", "closed"])


@pytest.mark.parametrize("ended", ["close", "due date"])
def test_the_banks_loss_after_the_merchants_is_not_told_again(
    complaint: Complaint, ended: str
) -> None:
    complaint.opened()
    complaint.close() if ended == "close" else complaint.days_pass().jobs_run()

    complaint.lost()

    assert not complaint.is_notice_kept
    assert told(complaint) == ["created", "closed"]
    assert movements(complaint.id) == ["dispute_opened", "dispute_lost"]


def test_a_dispute_that_was_won_is_lost_after_all(complaint: Complaint) -> None:
    complaint.opened().won().lost().lost()

    assert (complaint.status, told(complaint)) == ("lost", ["created", "closed", "closed"])
    assert movements(complaint.id) == ["dispute_opened", "dispute_won", "dispute_lost"]
    assert complaint.payment.disputed_minor == complaint.row.amount


def test_the_arbiter_has_the_last_word(complaint: Complaint) -> None:
    complaint.opened().won().lost().won()

    assert (complaint.status, told(complaint)[1:]) == ("won", ["closed"] * 3)
    assert movements(complaint.id)[2:] == ["dispute_lost", "dispute_regained"]
    assert complaint.payment.disputed_minor == 0


def test_a_dispute_that_was_lost_before_it_was_won_is_left_to_a_person(
    complaint: Complaint,
) -> None:
    complaint.opened().lost().won()
    before = complaint.payment.disputed_minor

    complaint.lost()

    assert (complaint.status, complaint.is_notice_kept) == ("won", True)
    assert complaint.payment.disputed_minor == before


def test_the_end_of_an_inquiry_after_its_close_is_not_told_again(complaint: Complaint) -> None:
    complaint.inquired().close().told("inquiry_closed")

    assert not complaint.is_notice_kept
    assert told(complaint) == ["created", "closed"]


def test_a_dispute_that_is_told_twice_is_one(complaint: Complaint) -> None:
    complaint.opened().opened().won().won()

    assert (Dispute.objects.count(), told(complaint)) == (1, ["created", "closed"])
    assert movements(complaint.id) == ["dispute_opened", "dispute_won"]


def test_one_bank_id_is_a_dispute_of_each_payment(another: Another) -> None:
    first, second = another(), another()

    first.opened(dispute="BANK000000000000DP01")
    second.opened(dispute="BANK000000000000DP01")

    assert Dispute.objects.count() == 2


# --- Escalation -------------------------------------------------------------------------------


def test_an_escalation_brings_the_banks_new_terms(complaint: Complaint) -> None:
    complaint.inquired(reason="general", network_reason_code="1").evidence()
    before = complaint.shown()

    complaint.days_pass(3).escalated(reason="fraudulent", network_reason_code="10.4", amount=9_000)

    shown = complaint.shown()
    assert (shown["status"], shown["amount"], shown["reason"]) == (
        "needs_response", 9_000, "fraudulent",
    )  # fmt: skip
    assert shown["network_reason_code"] == "10.4"
    assert shown["evidence_due_by"] > before["evidence_due_by"]
    assert shown["evidence"] == before["evidence"]
    assert told(complaint) == ["created", "updated", "updated"]
    assert complaint.moves()[-1].before == "warning_needs_response"


def test_an_inquiry_that_ran_out_and_is_charged_back_is_not_past_due(complaint: Complaint) -> None:
    complaint.inquired().days_pass().jobs_run()
    assert complaint.shown()["evidence_details"]["past_due"] is True

    complaint.escalated()

    assert complaint.shown()["evidence_details"]["past_due"] is False
    assert complaint.row.closed_at is None
    complaint.submit()
    assert complaint.status == "under_review"


# --- Due dates --------------------------------------------------------------------------------


def test_a_due_date_ends_a_dispute_once_and_says_so(complaint: Complaint) -> None:
    complaint.opened().days_pass().jobs_run().jobs_run()

    last = complaint.events()[-1]["data"]
    assert told(complaint) == ["created", "closed"]
    assert last["previous_attributes"] == {
        "status": "needs_response",
        "evidence_details": {"past_due": False},
    }


@pytest.mark.parametrize("end", ["lost", "won", "close", "jobs_run"])
def test_a_dispute_is_past_due_whoever_tells_first_that_it_is_over(
    complaint: Complaint, end: str
) -> None:
    complaint.opened().evidence().days_pass()

    getattr(complaint, end)()

    last = complaint.events()[-1]["data"]
    assert last["object"]["evidence_details"]["past_due"] is True
    assert last["previous_attributes"]["evidence_details"] == {"past_due": False}


@pytest.mark.parametrize("end", ["lost", "won", "close"])
def test_a_dispute_that_was_over_before_its_due_date_is_not_past_due(
    complaint: Complaint, end: str
) -> None:
    getattr(complaint.opened().days_pass(9), end)()

    assert complaint.shown()["evidence_details"]["past_due"] is False


@pytest.mark.parametrize("begin", ["opened", "inquired"])
def test_a_submission_keeps_a_dispute_from_being_past_due(complaint: Complaint, begin: str) -> None:
    getattr(complaint, begin)().submit().days_pass().jobs_run()
    if begin == "opened":
        complaint.lost()

    assert complaint.row.closed_at is not None
    assert complaint.shown()["evidence_details"]["past_due"] is False


def test_a_dispute_that_is_regained_stays_past_due(complaint: Complaint) -> None:
    complaint.opened().days_pass().jobs_run().won()

    assert complaint.shown()["evidence_details"]["past_due"] is True


def test_a_due_date_is_waited_for(complaint: Complaint) -> None:
    complaint.opened().days_pass(9.99).jobs_run()

    assert complaint.status == "needs_response"


def test_one_dispute_that_cannot_be_closed_keeps_no_other_open(
    another: Another, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = another().opened(), another().opened()
    real, first_id = decisions.run_out, first.id

    def run_out(dispute: Dispute) -> None:
        if dispute.id == first_id:
            raise RuntimeError
        real(dispute)

    with monkeypatch.context() as patched:
        patched.setattr(decisions, "run_out", run_out)
        second.days_pass().jobs_run()
    assert (first.status, second.status) == ("needs_response", "lost")
    first.jobs_run()

    assert first.status == "lost"


# --- What the database refuses ----------------------------------------------------------------


def database_lets(after: str) -> bool:
    ends = (DisputeStatus.WON, DisputeStatus.LOST, DisputeStatus.WARNING_CLOSED)
    closed_at = clock.now() if after in ends else None
    begun = transaction.savepoint()
    try:
        with transaction.atomic():
            Dispute.objects.update(
                status=after, closed_at=closed_at, submission_count=1, evidence={"a": "b"}
            )
    except IntegrityError:
        return False
    finally:
        transaction.savepoint_rollback(begun)
    return True


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("before", DisputeStatus)
def test_the_database_moves_a_dispute_only_as_listed(before: str, complaint: Complaint) -> None:
    STARTS[before](complaint)

    ways = {after for after in DisputeStatus if database_lets(after)}

    assert ways - {before} == {after for one, after in DISPUTES.pairs if one == before}


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    ("change", "guard"),
    [
        ({"amount": 1}, "cannot change"),
        ({"bank_reference": "X"}, "cannot change"),
        ({"currency": "usd"}, "cannot change"),
        ({"closed_at": "2026-11-01T00:00Z"}, "open_or_closed"),
        ({"status": "under_review"}, "under_review_has_evidence"),
    ],
)
def test_an_impossible_dispute_is_refused(
    complaint: Complaint, change: dict[str, object], guard: str
) -> None:
    complaint.opened()

    with pytest.raises(IntegrityError, match=guard), transaction.atomic():
        Dispute.objects.update(**change)


def test_a_dispute_about_nothing_is_refused(complaint: Complaint) -> None:
    complaint.inquired()

    with pytest.raises(IntegrityError, match="about_money"), transaction.atomic():
        Dispute.objects.update(amount=F("amount") * 0)


@pytest.mark.parametrize(
    ("before", "unlisted"),
    [
        ("won", [decisions.win, decisions.run_out]),
        ("lost", [decisions.lose, decisions.run_out]),
        ("warning_closed", [decisions.win, decisions.lose, decisions.run_out]),
    ],
)
def test_an_unlisted_decision_is_refused_before_anything_moves(
    before: str, unlisted: list[Callable[[Dispute], None]], complaint: Complaint
) -> None:
    STARTS[before](complaint)
    moved = movements(complaint.id)

    with transaction.atomic():
        dispute = locks.by_id(complaint.id, PaymentIntent.objects.all())
        for decide in unlisted:
            with pytest.raises(UnlistedTransition):
                decide(dispute)

    assert (complaint.status, movements(complaint.id)) == (before, moved)
