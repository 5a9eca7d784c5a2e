"""The gateway of a disabled terminal: it asks no bank, and says so."""

from collections.abc import Iterator, Mapping
from datetime import datetime

import acquirers
from acquirers.gateway import (
    AuthenticationRequest,
    AuthorizationRequest,
    Capabilities,
    IssuerFacts,
    Order,
    SoughtRefund,
    StatementLine,
)
from acquirers.models import Terminal
from acquirers.noticed import Notice
from acquirers.outcomes import Answer, Finding, Outcome, Standing
from acquirers.set_up import Field
from acquirers.settlement import Reader
from acquirers.three_d_secure import AskTheBank, Form, FormPost, Redirect, Return


class ClosedGateway:
    """Requests are never sent, and inquiries bring no answer: open rows stay open."""

    fields: tuple[Field, ...] = ()
    built_in_bins: Mapping[str, IssuerFacts] = {}
    settlement_reader: Reader | None = None

    def capabilities_at(self, terminal: Terminal) -> Capabilities:
        """Return the facts of the terminal's bank: it may have answered before the terminal closed.

        A "no record" is believed by them, and a refund is sent again once the terminal is enabled.
        """
        return acquirers.adapter_of(terminal).capabilities_at(terminal)

    def accepts(self, _terminal: Terminal, _number: str) -> bool:
        return False

    def authorize(self, _request: AuthorizationRequest) -> Outcome:
        return Outcome(Answer.NOT_SENT)

    def begin(self, _request: AuthenticationRequest) -> Redirect | FormPost | None:
        return None

    def handoff(self, _request: AuthenticationRequest, _url: str) -> Form | None:
        return None

    def read_return(self, _order: Order, _raw: bytes, _content_type: str) -> Return:
        return AskTheBank()

    def capture(self, _order: Order, *, amount: int) -> Outcome:
        return Outcome(Answer.NOT_SENT)

    def void(self, _order: Order) -> Outcome:
        return Outcome(Answer.NOT_SENT)

    def voidable_until(self, _terminal: Terminal, _captured_at: datetime) -> datetime | None:
        return None

    def refund(self, _order: Order, *, reference: str, amount: int) -> Outcome:
        return Outcome(Answer.NOT_SENT)

    def inquire_refund(self, _order: Order, *, sought: SoughtRefund) -> Standing:
        return Standing(Finding.UNKNOWN)

    def notices(self, _terminal: Terminal, *, after: int, limit: int = 200) -> list[Notice] | None:
        return None

    def submit_evidence(
        self, _order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        return Outcome(Answer.NOT_SENT)

    def accept_dispute(self, _order: Order, *, dispute: str) -> Outcome:
        return Outcome(Answer.NOT_SENT)

    def end_inquiry(self, _order: Order, *, dispute: str) -> Outcome:
        return Outcome(Answer.NOT_SENT)

    def inquire(self, _order: Order) -> Standing:
        return Standing(Finding.UNKNOWN)

    def statement(self, _terminal: Terminal, *, after: str = "") -> Iterator[StatementLine] | None:
        return None
