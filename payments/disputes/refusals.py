"""Refusals that more than one module of disputes raises."""

from core.errors import DomainError
from payments.disputes import render
from payments.disputes.models import Dispute


class DisputeUnexpectedState(DomainError):
    """The dispute is in a state that does not allow this; the answer carries the dispute."""

    code = "dispute_unexpected_state"
    message = "The dispute's status does not allow this."
    is_lasting = True

    def __init__(self, dispute: Dispute) -> None:
        super().__init__(
            f"The dispute's status, {dispute.status}, does not allow this.",
            shown={"dispute": render.dispute(dispute)},
        )


class EvidencePastDue(DomainError):
    """The due date of the evidence has passed; the answer carries the dispute."""

    code = "evidence_past_due"
    message = "The time to answer the dispute is over."
    is_lasting = True

    def __init__(self, dispute: Dispute) -> None:
        super().__init__(shown={"dispute": render.dispute(dispute)})


class ClaimUnusable(Exception):
    """A dispute's terms contradict what we know of the payment: a person has to look into it."""
