"""Refusals of checkout sessions (contract: Checkout)."""

from core.errors import DomainError, Explained
from payments.checkout import render
from payments.checkout.models import CheckoutSession


class SessionUnexpectedState(DomainError):
    """The session has ended, or is the open one of its payment; the answer carries it."""

    explained = Explained(
        cause=(
            "The checkout session has ended, or an attempt of its payment is under way, or its "
            "payment has an open session already. The answer carries the session."
        ),
        remedy=(
            "Read `checkout_session.status` in the answer and decide from it. Send the customer to "
            "the `url` of the open session."
        ),
    )
    code = "checkout_session_unexpected_state"
    message = "The checkout session's state does not allow this."
    is_lasting = True

    def __init__(self, session: CheckoutSession, message: str) -> None:
        super().__init__(message, shown={"checkout_session": render.session(session)})
