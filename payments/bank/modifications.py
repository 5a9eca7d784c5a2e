"""Modifications of an authorised attempt at the bank: capture it, void it, give it back."""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import QuerySet

import acquirers
from acquirers import refused_requests
from acquirers.conversation import answers, settling
from acquirers.conversation.kinds import Effect, Facts, Kind, Said
from acquirers.exchanges import Spoken
from acquirers.models import BankExchange
from acquirers.outcomes import Answer, OperationKind, Outcome
from cases import cases
from cases.states import CaseDecision, CaseKind
from payments.bank import (
    late,
    modification_answers,
    modification_rows,
    repayments,
    reversals,
    taken_back,
)
from payments.bank.orders import order_of
from payments.bank.repayments import RELEASED
from payments.intents.models import Modification
from payments.intents.states import EXPIRED, IN_FLIGHT, ModificationKind, ModificationStatus
from payments.intents.transition import DOOR

EXCHANGES = {
    ModificationKind.CAPTURE: BankExchange.Operation.CAPTURE,
    ModificationKind.VOID: BankExchange.Operation.VOID,
    ModificationKind.FALL_BACK: BankExchange.Operation.VOID,
    ModificationKind.REVERSE: BankExchange.Operation.REVERSAL,
}


class Modifications(Kind[Modification]):
    """Captures, voids and reversals whose end is not known."""

    model = Modification
    id_prefix = "mod"
    slots = 4
    door = DOOR

    def facts(self, asked: Modification, outcome: Outcome) -> Facts[Modification]:
        row = modification_rows.locked(asked)
        spoken = Spoken(row.attempt, EXCHANGES[ModificationKind(row.kind)], row.id)
        is_absent, subject = outcome.answer is Answer.NO_RECORD, row.attempt.intent
        not_before = reversals.absence_not_before(row) if is_absent else None
        known = answers.believed(row, outcome, not_before=not_before)
        if row.status == ModificationStatus.PROCESSING:
            is_open = reversals.is_about(row, asked, outcome)
            return Facts(row, subject, spoken, known, is_open)
        if known.answer is Answer.NO_RECORD and _is_a_persons(row):
            # They may have seen to a late charge at the bank in another way.
            known = replace(known, answer=Answer.UNKNOWN)
        # A refused capture ends with its release, which another process may still be asking for.
        is_followed = modification_rows.has_open(row.attempt)
        return Facts(row, subject, spoken, known, is_open=False, is_followed=is_followed)

    def begun(self, row: Modification) -> Modification | None:
        if row.status != ModificationStatus.PROCESSING:
            return row  # A person has decided it, and the bank is asked what it says by now.
        is_refund = row.refund_reference and not row.dispute_reference
        return reversals.begun(row) if is_refund else row

    def ask(self, row: Modification) -> Outcome:
        """Inquire how it ended; one that must succeed in the end is asked for again.

        That is every release that no merchant asked for: of a refused capture, of a late charge,
        of an expired authorisation. A late charge may have to be refunded instead. What a person
        has decided is asked about only.
        """
        if row.status != ModificationStatus.PROCESSING:
            return self.inquire(row)
        if row.kind == ModificationKind.REVERSE:
            return reversals.ask(row)
        if row.kind == ModificationKind.FALL_BACK or row.reason == EXPIRED:
            return answers.in_doubt(_void(row))
        return self.inquire(row)

    def inquire(self, row: Modification) -> Outcome:
        if row.refund_reference and row.refund_sent_at:
            return repayments.inquire_refund(row.attempt, reversals.sought(row))
        is_capture = row.kind == ModificationKind.CAPTURE
        return repayments.inquire(
            row.attempt, OperationKind.CAPTURE if is_capture else OperationKind.VOID
        )

    def consequences(self, row: Modification, said: Said[Modification]) -> Effect:
        if said.outcome.answer in RELEASED:
            reversals.note_way(row, said.asked)
        shown = row.attempt.intent.status
        status = modification_answers.apply(row, said.outcome)
        if row.kind == ModificationKind.CAPTURE and said.outcome.is_from_inquiry:
            taken_back.look_once_more(row.attempt, said.outcome)
            row.attempt.save(update_fields=["due_at", "no_record_count"])
        release = partial(modification_answers.release_refused, row, goes_on=said.goes_on)
        return Effect(status if status != shown else None, release)

    def hear_late(self, asked: Modification, row: Modification, outcome: Outcome) -> None:
        if row.status != ModificationStatus.PROCESSING:
            late.hear_modification(self, asked, row, outcome)

    def unanswered(self, since: datetime) -> dict[str, QuerySet[Any]]:
        rows = Modification.objects.filter(
            status=ModificationStatus.PROCESSING, created_at__lte=since
        )
        rows = rows.select_related("attempt__intent").order_by("created_at")
        return {
            CaseKind.UNKNOWN_OUTCOME: rows.filter(kind__in=IN_FLIGHT),
            CaseKind.REVERSAL_STUCK: rows.filter(kind=ModificationKind.REVERSE),
        }

    def decisions(self, row: Modification) -> tuple[str, ...]:
        if row.kind == ModificationKind.CAPTURE:
            return (CaseDecision.CHARGED, CaseDecision.NOT_CHARGED)
        if row.kind == ModificationKind.VOID and row.reason != EXPIRED:
            return (CaseDecision.RELEASED, CaseDecision.NOT_RELEASED)
        # The service itself wants this release, and goes on asking for it until it is done.
        return (CaseDecision.RELEASED,)


KIND = Modifications()


def _is_a_persons(row: Modification) -> bool:
    """Return whether a person has decided the locked reversal of a late charge."""
    is_reversal = row.kind == ModificationKind.REVERSE
    return is_reversal and cases.lock_decided(row.attempt, operation_id=row.id) is not None


def run(modification: Modification) -> Modification:
    """Ask the bank for the modification and apply its answer; the caller holds the lease.

    :returns: the modification as it is now, its payment with it; the release, if the bank refused
        a capture.
    """
    return settling.pursue(KIND, modification, ask=_order)


def order_again(modification: Modification) -> Outcome:
    """Ask for a modification whose first request may have reached the bank, or may yet.

    Where references are not idempotent it is asked about only. "Not sent" counts as unknown here.
    """
    if not acquirers.of(modification.attempt).capabilities.references_are_idempotent:
        return KIND.ask(modification)
    return answers.in_doubt(_order(modification))


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
