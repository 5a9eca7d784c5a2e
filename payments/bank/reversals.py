"""Reversals of late charges that can be voided no more: they go back in another way.

After the bank's day they are refunded. Once the cardholder disputes the money, the bank refuses
both, and the dispute is accepted. Neither the merchant nor the ledger knows of the charge: the
money only passes the bank.
"""

from datetime import datetime

import structlog
from django.db import transaction

from acquirers import references
from acquirers.conversation import answers, leases, schedule
from acquirers.gateway import SoughtRefund
from acquirers.outcomes import NEVER_SENT, Answer, Outcome
from cases import cases
from cases.states import CaseKind
from core import clock
from payments.bank import modification_rows, repayments
from payments.intents.models import Attempt, Modification
from payments.intents.states import ModificationKind, ModificationStatus, NextStep

log = structlog.get_logger(__name__)


@transaction.atomic(durable=True)
def begun(leased: Modification) -> Modification | None:
    """Write down the refund's next step at the bank, and return it with that.

    :param leased: the caller holds its lease.
    :returns: None if the reversal has ended, or another process has taken it over.
    """
    row = modification_rows.locked(leased)
    if row.status != ModificationStatus.PROCESSING or leases.is_overtaken(leased, row):
        return None
    row.next_step = _next_step(row)
    if row.next_step is not NextStep.ASK:
        row.refund_sent_at = row.refund_sent_at or clock.now()
        schedule.begin_again(row, clock.now())
        row.save(update_fields=["refund_sent_at", "asked_at", "no_record_count"])
    return row


def _next_step(row: Modification) -> NextStep:
    if row.refund_sent_at is None:
        return NextStep.SEND
    return NextStep.SEND_AGAIN if schedule.absence_is_confirmed(row) else NextStep.ASK


def ask(row: Modification) -> Outcome:
    """Ask for the release once more, or do the refund's next step; the caller holds the lease.

    Money that is disputed goes back as the dispute is accepted.
    """
    attempt = row.attempt
    if row.dispute_reference is not None:
        return answers.in_doubt(repayments.give_up(attempt, dispute=row.dispute_reference))
    if row.refund_reference is None:
        return repayments.void_again(attempt)
    return repayments.send_or_ask(row.next_step, attempt, sought(row))


def sought(row: Modification) -> SoughtRefund:
    """Return the refund that a reversal has become; it is the only one of its order."""
    assert row.refund_reference is not None
    return SoughtRefund(
        reference=row.refund_reference,
        amount=row.attempt.amount + row.attempt.surcharge,
        sent_at=row.refund_sent_at or row.asked_at,
    )


def absence_not_before(row: Modification) -> datetime | None:
    """Return until when "no record" of a reversal proves nothing; None if it does at any time."""
    if row.refund_reference is None:
        return None
    return repayments.absence_not_before(row.attempt, row.asked_at)


def is_about(row: Modification, asked: Modification, outcome: Outcome) -> bool:
    """Return whether an answer is about what the row is now.

    The answer to a void says nothing about the refund that the void has become since. A yes to it
    is one too many: a person has to look. If a dispute was heard of since, only a yes counts: the
    money went back in the way that was asked for.
    """
    if asked.dispute_reference is not None:
        return asked.dispute_reference == row.dispute_reference
    if asked.refund_reference == row.refund_reference:
        return row.dispute_reference is None or outcome.answer in repayments.RELEASED
    if outcome.answer is Answer.APPROVED:
        log.error("reversal_done_another_way", modification=row.id)
    return False


def go_on(row: Modification, outcome: Outcome) -> None:
    """Change a locked reversal, in memory, after an answer that has not ended it.

    The bank's day is over: it goes on as a refund. The refund was refused: it is tried under
    another reference later, because the bank repeats its answer to this one. The bank has decided
    the dispute: its notice brings the end of the money; it is asked for again.
    """
    if row.dispute_reference is not None:
        if outcome.answer is Answer.DECLINED:
            row.dispute_reference = None
    elif outcome.answer is Answer.SETTLED and row.refund_reference is None:
        _draw_reference(row)
        schedule.look_at(row, clock.now())
    elif row.refund_reference and outcome.answer is Answer.DECLINED:
        _draw_reference(row)
    elif row.refund_reference and outcome.answer in (*NEVER_SENT, Answer.DAY_OPEN):
        row.refund_sent_at = None  # Sent again by the schedule.
    elif row.refund_reference and outcome.answer is Answer.NO_RECORD:
        schedule.look_at(row, clock.now())  # Its absence is confirmed: it is sent again.


def note_way(row: Modification, asked: Modification) -> None:
    """Note that a locked row went back in the way that was asked for, whatever was heard since."""
    told_since = row.dispute_reference
    row.dispute_reference = asked.dispute_reference
    if told_since is not None:
        contradict(row, told_since)


def contradict(row: Modification, dispute: str) -> None:
    """Open a case about a dispute of money that had gone back in another way: it may go back twice.

    Does nothing if it went back by this dispute.

    :param row: the reversal, locked behind its payment and its attempt.
    :param dispute: the bank's name for it.
    """
    if row.dispute_reference != dispute:
        cases.open_case(
            CaseKind.BANK_CONTRADICTS_BOOK, row.attempt, operation_id=row.id,
            finding=f"The bank has the dispute {dispute} about a late charge that had gone back.",
        )  # fmt: skip


def of_late_charge(attempt: Attempt) -> Modification | None:
    """Return the newest reversal of a locked attempt, locked; None if it was no late charge."""
    rows = attempt.modifications.filter(kind=ModificationKind.REVERSE)
    return rows.select_for_update().order_by("-created_at", "-id").first()


def note_dispute(row: Modification, dispute: str) -> None:
    """Let a locked reversal go on by the dispute, in which the bank has set all its money aside.

    :param dispute: the bank's name for it.
    """
    if row.status == ModificationStatus.PROCESSING:
        row.dispute_reference = dispute
        _look_now(row)


def note_lost(row: Modification, dispute: str) -> None:
    """End a locked reversal: the bank has given the money to the cardholder by the dispute."""
    if row.status == ModificationStatus.PROCESSING:
        row.dispute_reference = dispute
        modification_rows.close(row, ModificationStatus.SUCCEEDED, Answer.APPROVED)
        row.save()


def note_won(row: Modification) -> None:
    """Let a locked reversal go on as before the dispute, which has set its money free again."""
    if row.status == ModificationStatus.PROCESSING:
        row.dispute_reference = None
        _look_now(row)


def _look_now(row: Modification) -> None:
    schedule.look_at(row, clock.now())
    row.save(update_fields=["dispute_reference", "due_at"])


def _draw_reference(row: Modification) -> None:
    row.refund_reference, row.refund_sent_at = references.new(), None
    row.no_record_count = 0
