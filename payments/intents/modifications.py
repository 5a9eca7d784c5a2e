"""Modifications of an authorised attempt at the bank: capture it, void it, give it back."""

from collections.abc import Callable

import acquirers
from acquirers import refused_requests
from acquirers.in_doubt import answers, leases
from acquirers.in_doubt.kinds import Kind
from acquirers.outcomes import Deed, Outcome
from core import context
from payments.intents import modification_answers, repayments, reversals
from payments.intents.models import Modification
from payments.intents.modification_effects import EXPIRED
from payments.intents.orders import order_of
from payments.intents.states import ModificationKind, ModificationStatus


class Modifications(Kind[Modification]):
    """Captures, voids and reversals whose end is not known."""

    model = Modification

    def begun(self, row: Modification) -> Modification | None:
        if row.status != ModificationStatus.PROCESSING:
            return row  # A person has decided it, and the bank is asked what it says by now.
        is_refund = row.refund_reference and not row.dispute_reference
        return reversals.begun(row) if is_refund else row

    def ask(self, row: Modification) -> Outcome:
        return ask(row)

    def resolve(self, row: Modification, outcome: Outcome) -> Modification:
        return resolve(row, outcome)


def run(modification: Modification) -> Modification:
    """Ask the bank for the modification and apply its answer; the caller holds the lease.

    :returns: the modification as it is now, its payment with it; the release, if the bank refused
        a capture.
    """
    return _run(modification, _order)


def run_again(modification: Modification) -> Modification:
    """Ask for a modification once more; the first request may have reached the bank, or may yet.

    So "not sent" counts as unknown here. Only for a bank whose references are idempotent.
    """
    return _run(modification, lambda again: answers.in_doubt(_order(again)))


def _run(modification: Modification, order: Callable[[Modification], Outcome]) -> Modification:
    context.mark_irrevocable()
    with leases.given_back(modification):
        outcome = order(modification)
        applied = answers.apply_with_retry(
            modification, lambda: modification_answers.apply(modification, outcome)
        )
    return _run(applied.release, _void) if applied.release else applied.modification


def ask(modification: Modification) -> Outcome:
    """Inquire how the modification ended; one that must succeed in the end is asked for again.

    That is every release that no merchant asked for: of a refused capture, of a late charge, of an
    expired authorisation. A late charge may have to be refunded instead. What a person has decided
    is asked about only.
    """
    if modification.status != ModificationStatus.PROCESSING:
        return inquire(modification)
    if modification.kind == ModificationKind.REVERSE:
        return reversals.ask(modification)
    if modification.kind == ModificationKind.FALL_BACK or modification.reason == EXPIRED:
        return answers.in_doubt(_void(modification))
    return inquire(modification)


def inquire(modification: Modification) -> Outcome:
    """Inquire how the modification ended, which changes nothing at the bank."""
    attempt, is_capture = modification.attempt, modification.kind == ModificationKind.CAPTURE
    if modification.refund_reference and modification.refund_sent_at:
        return repayments.inquire_refund(attempt, reference=modification.refund_reference)
    return repayments.inquire(attempt, Deed.CAPTURE if is_capture else Deed.VOID)


def resolve(modification: Modification, outcome: Outcome) -> Modification:
    """Apply the answer to `ask`; it never tells that a capture was refused: no release follows."""
    return modification_answers.apply(modification, outcome).modification


def _order(modification: Modification) -> Outcome:
    if modification.kind == ModificationKind.REVERSE:
        return reversals.ask(modification)
    if modification.kind != ModificationKind.CAPTURE:
        return _void(modification)
    assert modification.amount is not None  # a_capture_has_an_amount
    attempt = modification.attempt
    outcome = acquirers.of(attempt).capture(order_of(attempt), amount=modification.amount)
    return refused_requests.watched(attempt.terminal, outcome)


def _void(modification: Modification) -> Outcome:
    return repayments.void(modification.attempt)
