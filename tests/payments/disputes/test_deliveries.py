"""Evidence and acceptances are owed to the bank: sent again and again until it acknowledges."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from acquirers.conversation import leases, settling
from acquirers.models import BankExchange, Terminal
from acquirers.outcomes import Answer
from core import clock
from payments.disputes import deliveries
from payments.disputes.models import DisputeDelivery
from payments.intents.models import Attempt
from tests.stage.complaints import TEXT, Complaint
from tests.stage.notifier import HandedIn, Notifier
from tests.stage.sweeper import sweep, sweep_after

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

Another = Callable[..., Complaint]
SILENT = (Answer.UNKNOWN, Answer.NOT_SENT, Answer.PENDING, Answer.NOT_CHARGED, Answer.NO_RECORD)


def owed() -> list[tuple[str, str, str | None]]:
    """Return kind, status and answer of all that was ever owed, oldest first."""
    rows = DisputeDelivery.objects.order_by("created_at", "id")
    return list(rows.values_list("kind", "status", "answer"))


# --- Sent -------------------------------------------------------------------------------------


def test_submitted_evidence_reaches_the_bank_under_its_number(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.opened().evidence(customer_name="Ayşe").submit()
    assert notifier.handed_in == []  # No merchant waits for a bank.

    sweep()

    reference = Attempt.objects.get().acquirer_reference
    texts = {"customer_name": "Ayşe", **TEXT}
    assert notifier.handed_in == [HandedIn(reference, complaint.bank_reference, 1, texts)]
    assert owed() == [("evidence", "acknowledged", "approved")]


def test_a_closed_dispute_is_accepted(complaint: Complaint, notifier: Notifier) -> None:
    complaint.opened().close()

    sweep()

    reference = Attempt.objects.get().acquirer_reference
    assert notifier.handed_in == [HandedIn(reference, complaint.bank_reference, None, None)]
    assert owed() == [("acceptance", "acknowledged", "approved")]


def test_a_closed_inquiry_is_told_to_the_bank_too(complaint: Complaint, notifier: Notifier) -> None:
    complaint.inquired().close()

    sweep()

    assert [sent.number for sent in notifier.handed_in] == [None]


def test_a_due_date_that_passes_is_told_to_nobody(complaint: Complaint, notifier: Notifier) -> None:
    complaint.opened().days_pass().jobs_run()

    assert (complaint.status, notifier.handed_in, owed()) == ("lost", [], [])


def test_what_is_acknowledged_is_not_sent_again(complaint: Complaint, notifier: Notifier) -> None:
    complaint.opened().submit()
    sweep()

    sweep_after(86_400)

    assert len(notifier.handed_in) == 1


@pytest.mark.parametrize("says", SILENT)
def test_what_is_not_acknowledged_is_sent_again_the_same(
    complaint: Complaint, notifier: Notifier, says: Answer
) -> None:
    complaint.opened().submit()
    notifier.says = says

    for wait in (0, 30, 120, 600, 3600, 21_600, 86_400, 86_400):
        sweep_after(wait)
    assert owed() == [("evidence", "owed", None)]
    notifier.says = Answer.APPROVED
    sweep_after(86_400)

    assert owed() == [("evidence", "acknowledged", "approved")]
    assert (len(notifier.handed_in), len(set(map(repr, notifier.handed_in)))) == (9, 1)


def test_what_the_bank_does_not_take_is_not_sent_again(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.opened().submit()
    notifier.says = Answer.DECLINED

    sweep_after(0)
    sweep_after(86_400)

    assert owed() == [("evidence", "refused", "declined")]
    assert (len(notifier.handed_in), complaint.status) == (1, "under_review")


def test_every_exchange_about_it_is_kept(complaint: Complaint, notifier: Notifier) -> None:
    complaint.opened().submit()
    notifier.says = Answer.UNKNOWN
    sweep_after(0)
    notifier.says = Answer.APPROVED
    sweep_after(30)

    row = DisputeDelivery.objects.get()
    kept = BankExchange.objects.order_by("id").values_list("operation", "operation_id", "answer")
    assert list(kept) == [("evidence", row.id, "unknown"), ("evidence", row.id, "approved")]


def test_a_disabled_terminals_bank_gets_it_when_it_is_enabled(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.opened().submit()
    Terminal.objects.update(status="disabled")
    sweep_after(0)
    assert (notifier.handed_in, owed()) == ([], [("evidence", "owed", None)])
    Terminal.objects.update(status="enabled")

    sweep_after(30)

    assert owed() == [("evidence", "acknowledged", "approved")]


# --- What comes between -----------------------------------------------------------------------


@pytest.mark.parametrize("word", ["dispute_won", "dispute_lost"])
def test_evidence_that_is_on_its_way_is_withdrawn_when_the_bank_decides(
    complaint: Complaint, notifier: Notifier, word: str
) -> None:
    complaint.opened().submit().told(word)

    sweep()

    assert (notifier.handed_in, owed()) == ([], [("evidence", "superseded", None)])


def test_an_acceptance_that_is_on_its_way_is_withdrawn_when_the_bank_decides(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.opened().close().won()

    sweep()

    assert complaint.status == "won"
    assert (notifier.handed_in, owed()) == ([], [("acceptance", "superseded", None)])


def test_an_acceptance_of_an_inquiry_is_withdrawn_when_it_is_charged_back(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.inquired().close().escalated()

    sweep()

    assert complaint.status == "needs_response"
    assert (notifier.handed_in, owed()) == ([], [("end", "superseded", None)])


def test_a_chargeback_is_answered_anew_under_the_next_number(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.inquired().submit()
    sweep()
    complaint.escalated().submit(refund_policy="None.")

    sweep()

    assert [sent.number for sent in notifier.handed_in] == [1, 2]
    assert notifier.handed_in[1].evidence == {**TEXT, "refund_policy": "None."}
    assert complaint.shown()["evidence_details"]["submission_count"] == 2


def test_a_closed_inquiry_that_is_charged_back_may_be_closed_again(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.inquired().close()
    sweep()
    complaint.escalated().close()

    sweep()

    closed = [("end", "acknowledged", "approved"), ("acceptance", "acknowledged", "approved")]
    assert owed() == closed
    assert [sent.is_inquiry for sent in notifier.handed_in] == [True, False]


# --- Leases -----------------------------------------------------------------------------------


def test_silence_of_an_asker_that_was_overtaken_changes_nothing(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.opened().submit()
    asked = leases.take(DisputeDelivery.objects.get())
    DisputeDelivery.objects.update(lease_until=clock.now() + timedelta(hours=1))
    before = DisputeDelivery.objects.values().get()
    notifier.says = Answer.UNKNOWN

    settling.settle(deliveries.KIND, asked, deliveries.KIND.ask(asked))

    assert DisputeDelivery.objects.values().get() == before


def test_an_acknowledgement_counts_from_every_asker(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.opened().submit()
    asked = leases.take(DisputeDelivery.objects.get())
    DisputeDelivery.objects.update(lease_until=clock.now() + timedelta(hours=1))

    settling.settle(deliveries.KIND, asked, deliveries.KIND.ask(asked))

    assert owed() == [("evidence", "acknowledged", "approved")]


def test_an_acknowledgement_that_comes_late_changes_nothing(
    complaint: Complaint, notifier: Notifier
) -> None:
    complaint.opened().submit()
    asked = leases.take(DisputeDelivery.objects.get())
    complaint.won()

    settling.settle(deliveries.KIND, asked, deliveries.KIND.ask(asked))

    assert owed() == [("evidence", "superseded", None)]


# --- What the database refuses ----------------------------------------------------------------


@pytest.mark.every_case("the database refuses whatever the code does")
@pytest.mark.parametrize(
    "change", [{"number": 2}, {"evidence": {"a": "b"}}, {"kind": "acceptance"}, {"request_id": "x"}]
)
def test_what_is_owed_stays_as_it_was_submitted(
    complaint: Complaint, change: dict[str, object]
) -> None:
    complaint.opened().submit()

    with pytest.raises(IntegrityError, match="cannot change"), transaction.atomic():
        DisputeDelivery.objects.update(**change)


def test_evidence_is_written_down_once_per_number(complaint: Complaint) -> None:
    complaint.opened().submit()

    with pytest.raises(IntegrityError, match="once_per_number"), transaction.atomic():
        deliveries.owe_evidence(complaint.row)


def test_one_acceptance_is_owed_at_a_time(complaint: Complaint) -> None:
    complaint.opened().close()

    with pytest.raises(IntegrityError, match="one_owed_close"), transaction.atomic():
        deliveries.owe_acceptance(complaint.row)
