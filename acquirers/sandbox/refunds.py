"""The test bank's answers about refunds: to a refund itself, and to an inquiry about it."""

from collections.abc import Mapping
from typing import Any

from acquirers.calls import Course
from acquirers.outcomes import Answer, BankOperation, Finding, OperationKind, Outcome, Standing
from acquirers.sandbox import answers

TO_REFUNDS = {
    "refunded": Answer.APPROVED,
    "pending": Answer.PENDING,
    "refused": Answer.DECLINED,
    # The card could not be credited: the money is not with its holder.
    "bounced": Answer.DECLINED,
}


def outcome(told: Any, sent: Mapping[str, Any]) -> Outcome:
    """Read the answer to a refund; one about another one, or amount, counts as silence."""
    try:
        _require_about(told, sent["reference"], sent["authorization"])
        if told["amount"] != sent["amount"]:
            return Outcome(Answer.UNKNOWN)
        return Outcome(TO_REFUNDS[told["result"]], **_facts_of(told))
    except answers.UNREADABLE:
        return Outcome(Answer.UNKNOWN)


def standing(told: Any, order: str, reference: str, course: Course) -> Standing:
    """Read the answer to an inquiry about one refund of an order."""
    if told == {"reference": reference, "result": "no_record"}:
        return Standing(Finding.NO_RECORD, exchange=course.ended())
    try:
        _require_about(told, reference, order)
        facts, number = _facts_of(told), told["network_reference"]
        state, amount = TO_REFUNDS[told["result"]], answers.amount(told["amount"])
    except answers.UNREADABLE:
        return Standing(Finding.UNKNOWN, exchange=course.ended())
    numbers = {"network_reference": number} if number else {}
    found = BankOperation(OperationKind.REFUND, state, amount, numbers)
    exchange = course.ended(code=facts["response_code"])
    return Standing(Finding.FOUND, (found,), exchange=exchange, **facts)


def _require_about(told: Any, reference: str, order: str) -> None:
    answers.require_about(told, reference)
    if told["authorization"] != order:
        raise ValueError


def _facts_of(told: Any) -> dict[str, Any]:
    return {
        "response_code": answers.text(told["response_code"], answers.RESPONSE_CODE),
        "network_reference": answers.text(told["network_reference"], answers.REFERENCE),
    }
