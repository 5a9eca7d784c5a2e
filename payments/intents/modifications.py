"""Modifications of an authorised attempt at the bank: capture it, void it, give it back."""

from collections.abc import Callable
from dataclasses import replace

import acquirers
from acquirers import refused_requests, standings
from acquirers.in_doubt import answers, leases
from acquirers.in_doubt.kinds import Kind
from acquirers.outcomes import Answer, Deed, Outcome
from core import context
from payments.intents import modification_answers
from payments.intents.models import Modification
from payments.intents.modification_answers import EXPIRED, RELEASED
from payments.intents.orders import order_of
from payments.intents.states import ModificationKind


class Modifications(Kind[Modification]):
    """Captures, voids and reversals whose end is not known."""

    model = Modification

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
    expired authorisation.
    """
    is_ours = modification.kind in (ModificationKind.FALL_BACK, ModificationKind.REVERSE)
    if is_ours or modification.reason == EXPIRED:
        return answers.in_doubt(_void(modification))
    return _inquire(modification)


def resolve(modification: Modification, outcome: Outcome) -> Modification:
    """Apply the answer to `ask`; it never tells that a capture was refused: no release follows."""
    return modification_answers.apply(modification, outcome).modification


def _order(modification: Modification) -> Outcome:
    if modification.kind != ModificationKind.CAPTURE:
        return _void(modification)
    assert modification.amount is not None  # a_capture_has_an_amount
    attempt = modification.attempt
    outcome = acquirers.of(attempt).capture(order_of(attempt), amount=modification.amount)
    return refused_requests.watched(attempt.terminal, outcome)


def _void(modification: Modification) -> Outcome:
    attempt = modification.attempt
    outcome = acquirers.of(attempt).void(order_of(attempt))
    refused_requests.watched(attempt.terminal, outcome)
    if outcome.answer is not Answer.DECLINED:
        return outcome
    # The bank may refuse because it holds nothing any more: then the release is done.
    known = _inquire(modification)
    if known.answer in RELEASED:
        return replace(known, after=outcome)
    return replace(outcome, after=known)


def _inquire(modification: Modification) -> Outcome:
    """Inquire about the authorisation, and translate its state into an answer to the request."""
    attempt = modification.attempt
    gateway = acquirers.of(attempt)
    deed = Deed.CAPTURE if modification.kind == ModificationKind.CAPTURE else Deed.VOID
    found = standings.modification(gateway.inquire(order_of(attempt)), deed)
    if found.answer is Answer.NO_RECORD and not gateway.capabilities.inquires_modifications:
        # The bank tells of the sale alone: it may have done what it does not tell of.
        return replace(found, answer=Answer.UNKNOWN)
    return found
