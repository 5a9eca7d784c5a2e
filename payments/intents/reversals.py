"""Reversals of late charges that can be voided no more: they are refunded at the bank instead.

Neither the merchant nor the ledger knows of the charge: the money only passes the bank.
"""

import structlog
from django.db import transaction

from acquirers import references
from acquirers.in_doubt import leases, schedule
from acquirers.outcomes import NEVER_SENT, Answer, Outcome
from core import clock
from payments.intents import modification_rows, repayments
from payments.intents.models import Modification
from payments.intents.states import Errand, ModificationStatus

log = structlog.get_logger(__name__)


@transaction.atomic(durable=True)
def begun(leased: Modification) -> Modification | None:
    """Write down that the refund leaves for the bank now, if it does; return it with its errand.

    :param leased: the caller holds its lease.
    :returns: None if the reversal has ended, or another process has taken it over.
    """
    row = modification_rows.locked(leased)
    if row.status != ModificationStatus.PROCESSING or leases.is_overtaken(leased, row):
        return None
    row.errand = _errand(row)
    if row.errand is not Errand.ASK:
        row.refund_sent_at = row.refund_sent_at or clock.now()
        schedule.begin_again(row, clock.now())
        row.save(update_fields=["refund_sent_at", "asked_at", "no_record_count"])
    return row


def _errand(row: Modification) -> Errand:
    if row.refund_sent_at is None:
        return Errand.SEND
    return Errand.SEND_AGAIN if schedule.absence_is_confirmed(row) else Errand.ASK


def ask(row: Modification) -> Outcome:
    """Ask for the release once more, or do the refund's errand; the caller holds the lease."""
    attempt, reference = row.attempt, row.refund_reference
    if reference is None:
        return repayments.void_again(attempt)
    amount = attempt.amount + attempt.surcharge
    return repayments.run(row.errand, attempt, reference=reference, amount=amount)


def is_about(row: Modification, asked: Modification, outcome: Outcome) -> bool:
    """Tell whether an answer is about what the row is now.

    The answer to a void says nothing about the refund that the void has become since. A yes to it
    is one too many: a person has to look.
    """
    if asked.refund_reference == row.refund_reference:
        return True
    if outcome.answer is Answer.APPROVED:
        log.error("reversal_done_another_way", modification=row.id)
    return False


def go_on(row: Modification, outcome: Outcome) -> None:
    """Change a locked reversal, in memory, after an answer that has not ended it.

    The bank's day is over: it goes on as a refund. The refund was refused: it is tried under
    another reference later, because the bank repeats its answer to this one.
    """
    if outcome.answer is Answer.SETTLED and row.refund_reference is None:
        _draw_reference(row)
        schedule.look_at(row, clock.now())
    elif row.refund_reference and outcome.answer is Answer.DECLINED:
        _draw_reference(row)
    elif row.refund_reference and outcome.answer in NEVER_SENT:
        row.refund_sent_at = None
    elif row.refund_reference and outcome.answer is Answer.NO_RECORD:
        schedule.look_at(row, clock.now())  # Its absence is confirmed: it is sent again.


def _draw_reference(row: Modification) -> None:
    row.refund_reference, row.refund_sent_at = references.new(), None
    row.no_record_count = 0
