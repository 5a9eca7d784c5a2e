"""The protocol of gateways: the requests that each acquirer's gateway takes, and its answers."""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any, Protocol

from acquirers.models import Terminal
from vault.models import SealedCard


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The facts about a kind of acquirer that decide how a doubt is resolved.

    :param references_are_idempotent: the same reference sent twice is one authorisation.
    :param inquires_modifications: an inquiry tells of captures and voids, not of the sale alone.
    :param voids_partially: a part of an authorisation can be released.
    :param cvc_at_handoff: the security code goes to the bank from the payer's browser, so it is
        held until the payer presses the button.
    :param ends_its_day_at: the bank's local time after which a captured payment is refunded
        instead of voided; None if the bank has no such end.
    """

    references_are_idempotent: bool
    inquires_modifications: bool
    voids_partially: bool
    cvc_at_handoff: bool
    ends_its_day_at: time | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """An attempt as its acquirer knows it.

    :param reference: ours, 20 characters of 0-9 and A-Z, never used for another attempt.
    :param terminal: the one that the attempt was opened with; it never changes.
    :param amount: in minor units, surcharge included.
    :param numbers: the bank's own numbers by the names that its adapter gave them, such as
        `authorization_code` or `capture.host_ref`; a void may need the capture's.
    """

    reference: str
    terminal: Terminal
    merchant_id: str
    amount: int
    currency: str
    installments: int = 1
    numbers: Mapping[str, str] = field(default_factory=dict)


class Answer(enum.Enum):
    """The result of a request to the bank, as far as it is known here."""

    APPROVED = "approved"
    DECLINED = "declined"
    AUTHENTICATION_REQUIRED = "authentication_required"
    PENDING = "pending"  # The bank has the request and will decide later.
    UNKNOWN = "unknown"  # The request may have reached the bank: an inquiry has to find out.
    NOT_SENT = "not_sent"  # The request certainly never reached the bank.
    NOT_CHARGED = "not_charged"  # The acquirer refused before it asked the host: credentials, form.
    NO_RECORD = "no_record"  # Derived from a standing: the bank has no such order, so far.
    VOIDED = "voided"  # Derived from a standing: authorised once, and released since.
    LAPSED = "lapsed"  # Derived from a standing: authorised once, and expired at the bank.


# Answers about one request: it certainly did nothing at the bank, an earlier one may have.
NEVER_SENT = (Answer.NOT_SENT, Answer.NOT_CHARGED)
NEVER_AT_THE_BANK = (*NEVER_SENT, Answer.NO_RECORD)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The course of one request to the bank, for operators; never the message itself.

    :param sent_at: in real time; None if nothing left this machine.
    :param seconds: until the answer, or until this side gave up.
    :param code: the bank's own code, which may be longer than ISO 8583's.
    :param text: the bank's own words, scrubbed and cut to 200 characters.
    :param numbers: the bank's numbers of this very transaction.
    """

    sent_at: datetime | None = None
    seconds: float = 0.0
    code: str | None = None
    text: str | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The bank's answer to a request. A decline is an outcome, not an exception.

    :param response_code: ISO 8583, as the bank wrote it.
    :param risk_level: `normal`, `elevated` or `highest`; `risk_score` is 0 to 100.
    :param captured: in minor units; None if the bank did not say.
    :param is_from_inquiry: derived from a standing, and no answer to the request itself.
    :param after: an answer that was asked about further before this one was believed.
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


class Deed(enum.Enum):
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
    :param amount: in minor units; None if the bank does not tell.
    """

    deed: Deed
    state: Answer
    amount: int | None = None
    number: str | None = None
    at: datetime | None = None


class Finding(enum.Enum):
    """How an inquiry ended."""

    FOUND = "found"
    NO_RECORD = "no_record"  # The bank has no such order, so far.
    UNKNOWN = "unknown"  # No answer, or none that can be read.


@dataclass(frozen=True, slots=True)
class Standing:
    """The bank's answer to an inquiry: everything that it has of one order, the oldest first.

    `acquirers.standings` derives from it how an authorisation or a modification ended.
    """

    finding: Finding
    operations: tuple[BankOperation, ...] = ()
    response_code: str | None = None
    authorization_code: str | None = None
    network_reference: str | None = None
    risk_level: str | None = None
    risk_score: int | None = None
    exchange: Exchange = field(default=Exchange(), compare=False)


class Proof(Mapping[str, str]):
    """The bank's proof that its customer authenticated; it is sent with the authorisation.

    Only the adapter that made it reads it. It is never logged or stored: it shows nothing, and is
    neither pickled nor copied.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return "<Proof>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("A proof is not written down.")


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """One request to authorise.

    :param capture: take the money at once.
    :param proof: of 3-D Secure; None without it.
    """

    order: Order
    capture: bool
    sealed: SealedCard = field(repr=False)
    cvc: str | None = field(repr=False)
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class AuthenticationRequest:
    """One request to let the bank authenticate its customer for a payment.

    :param callback_url: where the customer's browser brings the bank's answer; it names the
        attempt.
    :param return_url: the shop's address, where the browser goes in the end.
    :param capture: the authorisation will take the money at once; some gates sign its kind.
    """

    order: Order
    capture: bool
    merchant_name: str
    callback_url: str
    return_url: str
    sealed: SealedCard = field(repr=False)
    cvc: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Redirect:
    """A beginning of 3-D Secure where the browser opens a page of the bank.

    :param transaction_id: the authentication's, if the bank has given one already.
    """

    url: str
    transaction_id: str | None = None
    version: str = "2"


@dataclass(frozen=True, slots=True)
class FormPost:
    """A beginning where the browser posts a form, whose fields are made when the payer arrives.

    :param origins: of the pages that the form may lead to, for the page's `form-action`.
    """

    url: str
    origins: tuple[str, ...]
    version: str = "2"


@dataclass(frozen=True, slots=True)
class Form:
    """The form that a payer's browser posts to the bank's gate; it may hold the card."""

    url: str
    fields: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The bank says how the authentication ended; its signature is verified.

    :param md_status: `1` is a full authentication, `2` to `4` an attempted one; any other value
        is none.
    :param has_proof: an authentication value is there, which an attempted one needs.
    """

    md_status: str
    eci: str
    proof: Proof
    transaction_id: str | None = None
    has_proof: bool = False


@dataclass(frozen=True, slots=True)
class NotAuthenticated:
    """The payer came back without an authentication: unsigned answers can end a try so."""

    md_status: str | None = None


@dataclass(frozen=True, slots=True)
class AskTheBank:
    """The bank may have charged already: an inquiry has to tell."""


Return = Authenticated | NotAuthenticated | AskTheBank


class Forged(Exception):
    """The answer is not the bank's, or not whole."""


@dataclass(frozen=True, slots=True)
class IssuerFacts:
    """Facts about a card's issuer, as the card's number gives them.

    :param card_type: `credit`, `debit` or `prepaid`.
    :param country: ISO 3166 alpha-2, None if unknown.
    """

    brand: str | None
    card_type: str
    country: str | None


class StatementUnreadable(Exception):
    """The bank's statement could not be read to its end."""


@dataclass(frozen=True, slots=True)
class StatementLine:
    """One line of the bank's statement: the amounts under one reference, in minor units.

    :param captured: the captured amount that the bank's authorisation shows.
    :param moved: the sum of the money that the bank took, less the money that it gave back.
    """

    reference: str
    merchant_id: str
    authorized: int
    captured: int
    moved: int
    currency: str


class Gateway(Protocol):
    """The way to one kind of acquirer: every bank that is added implements these methods.

    Each method is called outside of any transaction. A failure of the link is an answer, never an
    exception. So are a card and credentials that do not open: `NOT_SENT` for a request, `UNKNOWN`
    for an inquiry, None for a beginning and a hand-off, `AskTheBank` for a return.
    """

    capabilities: Capabilities

    def facts(self, number: str) -> IssuerFacts | None:
        """Return facts about the card's issuer; None if the number is not accepted here."""

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        """Send one authorisation.

        If the sealed card does not open, or was destroyed, the outcome is `NOT_SENT`.
        """

    def begin(self, request: AuthenticationRequest) -> Redirect | FormPost | None:
        """Begin 3-D Secure, which charges nothing; None if it cannot begin, for any reason."""

    def handoff(self, request: AuthenticationRequest, url: str) -> Form | None:
        """Make the form that the payer's browser posts, at each press; None if it cannot."""

    def read_return(self, order: Order, raw: bytes, content_type: str) -> Return:
        """Verify and read the answer that the customer's browser brought.

        :raises Forged: names, values or signature are not the bank's.
        """

    def capture(self, order: Order, *, amount: int) -> Outcome:
        """Take money that was authorised, at most once; `amount` in minor units."""

    def void(self, order: Order) -> Outcome:
        """Release an authorised amount, or give back money that was captured today."""

    def inquire(self, order: Order) -> Standing:
        """Ask what the bank has of the order, which changes nothing there."""

    def statement(self, terminal: Terminal) -> Iterator[StatementLine] | None:
        """Yield the bank's statement of all our references, in their order; None if it has none.

        :raises StatementUnreadable: the bank did not give the statement to its end.
        """
