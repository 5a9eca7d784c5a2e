"""The adapter of sandbox installations for transfers: the test bank, over HTTP."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import requests
from django.conf import settings

from acquirers import calls, rails, wire
from acquirers.gateway import StatementUnreadable
from acquirers.noticed import NoticesUnreadable
from acquirers.outcomes import Answer
from acquirers.rails import (
    ExpectedTransfer,
    IncomingLine,
    TransferLine,
    TransferNotice,
    TransferOrder,
    TransferOutcome,
)
from acquirers.sandbox import answers
from core import clock

STATES = {
    "pending": Answer.PENDING,
    "paid": Answer.APPROVED,
    "failed": Answer.DECLINED,
    # The money is not with the merchant's bank.
    "returned": Answer.DECLINED,
}
WORD = re.compile(r"[a-z_]{1,40}")
TRACE = re.compile(r"[0-9A-Z]{1,32}")
CURRENCY = re.compile(r"[a-z]{3}")
# The bank's own name of a transfer in.
INCOMING = re.compile(r"[0-9A-Z]{20}")
# The beginning of the year 10000: a moment behind it is none.
END_OF_TIME = 253_402_300_800
AMOUNT_MAX_MINOR = 2**53


class SandboxTransfers:
    """The way to the test bank; through `session` tests run the bank in their own process."""

    references_are_idempotent = True

    def __init__(self) -> None:
        self.session: requests.Session = wire.new_session()

    def send(self, order: TransferOrder) -> TransferOutcome:
        """Send one transfer; the same reference again counts as the same one."""
        seconds = calls.patience_seconds()
        if seconds <= 0:
            return TransferOutcome(Answer.NOT_SENT)
        sent = {
            "reference": order.reference,
            "merchant": order.merchant_id,
            "destination": order.destination,
            "amount": order.amount,
            "currency": order.currency,
        }
        try:
            told = wire.post_json(self.session, _url("transfers"), sent, seconds=seconds)
        except wire.NotSent:
            return TransferOutcome(Answer.NOT_SENT)
        except wire.NoAnswer:
            return TransferOutcome(Answer.UNKNOWN)
        return _outcome(told, order)

    def inquire(self, order: TransferOrder) -> TransferOutcome:
        """Ask what the bank has of one transfer, within ten seconds."""
        seconds = min(calls.INQUIRY_SECONDS, calls.patience_seconds())
        if seconds <= 0:
            return TransferOutcome(Answer.UNKNOWN)
        try:
            path = f"transfers/{order.reference}"
            told = wire.get_json(self.session, _url(path), seconds=seconds)
        except wire.NoAnswer:
            return TransferOutcome(Answer.UNKNOWN)
        return _outcome(told, order)

    def expect(self, expected: ExpectedTransfer) -> bool:
        """Let the test bank make the transfer as its sender would; once for a reference."""
        seconds = calls.patience_seconds()
        if seconds <= 0:
            return False
        sent = {
            "reference": expected.reference,
            "merchant": expected.merchant_id,
            "amount": expected.amount,
            "currency": expected.currency,
            "source": expected.source,
        }
        try:
            told = wire.post_json(self.session, _url("expected_transfers"), sent, seconds=seconds)
        except (wire.NotSent, wire.NoAnswer):
            return False
        return bool(told == {"reference": expected.reference, "result": "expected"})

    def notices(self, *, after: int, limit: int) -> list[TransferNotice]:
        """Read the bank's notices page by page until a page is empty, or there are enough."""
        found: list[TransferNotice] = []
        while len(found) < limit:
            page = self._page_of_notices(found[-1].number if found else after)
            if not page:
                break
            found += page
        return found[:limit]

    def statement(self) -> Iterator[TransferLine]:
        """Read the bank's list of transfers page by page until a page is empty."""
        after = ""
        while page := self._page_of_lines(after):
            yield from page
            after = page[-1].reference

    def incoming(self) -> Iterator[IncomingLine]:
        """Read the bank's list of transfers in page by page until a page is empty."""
        after = ""
        while page := self._page_of_incoming(after):
            yield from page
            after = page[-1].reference

    def _page_of_incoming(self, after: str) -> list[IncomingLine]:
        try:
            told = self._get("statement/incoming_transfers", after=after)
            return [_incoming_line(one) for one in told["lines"]]
        except (wire.NoAnswer, *answers.UNREADABLE) as error:
            raise StatementUnreadable("The bank's transfers in cannot be read.") from error

    def _page_of_notices(self, after: int) -> list[TransferNotice]:
        try:
            told = self._get("transfer_notices", after=str(after))
            page = [_notice(one) for one in told["notices"]]
        except (wire.NoAnswer, *answers.UNREADABLE) as error:
            raise NoticesUnreadable("The bank's notices of transfers cannot be read.") from error
        # One that is left out would never be asked for again.
        if [one.number for one in page] != [*range(after + 1, after + 1 + len(page))]:
            raise NoticesUnreadable("The bank's notices are not numbered in their order.")
        return page

    def _page_of_lines(self, after: str) -> list[TransferLine]:
        try:
            told = self._get("statement/transfers", after=after)
            return [_line(one) for one in told["lines"]]
        except (wire.NoAnswer, *answers.UNREADABLE) as error:
            raise StatementUnreadable("The bank's transfers cannot be read.") from error

    def _get(self, path: str, **asked: str) -> Any:
        address = f"{_url(path)}?{urlencode(asked)}"
        return wire.get_json(self.session, address, seconds=settings.ACQUIRER_TIMEOUT_SECONDS)


def _outcome(told: Any, order: TransferOrder) -> TransferOutcome:
    """Read an answer; one about another transfer, or another amount, counts as silence."""
    if told == {"reference": order.reference, "result": "no_record"}:
        return TransferOutcome(Answer.NO_RECORD, is_from_inquiry=True)
    try:
        answers.require_about(told, order.reference)
        if (told["amount"], told["currency"]) != (order.amount, order.currency):
            return TransferOutcome(Answer.UNKNOWN)
        answer = STATES[told["result"]]
        failure_code = answers.text(told["failure_code"], WORD)
        return TransferOutcome(
            answer,
            failure_code=failure_code if answer is Answer.DECLINED else None,
            trace_id=answers.text(told["trace_id"], TRACE),
            arrived_at=_moment(told["arrived_at"]) if told["arrived_at"] is not None else None,
        )
    except answers.UNREADABLE:
        return TransferOutcome(Answer.UNKNOWN)


def _notice(told: dict[str, Any]) -> TransferNotice:
    """Read a notice; one that has a number, and cannot be read, stops no other."""
    number = _integer(told["number"])
    try:
        return _readable(number, told)
    except answers.UNREADABLE:
        return rails.unreadable(number, clock.now())


def _readable(number: int, told: dict[str, Any]) -> TransferNotice:
    return TransferNotice(
        number=number,
        kind=answers.required(told["kind"], WORD),
        reference=answers.required(told["reference"], answers.REFERENCE),
        amount=_integer(told["amount"]),
        currency=answers.required(told["currency"], CURRENCY),
        failure_code=answers.text(told["failure_code"], WORD),
        trace_id=answers.text(told["trace_id"], TRACE),
        at=_moment(told["at"]),
        remittance=_words(told.get("remittance")),
    )


def _moment(value: Any) -> datetime:
    return datetime.fromtimestamp(_integer(value, below=END_OF_TIME), UTC)


def _words(value: Any) -> str:
    if value is not None and type(value) is not str:
        raise ValueError
    return value or ""


def _incoming_line(told: dict[str, Any]) -> IncomingLine:
    return IncomingLine(
        reference=answers.required(told["reference"], INCOMING),
        amount=_integer(told["amount"]),
        moved=_integer(told["moved"]),
        currency=answers.required(told["currency"], CURRENCY),
    )


def _line(told: dict[str, Any]) -> TransferLine:
    return TransferLine(
        reference=told["reference"],
        merchant_id=told["merchant"],
        amount=told["amount"],
        moved=told["moved"],
        currency=told["currency"],
        is_pending=told["result"] == "pending",
    )


def _integer(value: Any, *, below: int = AMOUNT_MAX_MINOR) -> int:
    if type(value) is not int or not 0 <= value < below:
        raise ValueError
    return value


def _url(path: str) -> str:
    return f"{settings.TESTBANK_URL}/{path}"
