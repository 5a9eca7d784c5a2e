"""The test bank's answer to an inquiry: one state, read as everything that it stands for."""

from typing import Any

from acquirers.calls import Course
from acquirers.outcomes import Answer, BankOperation, Finding, OperationKind, Standing
from acquirers.sandbox import answers

STATES = {
    "approved": Answer.APPROVED,
    "declined": Answer.DECLINED,
    "authentication_required": Answer.AUTHENTICATION_REQUIRED,
    "pending": Answer.PENDING,
}
# States that an approved authorisation has come to since.
ENDS = {"voided": OperationKind.VOID, "lapsed": OperationKind.LAPSE}


def standing(told: Any, reference: str, course: Course) -> Standing:
    """Read the answer; one of any other form counts as silence."""
    if told == {"reference": reference, "result": "no_record"}:
        return Standing(Finding.NO_RECORD, exchange=course.ended())
    try:
        answers.require_about(told, reference)
        found = answers.facts_of(told)
        operations = _operations(told["result"], answers.amount(told.get("captured_amount")))
    except answers.UNREADABLE:
        return Standing(Finding.UNKNOWN, exchange=course.ended())
    exchange = course.ended(code=found["response_code"])
    return Standing(Finding.FOUND, operations, exchange=exchange, **found)


def _operations(result: str, captured: int | None) -> tuple[BankOperation, ...]:
    """Return the operations behind a state."""
    state = Answer.APPROVED if result in ENDS else STATES[result]
    operations = [BankOperation(OperationKind.AUTHORIZATION, state)]
    if captured:
        operations.append(BankOperation(OperationKind.CAPTURE, Answer.APPROVED, captured))
    if result in ENDS:
        operations.append(BankOperation(ENDS[result], Answer.APPROVED))
    return tuple(operations)
