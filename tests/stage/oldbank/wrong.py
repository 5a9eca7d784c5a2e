"""Planted faults: adapters of the old bank that each do one thing as no adapter may.

A proof that does not find them proves nothing.
"""

from collections.abc import Mapping
from dataclasses import replace

from acquirers import wire
from acquirers.gateway import Order
from acquirers.models import Terminal
from acquirers.outcomes import Answer, BankOperation, Finding, OperationKind, Outcome, Standing
from tests.stage.oldbank.gateway import OldBankGateway


class SendsAgain(OldBankGateway):
    """Send a change once more when no answer came, as if its reference were idempotent."""

    def _send(
        self, order: Order, request_type: str, sent: Mapping[str, str], seconds: float
    ) -> wire.Received:
        try:
            return super()._send(order, request_type, sent, seconds)
        except wire.NoAnswer:
            return super()._send(order, request_type, sent, seconds)


class VoidsElsewhere(OldBankGateway):
    """Void at the newest terminal, whichever one the payment was made at."""

    def void(self, order: Order) -> Outcome:
        return super().void(replace(order, terminal=Terminal.objects.latest("created_at")))


class VoidsElsewhereAndBelieves(VoidsElsewhere):
    """Take the other terminal's "no record" for a release, besides."""

    def void(self, order: Order) -> Outcome:
        outcome = super().void(order)
        is_no_record = outcome.exchange.code == "E-2400"
        return replace(outcome, answer=Answer.APPROVED) if is_no_record else outcome


class BelievesNoRecord(OldBankGateway):
    """Read "no record" as the decline that the bank calls it."""

    def inquire(self, order: Order) -> Standing:
        standing = super().inquire(order)
        if standing.finding is not Finding.NO_RECORD:
            return standing
        declined = BankOperation(OperationKind.AUTHORIZATION, Answer.DECLINED)
        return Standing(Finding.FOUND, (declined,), response_code="05")


class AsksPlainly(OldBankGateway):
    """Ask for the last thing only, which hides the payment behind a refused capture."""

    def inquire(self, order: Order) -> Standing:
        standing = super().inquire(order)
        return replace(standing, operations=standing.operations[-1:])
