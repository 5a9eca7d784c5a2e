"""Exchanges with banks written down, in the transaction that applies the bank's answer."""

from typing import NamedTuple, Protocol

from acquirers.models import BankExchange
from acquirers.outcomes import Answer, Exchange, Outcome
from core import context

_Operation = BankExchange.Operation
# The inquiry about what was asked for.
_INQUIRIES = {
    _Operation.CAPTURE: _Operation.MODIFICATION_INQUIRY,
    _Operation.VOID: _Operation.MODIFICATION_INQUIRY,
    _Operation.REVERSAL: _Operation.MODIFICATION_INQUIRY,
    _Operation.REFUND: _Operation.REFUND_INQUIRY,
}


class KnownAttempt(Protocol):
    """The attempt that the bank was asked about."""

    id: str
    merchant_id: str


class Spoken(NamedTuple):
    """The request that a bank was asked with, by which its exchanges are found later.

    :param operation: the request's; an inquiry about it is written down as one.
    :param row_id: of the row that asked for it, if there is one.
    """

    attempt: KnownAttempt
    operation: BankExchange.Operation
    row_id: str | None = None


def record_all(spoken: Spoken, outcome: Outcome) -> None:
    """Write down each exchange that an outcome was learnt by; their `sent_at` orders them."""
    if outcome.after:
        record_all(spoken, outcome.after)
    operation = spoken.operation
    asked = _INQUIRIES.get(operation, operation) if outcome.is_from_inquiry else operation
    record(
        spoken.attempt,
        outcome.exchange,
        outcome.answer,
        operation=asked,
        operation_id=spoken.row_id,
    )


def record(
    attempt: KnownAttempt,
    exchange: Exchange,
    answer: Answer,
    *,
    operation: BankExchange.Operation,
    operation_id: str | None = None,
) -> None:
    """Write down how one request to the bank went; one INSERT in the caller's transaction.

    Nothing is written if nothing left this machine.

    :param operation_id: of the row that asked for it, if there is one.
    """
    if exchange.sent_at is None:
        return
    BankExchange.objects.create(
        merchant_id=attempt.merchant_id,
        attempt_id=attempt.id,
        operation=operation,
        operation_id=operation_id,
        request_id=context.request_id(),
        sent_at=exchange.sent_at,
        milliseconds=round(exchange.seconds * 1000),
        answer=answer.value,
        bank_code=exchange.code,
        bank_text=exchange.text,
        numbers=dict(exchange.numbers),
    )


def record_inquiry(attempt: KnownAttempt, outcome: Outcome) -> None:
    """Write down the inquiry that the outcome of an authorisation was learnt by, if it was one.

    An authorisation that was answered at once needs no row: the attempt's columns say the same.
    """
    if outcome.is_from_inquiry:
        record_all(Spoken(attempt, _Operation.AUTHORIZATION_INQUIRY), outcome)
