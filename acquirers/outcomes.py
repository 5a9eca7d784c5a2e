"""Answers of banks, to requests and to inquiries; a decline is one of them, not an exception."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime


class Answer(enum.Enum):
    """The result of a request to the bank, as far as it is known here."""

    APPROVED = "approved"
    DECLINED = "declined"
    AUTHENTICATION_REQUIRED = "authentication_required"
    PENDING = "pending"  # The bank has the request and will decide later.
    UNKNOWN = "unknown"  # The request may have reached the bank: an inquiry has to find out.
    NOT_SENT = "not_sent"  # The request certainly never reached the bank.
    NOT_CHARGED = "not_charged"  # The acquirer refused before it asked the host: credentials, form.
    SETTLED = "settled"  # A void that came after the bank's day: the money can be refunded.
    DAY_OPEN = "day_open"  # A refund that came before the end of the bank's day: not yet.
    NO_RECORD = "no_record"  # Derived from a standing: the bank has no such order, so far.
    VOIDED = "voided"  # Derived from a standing: authorised once, and released since.
    LAPSED = "lapsed"  # Derived from a standing: authorised once, and expired at the bank.


class Reason(enum.Enum):
    """The reason of a refusal, by the names that `decline_code` shows (`acquirers.declines`)."""

    AUTHENTICATION_REQUIRED = "authentication_required"
    CARD_NOT_SUPPORTED = "card_not_supported"
    DO_NOT_HONOR = "do_not_honor"
    EXPIRED_CARD = "expired_card"
    FRAUDULENT = "fraudulent"
    INCORRECT_CVC = "incorrect_cvc"
    INCORRECT_NUMBER = "incorrect_number"
    INSUFFICIENT_FUNDS = "insufficient_funds"
    LOST_CARD = "lost_card"
    PROCESSING_ERROR = "processing_error"
    RESTRICTED_CARD = "restricted_card"
    SERVICE_NOT_ALLOWED = "service_not_allowed"
    STOLEN_CARD = "stolen_card"
    TRANSACTION_NOT_ALLOWED = "transaction_not_allowed"


# Answers about one request: it certainly did nothing at the bank, an earlier one may have.
NEVER_SENT = (Answer.NOT_SENT, Answer.NOT_CHARGED)
NEVER_AT_THE_BANK = (*NEVER_SENT, Answer.NO_RECORD)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The course of one request to the bank, for operators; never the message itself.

    :param sent_at: in real time; None if nothing left this machine.
    :param seconds: until the answer, or until this side gave up.
    :param code: the bank's own code, which may be longer than ISO 8583's.
    :param text: the bank's own text, scrubbed and cut to 200 characters.
    :param numbers: the bank's numbers of this very transaction.
    """

    sent_at: datetime | None = None
    seconds: float = 0.0
    code: str | None = None
    text: str | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judged:
    """A request's verdict on its terminal's set-up, which is still to be counted.

    :param terminal: its name.
    :param is_refused: the acquirer refused the request before it asked the bank, for a fault of
        the terminal's; otherwise it has taken it.
    """

    terminal_id: str
    terminal: str
    is_refused: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The bank's answer to a request. A decline is an outcome, not an exception.

    :param response_code: ISO 8583, as a network said it; None where the bank has codes of its own.
    :param reason: of a refusal, where the response code does not say it. `NOT_CHARGED` with one is
        a matter of the payment (card, amount, installments, a rule about fraud); without one the
        terminal's set-up is wrong.
    :param risk_level: `normal`, `elevated` or `highest`; `risk_score` is 0 to 100.
    :param captured: in minor units; None if the bank did not say.
    :param is_from_inquiry: derived from a standing, and no answer to the request itself.
    :param after: an answer that was asked about further before this one was believed.
    :param judged: to be counted with the answer (`acquirers.refused_requests`); None if not.
    """

    answer: Answer
    response_code: str | None = None
    authorization_code: str | None = None
    network_reference: str | None = None
    risk_level: str | None = None
    risk_score: int | None = None
    captured: int | None = None
    exchange: Exchange = field(default=Exchange(), compare=False)
    is_from_inquiry: bool = field(default=False, compare=False)
    after: "Outcome | None" = field(default=None, compare=False, repr=False)
    reason: Reason | None = None
    judged: Judged | None = field(default=None, compare=False, repr=False)

    @property
    def blames_the_payment(self) -> bool:
        """Return whether the acquirer refused this payment itself before it asked the bank."""
        return self.answer is Answer.NOT_CHARGED and self.reason is not None


def learnt_after(outcome: Outcome, earlier: Outcome | None) -> Outcome:
    """Return the outcome with an earlier answer below all that it was learnt by already."""
    if outcome.after:
        return replace(outcome, after=learnt_after(outcome.after, earlier))
    return replace(outcome, after=earlier)


class OperationKind(enum.Enum):
    """A thing that a bank does to an order."""

    AUTHORIZATION = "authorization"  # With a sale, a capture follows in the same standing.
    CAPTURE = "capture"
    VOID = "void"
    LAPSE = "lapse"  # The bank let the authorisation expire.
    REFUND = "refund"


@dataclass(frozen=True, slots=True)
class BankOperation:
    """One thing that the bank has on an order.

    :param state: APPROVED, DECLINED, AUTHENTICATION_REQUIRED or PENDING.
    :param amount: in minor units; None if the bank does not say.
    :param numbers: the bank's of this very operation, by the adapter's plain names; a refund's
        `network_reference` is the number that the cardholder finds.
    """

    deed: OperationKind
    state: Answer
    amount: int | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = None


class Finding(enum.Enum):
    """How an inquiry ended."""

    FOUND = "found"
    NO_RECORD = "no_record"  # The bank has no such order, so far.
    UNKNOWN = "unknown"  # No answer, or none that can be read.


@dataclass(frozen=True, slots=True)
class Standing:
    """The bank's answer to an inquiry: everything that it has of one order, the oldest first.

    `acquirers.standings` derives from it how an authorisation, a modification or a refund ended.
    """

    finding: Finding
    operations: tuple[BankOperation, ...] = ()
    response_code: str | None = None
    authorization_code: str | None = None
    network_reference: str | None = None
    risk_level: str | None = None
    risk_score: int | None = None
    exchange: Exchange = field(default=Exchange(), compare=False)
    reason: Reason | None = None
