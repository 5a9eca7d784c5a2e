"""The protocol of transfers: the bank that pays out to merchants' accounts, and takes in.

An acquirer that takes cards need not be the bank that pays out, so this door is one of its own:
`settings.TRANSFERS` is the dotted path of its adapter (contract-money: Payout, Topup).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from acquirers.outcomes import Answer, Outcome
from core import traces
from core.errors import NotSetUp
from core.metrics import Counter, Label
from core.once import once

# The kinds of notices; an adapter passes on another one in the bank's own word.
PAID, FAILED, RETURNED = "transfer_paid", "transfer_failed", "transfer_returned"
RECEIVED, REFUSED, REVERSED = "transfer_received", "transfer_refused", "transfer_reversed"
UNREADABLE = "unreadable"
ASKED = Counter(
    "pay_transfers_total",
    "Questions to the bank that pays out, by its adapter and the answer.",
    rail=Label(),
    operation=Label("send", "inquire"),
    result=Label(*(one.value for one in Answer)),
)


@dataclass(frozen=True, slots=True)
class TransferOrder:
    """A payout as its bank knows it.

    :param reference: ours, 20 characters of 0-9 and A-Z, never used for another transfer.
    :param destination: the merchant's name of the account.
    :param iban: of the account; empty where only the name is known, as in a sandbox.
    :param amount: in minor units.
    :param statement: for the account's statement, 22 characters at most.
    """

    reference: str
    merchant_id: str
    destination: str
    amount: int
    currency: str
    holder_name: str = field(default="", repr=False)
    iban: str = field(default="", repr=False)
    statement: str | None = None


@dataclass(frozen=True, slots=True)
class TransferOutcome(Outcome):
    """The bank's answer about a transfer.

    APPROVED: it has arrived. DECLINED: it failed, or came back. PENDING: the bank has it.

    :param failure_code: as in contract-money; None unless DECLINED.
    :param trace_id: the number by which banks look for it.
    :param arrived_at: when the money came to the account; None if the bank does not say.
    """

    failure_code: str | None = None
    trace_id: str | None = None
    arrived_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TransferNotice:
    """A notice of the bank, numbered in the order of its commits, without gaps.

    :param reference: ours of a transfer out, the bank's own of a transfer in.
    :param amount: in minor units.
    :param at: when it happened at the bank.
    :param remittance: the text that the sender of a transfer in wrote.
    """

    number: int
    kind: str
    reference: str
    amount: int
    currency: str
    failure_code: str | None
    trace_id: str | None
    at: datetime
    remittance: str = ""


def unreadable(number: int, at: datetime) -> TransferNotice:
    """Return a notice that cannot be read: kept by its number, without a handler.

    It stops no other, and the audit lists it.
    """
    return TransferNotice(number, UNREADABLE, "", 0, "", None, None, at)


@dataclass(frozen=True, slots=True)
class ExpectedTransfer:
    """A transfer in that a merchant has announced.

    :param reference: ours, the text that the sender writes into it.
    :param amount: in minor units.
    :param source: a sandbox's code for how it goes on; empty for one that comes.
    """

    reference: str
    merchant_id: str
    amount: int
    currency: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class IncomingLine:
    """A transfer in of the bank's statement: `moved` is what came and was not taken back.

    :param reference: the bank's own.
    :param amount: in minor units.
    """

    reference: str
    amount: int
    moved: int
    currency: str


@dataclass(frozen=True, slots=True)
class TransferLine:
    """A line of the bank's statement: `moved` is what left and has not come back, minor units."""

    reference: str
    merchant_id: str
    amount: int
    moved: int
    currency: str
    is_pending: bool


class Transfers(Protocol):
    """The way to one bank that pays out; each method is called outside of any transaction.

    A failure of the link is an answer, never an exception.
    """

    # The same reference sent twice is one transfer. Without it "no record" is never sent again.
    references_are_idempotent: bool

    def send(self, order: TransferOrder) -> TransferOutcome:
        """Send one transfer."""

    def inquire(self, order: TransferOrder) -> TransferOutcome:
        """Ask what the bank has of one transfer, which changes nothing there."""

    def expect(self, expected: ExpectedTransfer) -> bool:
        """Announce a transfer in to the bank; False if the bank may not have heard.

        An announcement may be repeated. A bank that takes all transfers needs none: True.
        """

    def notices(self, *, after: int, limit: int) -> list[TransferNotice]:
        """Return the bank's notices behind a number, in their order; none if it sends none.

        :raises acquirers.noticed.NoticesUnreadable: the bank did not give them.
        """

    def statement(self) -> Iterator[TransferLine] | None:
        """Yield what the bank has of all our references, in their order; None if it has none.

        :raises acquirers.gateway.StatementUnreadable: the bank did not give it to its end.
        """

    def incoming(self) -> Iterator[IncomingLine] | None:
        """Yield the transfers in, in order of the bank's references; None if it has none.

        :raises acquirers.gateway.StatementUnreadable: the bank did not give it to its end.
        """


def count(operation: str, outcome: Outcome) -> None:
    """Count a question to the bank that pays out.

    :param operation: `send` or `inquire`.
    """
    adapter, result = settings.TRANSFERS.rpartition(".")[2] or "none", outcome.answer.value
    ASKED.count(adapter, operation, result)
    traces.note_call(
        f"transfer {operation}", seconds=outcome.exchange.seconds, is_failed=result == "unknown",
        rail=adapter, operation=operation, result=result,
    )  # fmt: skip


def rail() -> Transfers:
    """Return the adapter of the bank that pays out, one instance per process.

    :raises NotSetUp: the installation has none.
    """
    if not settings.TRANSFERS:
        raise NotSetUp("This installation has no bank that pays out yet.")
    return _rail(settings.TRANSFERS)


@once
def _rail(dotted_path: str) -> Transfers:
    made: Transfers = import_string(dotted_path)()
    return made
