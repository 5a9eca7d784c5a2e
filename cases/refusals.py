"""Refusals of what an operator asks for about a case; the desk shows their sentences."""

from cases.models import Case
from core.errors import DomainError, PermissionDenied
from merchants.models import User


class MayNotResolve(PermissionDenied):
    message = "Your permissions do not allow you to decide cases."


class ReasonUnfit(DomainError):
    code = "parameter_invalid"
    message = "Say why, in 10 to 1000 characters, without a card number."
    param = "reason"


class NoteUnfit(DomainError):
    code = "parameter_invalid"
    message = "Write 1 to 4000 characters, without a card number."
    param = "text"


class OwnerUnfit(DomainError):
    code = "parameter_invalid"
    message = "Only an operator who may decide cases can own one."
    param = "owner"


class NotDecidable(DomainError):
    code = "parameter_invalid"
    message = "This case does not take that decision."
    param = "decision"


class CaseChanged(DomainError):
    """The case is not any more as the person saw it: decided, settled or reopened meanwhile."""

    code = "lock_timeout"
    http_status = 409

    def __init__(self, case: Case) -> None:
        super().__init__(_since(case))


class MayNotTakeOn(PermissionDenied):
    message = "Your permissions do not allow you to take on work of this kind."


class TakenMeanwhile(DomainError):
    """Another person has the piece of work, or has it no more, since the operator saw it."""

    code = "lock_timeout"
    http_status = 409

    def __init__(self, holder: User | None) -> None:
        super().__init__(
            f"{holder} has it: they took it on since you opened the list."
            if holder
            else "Its person has given it back since you opened the list. Take it on from there."
        )


class BankIsBeingAsked(DomainError):
    code = "lock_timeout"
    http_status = 409
    message = (
        "The bank is being asked about this payment at this moment. Nothing was decided:"
        " try again shortly."
    )


def _since(case: Case) -> str:
    if case.is_open:
        return "The case was opened again since you opened this page. Nothing was decided."
    if case.decision is None:
        return "The bank has settled the case since you opened this page. Nothing was decided."
    return (
        f"{case.decided_by} has decided meanwhile: {case.get_decision_display()}."
        " Your decision was not taken."
    )
