"""Standings read: how an authorisation, a modification or a refund ended, by all that a bank has.

The one place where an answer is derived from a standing; it asks no bank.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from acquirers.gateway import SoughtRefund
from acquirers.outcomes import (
    Answer,
    BankOperation,
    Finding,
    OperationKind,
    Outcome,
    Standing,
    learnt_after,
)

# A state of an authorisation, the one that decides first: while one of a payment's tries is
# approved or open, the bank holds money or may yet.
DECISIVE = (Answer.APPROVED, Answer.PENDING, Answer.AUTHENTICATION_REQUIRED, Answer.DECLINED)

# States of a refund, the one that decides first.
REFUNDED = (Answer.APPROVED, Answer.PENDING, Answer.DECLINED)
# A refusal so much earlier than a refund was sent by our clock may still be that refund's.
CLOCKS_DIFFER = timedelta(minutes=5)


def authorization(standing: Standing) -> Outcome:
    """Return how the authorisation ended, as the answer to an inquiry.

    `captured` is the sum of what was captured; None if the bank does not say how much.
    """
    answer = _of_authorization(standing)
    is_approved = answer is Answer.APPROVED
    return Outcome(
        answer=answer,
        response_code=standing.response_code,
        reason=standing.reason,
        authorization_code=standing.authorization_code,
        network_reference=standing.network_reference,
        risk_level=standing.risk_level,
        risk_score=standing.risk_score,
        captured=_captured(standing) if is_approved else None,
        exchange=standing.exchange,
        is_from_inquiry=True,
    )


def modification(standing: Standing, deed: OperationKind) -> Outcome:
    """Return how a capture or a void ended that the bank was asked for.

    `NO_RECORD`: the authorisation stands as if it had not been asked. `LAPSED`: the authorisation
    is over, so that nothing can be captured any more, and nothing is left to release.

    :param deed: CAPTURE or VOID.
    """
    answer, captured = _of_modification(standing, deed)
    exchange = replace(standing.exchange, numbers=_numbers(standing, deed))
    return Outcome(answer, captured=captured, exchange=exchange, is_from_inquiry=True)


def refund(standing: Standing) -> Outcome:
    """Return how one refund ended, by an inquiry about it alone.

    `NO_RECORD`: the bank has no such refund, so far.
    """
    return Outcome(
        answer=_of_refund(standing),
        response_code=standing.response_code,
        reason=standing.reason,
        network_reference=standing.network_reference,
        exchange=standing.exchange,
        is_from_inquiry=True,
    )


def nameless_refund(standing: Standing, sought: SoughtRefund) -> Outcome:
    """Return how one refund ended at a bank that keeps no name of it, by all refunds of its order.

    The lines of other refunds are taken off by their numbers. Exactly one new line of that amount,
    later than the moment when it was sent, is this one; none is no record, more leave it unknown.
    A refund of that amount that ended without a number leaves it unknown too.
    So does an earlier line that is no other refund's, for the two clocks may differ.
    """
    answer, line = _of_nameless(standing, sought)
    numbers = line.numbers if line else {}
    return Outcome(
        answer=answer,
        network_reference=numbers.get("network_reference"),
        exchange=replace(standing.exchange, numbers=numbers),
        is_from_inquiry=True,
    )


def refused_void(refused: Outcome, history: Standing, *, is_settled: bool) -> Outcome:
    """Return what a bank's refusal to void means, by the order's history; all answers are kept.

    :param is_settled: the bank's day is over, so that the money is refunded instead.
    """
    known = modification(history, OperationKind.VOID)
    if known.answer in (Answer.APPROVED, Answer.LAPSED):
        return replace(known, after=refused)
    all_answers = learnt_after(known, refused.after)
    if known.answer is Answer.NO_RECORD and is_settled:
        return replace(refused, answer=Answer.SETTLED, after=all_answers)
    return replace(refused, after=all_answers)


def _of_nameless(standing: Standing, sought: SoughtRefund) -> tuple[Answer, BankOperation | None]:
    # An order of which money was taken is on record: without it nothing is known of its refunds.
    lines = _of(standing, OperationKind.REFUND)
    if standing.finding is not Finding.FOUND or not all(one.amount and one.at for one in lines):
        return Answer.UNKNOWN, None
    found = [one for one in lines if _is_same(one.numbers, sought.numbers)]
    if not found:
        found = _later(lines, sought)
        if not found:
            return _absence(lines, sought), None
        if sought.has_unnumbered_twin:
            return Answer.UNKNOWN, None
    if len(found) > 1 or found[0].state not in REFUNDED:
        return Answer.UNKNOWN, None
    return found[0].state, found[0]


def _absence(lines: Iterable[BankOperation], sought: SoughtRefund) -> Answer:
    """Return UNKNOWN if an earlier line may still be the sought refund's: it must not go twice.

    A bank's clock may be hours off. One that was refused gave nothing back, so that it only counts
    if it is a little earlier.
    """
    since = sought.sent_at - CLOCKS_DIFFER
    may_be_it = [
        one
        for one in _unexplained(lines, sought)
        if one.state is not Answer.DECLINED or (one.at and one.at >= since)
    ]
    return Answer.UNKNOWN if may_be_it else Answer.NO_RECORD


def _later(lines: Iterable[BankOperation], sought: SoughtRefund) -> list[BankOperation]:
    """Return the lines that may be the sought refund's; banks write times in whole seconds."""
    since = sought.sent_at.replace(microsecond=0)
    return [one for one in _unexplained(lines, sought) if one.at and one.at >= since]


def _unexplained(lines: Iterable[BankOperation], sought: SoughtRefund) -> list[BankOperation]:
    """Return the lines of the sought amount that are not known to be another refund's."""
    others = [one for one in lines if not any(_is_same(one.numbers, its) for its in sought.others)]
    return [one for one in others if one.amount == sought.amount]


def _is_same(numbers: Mapping[str, str], known: Mapping[str, str]) -> bool:
    """Return whether two sets of numbers name one operation: none of them differs."""
    names = numbers.keys() & known.keys()
    return bool(names) and all(numbers[name] == known[name] for name in names)


def _of_refund(standing: Standing) -> Answer:
    if standing.finding is Finding.NO_RECORD:
        return Answer.NO_RECORD
    states = {one.state for one in _of(standing, OperationKind.REFUND)}
    # One that was refused may have been sent again: money that went back decides, or may yet.
    if not states <= {*REFUNDED} and Answer.APPROVED not in states:
        return Answer.UNKNOWN
    return next((answer for answer in REFUNDED if answer in states), Answer.UNKNOWN)


def _of_modification(standing: Standing, deed: OperationKind) -> tuple[Answer, int | None]:
    match _of_authorization(standing):
        case Answer.APPROVED if _is_open(standing, deed):
            return Answer.UNKNOWN, None
        case Answer.APPROVED if deed is OperationKind.CAPTURE and _has(
            standing, OperationKind.CAPTURE
        ):
            return Answer.APPROVED, _captured(standing)
        case Answer.APPROVED:
            return Answer.NO_RECORD, None
        case Answer.VOIDED if deed is OperationKind.VOID:
            return Answer.APPROVED, None
        case Answer.VOIDED | Answer.LAPSED:
            return Answer.LAPSED, None
    return Answer.UNKNOWN, None


def _of_authorization(standing: Standing) -> Answer:
    if standing.finding is Finding.NO_RECORD:
        return Answer.NO_RECORD
    if standing.finding is Finding.UNKNOWN:
        return Answer.UNKNOWN
    answer = _most_decisive(_of(standing, OperationKind.AUTHORIZATION))
    if answer is not Answer.APPROVED:
        # Money that was taken without an authorisation that we see contradicts it.
        return Answer.UNKNOWN if _has(standing, OperationKind.CAPTURE) else answer
    if _has(standing, OperationKind.VOID):
        return Answer.VOIDED
    return Answer.LAPSED if _has(standing, OperationKind.LAPSE) else Answer.APPROVED


def _most_decisive(tries: Iterable[BankOperation]) -> Answer:
    """Return the state of the try that decides; UNKNOWN if there is none, or one cannot be read."""
    states = {one.state for one in tries}
    if not states <= set(DECISIVE) and Answer.APPROVED not in states:
        return Answer.UNKNOWN
    return next((state for state in DECISIVE if state in states), Answer.UNKNOWN)


def _captured(standing: Standing) -> int | None:
    amounts = [
        one.amount for one in _of(standing, OperationKind.CAPTURE) if one.state is Answer.APPROVED
    ]
    return None if None in amounts else sum(filter(None, amounts))


def _has(standing: Standing, deed: OperationKind) -> bool:
    return any(one.state is Answer.APPROVED for one in _of(standing, deed))


def _numbers(standing: Standing, deed: OperationKind) -> Mapping[str, str]:
    """Return the bank's numbers of the last operation that it approved, and not the payment's."""
    approved = [one for one in _of(standing, deed) if one.state is Answer.APPROVED]
    return approved[-1].numbers if approved else {}


def _is_open(standing: Standing, deed: OperationKind) -> bool:
    """Return whether the bank has the request, and neither a yes nor a no to it."""
    states = [one.state for one in _of(standing, deed)]
    return bool(states) and not {*states} <= {Answer.APPROVED, Answer.DECLINED}


def _of(standing: Standing, deed: OperationKind) -> list[BankOperation]:
    return [one for one in standing.operations if one.deed is deed]
