"""A restored copy compared with the banks: what it lacks is named, what the bank knows is adopted.

Nothing is sent: the statements are read, and inquiries are made. Safe to repeat, and to break off
after any step.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from acquirers.conversation import schedule, settling
from acquirers.gateway import StatementLine
from acquirers.rails import TransferLine
from audit import bank, contradictions, transfers
from audit.bank import Ours
from audit.reconciliation import differences
from core import clock, context
from events import jumps
from merchants import invitations, sessions
from payments.bank import attempts, modification_rows, modifications
from payments.checkout import expiry
from payments.intents.models import Attempt
from payments.intents.states import AttemptStatus, ModificationKind
from payments.refunds import render as refunds_render
from payments.refunds import steps as refund_steps
from payments.refunds.models import Refund
from payments.refunds.states import Method, RefundStatus
from payouts import render, steps
from payouts.models import Payout
from payouts.states import PayoutStatus
from webhooks import replay


@dataclass(slots=True)
class Comparison:
    """All that was found and done, one sentence for each.

    :param lost: bookings of the bank that the copy has no row of; each is a case.
    :param adopted: objects of the copy that have gone on at the bank, and now here too.
    :param contradicted: objects of which the bank has something else, for a person to decide.
    :param unproved: terminals without a statement, and payouts without one.
    """

    looked_at: int = 0
    lost: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)
    contradicted: list[str] = field(default_factory=list)
    unproved: list[str] = field(default_factory=list)


def close_doors() -> dict[str, int]:
    """End what was opened before the restore and may have been used since; return how many.

    Sign-ins, invitations, and payment pages whose payer may have paid at the bank.
    """
    return {
        "sign-ins": sessions.end_all(),
        "invitations": invitations.end_all(),
        "payment pages": expiry.expire_all(job="manage.py after_restore"),
    }


def move_numbers(restored_at: datetime) -> int:
    """Move the numbers of events past what may have left, and give replays new horizons.

    Before all that records an event.

    :param restored_at: when the copy was held.
    """
    with transaction.atomic(durable=True):
        moved = jumps.jump(restored_at)
        replay.begin_anew()
    return moved


def compare() -> Comparison:
    """Compare every payment and payout with the bank's statements.

    :raises acquirers.gateway.StatementUnreadable: a bank did not give its whole statement.
    """
    made = Comparison()
    for ours, line in bank.side_by_side(made.unproved):
        made.looked_at += 1
        if ours is not None:
            _compare_attempt(ours, line, made)
        elif line is not None:
            _note_lost_charge(line, made)
    _have_refunds_asked_about(made)
    for payout, transfer in transfers.side_by_side(made.unproved):
        made.looked_at += 1
        if payout is None and transfer is not None:
            _note(made, "transfer_out", transfer.reference, transfer, transfer.amount)
        elif payout is not None and transfer is not None:
            _compare_payout(payout, transfer, made)
    if not transfers.gives_statement():
        _have_payouts_asked_about(made)
    return made


# --- Payments ---------------------------------------------------------------------------------


def _note_lost_charge(line: StatementLine, made: Comparison) -> None:
    amount = line.captured or line.authorized
    if amount:
        _note(made, "sale", line.reference, line, amount)
    _note_lost_refunds(line.refunds, line, made)


def _note_lost_refunds(references: Iterable[str], line: StatementLine, made: Comparison) -> None:
    for reference in references:
        if line.refunds[reference]:
            _note(made, "refund", reference, line, line.refunds[reference])


def _note(
    made: Comparison, type_: str, reference: str, line: StatementLine | TransferLine, amount: int
) -> None:
    booking = differences.Booking(type_, reference, line.merchant_id, line.currency, amount)
    differences.open_lost(booking)
    made.lost.append(
        f"{type_} {reference} of {line.merchant_id}: the bank has {amount} {line.currency}"
    )


def _compare_attempt(ours: Ours, line: StatementLine | None, made: Comparison) -> None:
    if line is not None:
        _note_sent_refunds(ours, line, made)
        _adopt(ours, line, made)
    again = bank.ours_of(ours.reference)
    for said in bank.said_otherwise(again, line):
        contradictions.open_about(again.attempt_id, said)
        made.contradicted.append(said)


def _note_sent_refunds(ours: Ours, line: StatementLine, made: Comparison) -> None:
    """Note of refunds that they have left, so that the bank is asked and they are not sent."""
    rows = Refund.objects.filter(attempt=ours.attempt_id)
    known = set(rows.values_list("acquirer_reference", flat=True))
    _note_lost_refunds(line.refunds.keys() - known, line, made)
    unsent = rows.filter(
        Q(sent_at=None) | Q(method=Method.VOID),
        status=RefundStatus.PENDING, acquirer_reference__in=line.refunds.keys(),
    )  # fmt: skip
    for refund in unsent:
        _note_sent_refund(refund)
        made.adopted.append(f"refund {refund.id}: the bank has it, and is asked how it ended")


def _have_refunds_asked_about(made: Comparison) -> None:
    """Note of waiting refunds that they may have left, where no statement says: banks are asked.

    A bank that keeps no name of a refund would give its money back twice.
    """
    unsent = Refund.objects.filter(
        attempt__terminal__in=bank.without_statement(),
        status=RefundStatus.PENDING, method=Method.REFUND, sent_at=None,
    )  # fmt: skip
    for refund in unsent.order_by("id"):
        _note_sent_refund(refund)
        made.unproved.append(f"refund {refund.id}: the bank is asked whether it has it")


@transaction.atomic(durable=True)
def _note_sent_refund(asked: Refund) -> None:
    refund = refund_steps.locked(asked)
    has_left = refund.sent_at is not None and refund.method == Method.REFUND
    if has_left or refund.status != RefundStatus.PENDING:
        return  # Noted since it was found.
    before = refunds_render.refund(refund)
    refund_steps.ask_whether_it_left(refund)
    refund_steps.move(refund, RefundStatus.PENDING, before)


def _adopt(ours: Ours, line: StatementLine, made: Comparison) -> None:
    if ours.awaits_payer:
        _ask_soon(ours.attempt_id)
        made.adopted.append(f"{ours}: the bank has it, and is asked how it ended")
    if ours.status != AttemptStatus.AUTHORIZED or ours.is_modified:
        return
    if line.captured:
        _pursue(ours, ModificationKind.CAPTURE, line.captured)
        made.adopted.append(f"{ours}: the bank has captured {line.captured} {line.currency}")
    elif not line.authorized:
        _pursue(ours, ModificationKind.VOID, None)
        made.adopted.append(f"{ours}: the bank has released it")


@transaction.atomic(durable=True)
def _ask_soon(attempt_id: str) -> None:
    _intent, attempt = attempts.locked(Attempt.objects.get(id=attempt_id))
    schedule.look_at(attempt, clock.now())
    attempt.save(update_fields=["due_at"])


def _pursue(ours: Ours, kind: ModificationKind, amount: int | None) -> None:
    """Write a modification down as if it had been asked for here, and ask the bank how it ended."""
    with context.work():
        with transaction.atomic(durable=True):
            _intent, attempt = attempts.locked(Attempt.objects.get(id=ours.attempt_id))
            row = modification_rows.begin(attempt, kind, amount=amount)
        settling.pursue(modifications.KIND, row, ask=modifications.KIND.inquire)


# --- Payouts ----------------------------------------------------------------------------------


def _compare_payout(payout: Payout, line: TransferLine, made: Comparison) -> None:
    if payout.status == PayoutStatus.PENDING:
        _note_sent_payout(payout)
        made.adopted.append(f"payout {payout.id}: the bank has it, and is asked how it ended")
    elif payout.status == PayoutStatus.CANCELED or (
        payout.status == PayoutStatus.FAILED and line.moved
    ):
        made.contradicted.append(f"payout {payout.id} is {payout.status}, and the bank has it")


def _have_payouts_asked_about(made: Comparison) -> None:
    """Note of waiting payouts that they may have left: the bank is asked before one is sent."""
    for payout in Payout.objects.filter(status=PayoutStatus.PENDING).order_by("id"):
        _note_sent_payout(payout)
        made.unproved.append(f"payout {payout.id}: the bank is asked whether it has it")


@transaction.atomic(durable=True)
def _note_sent_payout(asked: Payout) -> None:
    payout = steps.locked(asked)
    if payout.status == PayoutStatus.PENDING:
        schedule.begin_asking(payout, clock.now())
        payout.sent_at = clock.now()
        steps.move(payout, PayoutStatus.IN_TRANSIT, render.payout(payout))
