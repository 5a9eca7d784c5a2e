"""The protocol of gateways: the requests that each acquirer's gateway takes, and its answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from acquirers.models import Terminal
from acquirers.noticed import Notice
from acquirers.outcomes import Outcome, Standing
from acquirers.set_up import Field
from acquirers.settlement import Reader
from acquirers.three_d_secure import AuthenticationProof, Form, FormPost, Redirect, Return
from vault.models import SealedCard


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The facts about a kind of acquirer that decide how a doubt is resolved.

    :param references_are_idempotent: the same reference sent twice is one authorisation.
    :param inquires_modifications: an inquiry shows captures and voids, not the sale alone.
    :param voids_partially: a part of an authorisation can be released.
    :param cvc_at_handoff: the security code goes to the bank from the payer's browser, so it is
        held until the payer presses the button.
    :param refunds_are_idempotent: a refund sent again under its reference is one refund.
    :param refunds_have_names: the bank keeps our reference of a refund. Where it does not, one
        refund of a payment is under way at a time, and what became of it is concluded from all
        refunds of the order (`acquirers.standings`).
    """

    references_are_idempotent: bool
    inquires_modifications: bool
    voids_partially: bool
    cvc_at_handoff: bool
    refunds_are_idempotent: bool
    refunds_have_names: bool = True


@dataclass(frozen=True, slots=True)
class Payer:
    """The payer, as far as their merchant or their browser has said.

    :param ip: IPv4 or IPv6; None if it is not known.
    :param address: the billing address: `line1 line2 city state postal_code country`.
    """

    ip: str | None = None
    name: str | None = None
    email: str | None = None
    address: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Order:
    """An attempt as its acquirer knows it.

    :param reference: ours, 20 characters of 0-9 and A-Z, never used for another attempt.
    :param terminal: the one that the attempt was opened with; it never changes.
    :param amount: in minor units, surcharge included.
    :param installments: that the issuer splits the amount in for its customer; 1 is at once.
    :param numbers: the bank's own numbers by the names that its adapter gave them, such as
        `authorization_code` or `capture.host_ref`; a void may need the capture's.
    :param payer: while the order is paid; empty for captures, voids, refunds and inquiries.
    """

    reference: str
    terminal: Terminal
    merchant_id: str
    amount: int
    currency: str
    installments: int = 1
    numbers: Mapping[str, str] = field(default_factory=dict)
    payer: Payer = field(default=Payer(), repr=False)


@dataclass(frozen=True, slots=True)
class SoughtRefund:
    """One refund that an inquiry is about.

    :param reference: ours, of this refund alone.
    :param amount: in minor units.
    :param sent_at: when it may first have left, by the service's clock.
    :param numbers: the bank's own of this refund, as far as they are known.
    :param others: those of each other refund of the order, as far as they are known.
    :param has_unnumbered_twin: another refund of that amount has ended without a number, so that a
        line may be that one's.
    """

    reference: str
    amount: int
    sent_at: datetime
    numbers: Mapping[str, str] = field(default_factory=dict)
    others: tuple[Mapping[str, str], ...] = ()
    has_unnumbered_twin: bool = False


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
    proof: AuthenticationProof | None = None


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
class IssuerFacts:
    """Facts about a card's issuer, as the first digits of the card's number give them.

    :param card_type: `credit`, `debit` or `prepaid`.
    :param country: ISO 3166 alpha-2, None if unknown.
    :param program: of installments, such as `bonus`; None if the card is in none.
    :param three_d_secure_required: the issuer declines payers who have not authenticated.
    """

    brand: str | None
    card_type: str
    country: str | None
    issuer: str | None = None
    program: str | None = None
    commercial: bool = False
    three_d_secure_required: bool = False


class StatementUnreadable(Exception):
    """The bank's statement could not be read to its end."""


@dataclass(frozen=True, slots=True)
class StatementLine:
    """One line of the bank's statement: the amounts under one reference, in minor units.

    :param captured: the captured amount that the bank's authorisation shows.
    :param moved: the sum of the money that the bank took, less the money that it gave back by
        voids, refunds and lost disputes; what bounced or was regained came back again.
    :param refunds: what went back by refunds and did not bounce, by their own references; a void
        is none.
    :param charged_back: what lost disputes took and did not give back again.
    :param is_pending: the bank has the order, and has not decided on it.
    """

    reference: str
    merchant_id: str
    authorized: int
    captured: int
    moved: int
    refunds: Mapping[str, int]
    charged_back: int
    currency: str
    installments: int
    is_pending: bool = False


class Gateway(Protocol):
    """The way to one kind of acquirer: every bank that is added implements these methods.

    Each method is called outside of any transaction. A failure of the link is an answer, never an
    exception. So are a card and credentials that do not open: `NOT_SENT` for a request, `UNKNOWN`
    for an inquiry, None for a beginning and a hand-off, `AskTheBank` for a return. An exception
    is taken for doubt (`acquirers.doubt`): `UNKNOWN` for a request too.
    """

    # The values that a terminal of this kind has.
    fields: tuple[Field, ...]
    # By prefixes of 6 to 8 digits, for where the table of BINs has none as long or longer.
    built_in_bins: Mapping[str, IssuerFacts]
    # Turns a file of the bank's into the columns of `reconcile`; None if its form is not known.
    settlement_reader: Reader | None

    def capabilities_at(self, terminal: Terminal) -> Capabilities:
        """Return the facts that decide how a doubt at this terminal is resolved."""

    def accepts(self, terminal: Terminal, number: str) -> bool:
        """Return whether a card of this number is taken at the terminal."""

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
        """Release an authorised amount, or give back money that was captured today.

        `SETTLED` if the bank's day is over: the money can be refunded, and not voided any more.
        """

    def voidable_until(self, terminal: Terminal, captured_at: datetime) -> datetime | None:
        """Return the end of the bank's day in which money was captured; None if it has no end.

        From then on captured money is refunded instead of voided.

        :param captured_at: when the bank was asked to capture it; its answer may have come later.
        """

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        """Give captured money back to the card.

        The outcome's `network_reference` is the number that the cardholder finds on the statement.
        `DAY_OPEN` if the bank refuses it because its day is not over: it is sent again later.

        :param reference: ours, of this refund alone, of the same form as an order's.
        :param amount: in minor units.
        """

    def inquire_refund(self, order: Order, *, sought: SoughtRefund) -> Standing:
        """Ask what the bank has of one refund, which changes nothing there.

        The standing holds operations `REFUND` of this reference only; without names
        (`Capabilities`) it holds all refunds of the order, each with amount, time and numbers.
        `acquirers.standings` concludes from them. A refund that bounced is DECLINED.
        """

    def notices(self, terminal: Terminal, *, after: int, limit: int = 200) -> list[Notice] | None:
        """Return the bank's notices behind a number, in their order; None if this bank has none.

        Terminals of one bank may get notices of each other's orders.

        :raises NoticesUnreadable: the bank did not give them, or one of them cannot be read.
        """

    def submit_evidence(
        self, order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        """Hand in evidence; APPROVED: the bank has it. Idempotent by dispute and number.

        :param dispute: the bank's name for it.
        :param number: of this submission, from 1.
        """

    def accept_dispute(self, order: Order, *, dispute: str) -> Outcome:
        """Give a chargeback up, which is lost then; APPROVED: the bank knows. Idempotent."""

    def end_inquiry(self, order: Order, *, dispute: str) -> Outcome:
        """Let an inquiry end; APPROVED: the bank knows. Idempotent.

        DECLINED if the bank has charged the payment back meanwhile: that is not given up by it.
        """

    def inquire(self, order: Order) -> Standing:
        """Ask what the bank has of the order, which changes nothing there."""

    def statement(self, terminal: Terminal, *, after: str = "") -> Iterator[StatementLine] | None:
        """Yield the bank's statement of all our references, in their order; None if it has none.

        :param after: a reference, or its beginning: only lines behind it are fetched.
        :raises StatementUnreadable: the bank did not give the statement to its end.
        """
