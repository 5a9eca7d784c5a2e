"""The gateway of a disabled terminal: it asks nobody, and says so."""

from collections.abc import Iterator

from acquirers.gateway import (
    AuthenticationRequest,
    AuthorizationRequest,
    Capabilities,
    IssuerFacts,
    Order,
    StatementLine,
)
from acquirers.models import Terminal
from acquirers.outcomes import Answer, Finding, Outcome, Standing
from acquirers.three_d_secure import AskTheBank, Form, FormPost, Redirect, Return


class ClosedGateway:
    """Requests are never sent, and inquiries learn nothing: whatever is open stays open."""

    capabilities = Capabilities(
        references_are_idempotent=False,
        inquires_modifications=False,
        voids_partially=False,
        cvc_at_handoff=False,
    )

    def facts(self, _number: str) -> IssuerFacts | None:
        return None

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

    def inquire(self, _order: Order) -> Standing:
        return Standing(Finding.UNKNOWN)

    def statement(self, _terminal: Terminal) -> Iterator[StatementLine] | None:
        return None
