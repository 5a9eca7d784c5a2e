"""Refusals that more than one module of disputes raises."""

from core.errors import DomainError, Explained
from payments.disputes import render
from payments.disputes.models import Dispute


class DisputeUnexpectedState(DomainError):
    """The dispute is in a state that does not allow this; the answer carries the dispute."""

    explained = Explained(
        cause=(
            "The dispute's status does not allow this: evidence was submitted already, or the "
            "dispute has ended. The answer carries the dispute."
        ),
        remedy=(
            "Read `dispute.status` in the answer. Evidence is taken in `needs_response` and "
            "`warning_needs_response` only."
        ),
    )
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

    explained = Explained(
        cause="The bank's last day for evidence has passed. The answer carries the dispute.",
        remedy=(
            "Nothing can be submitted any more: wait for the bank's decision. Submit before "
            "`evidence_due_by` the next time."
        ),
    )
    code = "evidence_past_due"
    message = "The time to answer the dispute is over."
    is_lasting = True

    def __init__(self, dispute: Dispute) -> None:
        super().__init__(shown={"dispute": render.dispute(dispute)})


class ClaimUnusable(Exception):
    """A dispute's terms contradict what we know of the payment: a person has to look into it."""
