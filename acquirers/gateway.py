"""The protocol of gateways: the requests that each acquirer's gateway takes, and its answers."""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from vault.models import SealedCard


class Answer(enum.Enum):
    """The result of a request to the bank, as far as it is known here."""

    APPROVED = "approved"
    DECLINED = "declined"
    AUTHENTICATION_REQUIRED = "authentication_required"
    PENDING = "pending"  # The bank has the request and will decide later.
    UNKNOWN = "unknown"  # The request may have reached the bank: an inquiry has to find out.
    NOT_SENT = "not_sent"  # The request certainly never reached the bank.
    NO_RECORD = "no_record"  # To an inquiry: the bank has no such reference, so far.
    VOIDED = "voided"  # To an inquiry: authorised once, and released since.
    LAPSED = "lapsed"  # To an inquiry: authorised once, and expired at the bank.


NEVER_AT_THE_BANK = (Answer.NOT_SENT, Answer.NO_RECORD)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The bank's answer. A decline is an outcome, not an exception.

    :param response_code: ISO 8583, as the bank wrote it.
    :param risk_level: `normal`, `elevated` or `highest`; `risk_score` is 0 to 100.
    :param captured: in minor units; None if the bank did not say.
    """

    answer: Answer
    response_code: str | None = None
    authorization_code: str | None = None
    network_reference: str | None = None
    risk_level: str | None = None
    risk_score: int | None = None
    captured: int | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """The bank's proof that its customer authenticated; it is sent with the authorisation."""

    transaction_id: str
    eci: str
    cavv: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """One request to authorise.

    :param reference: the acquirer reference, chosen by us and never used for another attempt.
    :param amount: in minor units, surcharge included.
    :param capture: take the money at once.
    :param proof: of 3-D Secure; None without it.
    """

    reference: str
    merchant_id: str
    amount: int
    currency: str
    capture: bool
    sealed: SealedCard = field(repr=False)
    cvc: str | None = field(repr=False)
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class AuthenticationRequest:
    """One request to let the bank authenticate its customer for a payment.

    :param callback_url: where the customer's browser brings the bank's signed answer.
    :param return_url: the shop's address, where the browser goes in the end.
    """

    reference: str
    merchant_id: str
    merchant_name: str
    amount: int
    currency: str
    callback_url: str
    return_url: str
    sealed: SealedCard = field(repr=False)
    cvc: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Challenge:
    """An authentication that has begun; `acs_url` is the bank's page for its customer."""

    transaction_id: str
    acs_url: str
    version: str


@dataclass(frozen=True, slots=True)
class Authentication:
    """The bank's answer about an authentication; its signature is verified.

    :param md_status: `1` is a full authentication, `2` to `4` an attempted one; any other value
        is none.
    """

    reference: str
    transaction_id: str
    amount: int
    currency: str
    md_status: str
    eci: str
    cavv: str = field(repr=False)


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
    """The way to one acquirer: every bank that is added implements these methods."""

    # The same reference sent twice is one authorisation at this bank.
    references_are_idempotent: bool

    def facts(self, number: str) -> IssuerFacts | None:
        """Return facts about the card's issuer; None if the number is not accepted here."""

    def authorize(self, request: AuthorizationRequest) -> Outcome:
        """Send one authorisation, outside of any transaction.

        A failure of the link is an outcome, never an exception. If the sealed card does not open,
        or was destroyed, the outcome is `NOT_SENT`.
        """

    def inquire(self, reference: str) -> Outcome:
        """Ask for the outcome of an authorisation, which changes nothing at the bank.

        A failure of the link is `UNKNOWN`, never an exception.
        """

    def statement(self) -> Iterator[StatementLine]:
        """Yield the bank's statement of all our references, in their order.

        :raises StatementUnreadable: the bank did not give the statement to its end.
        """

    def start_authentication(self, request: AuthenticationRequest) -> Challenge | None:
        """Begin 3-D Secure, which charges nothing; None if it cannot begin, for any reason."""

    def read_authentication(self, fields: Mapping[str, str]) -> Authentication:
        """Verify and read the answer that the customer's browser brought.

        :raises Forged: names, values or signature are not the bank's.
        """

    def capture(self, reference: str, *, amount: int) -> Outcome:
        """Take money that was authorised, at most once; `amount` in minor units."""

    def void(self, reference: str) -> Outcome:
        """Release an authorised amount, or give back money that was captured today."""
