"""Refusals of payouts (contract-money, Payout)."""

from core.errors import DomainError
from payouts import render
from payouts.models import Payout


class BalanceInsufficient(DomainError):
    code = "balance_insufficient"
    message = "There is less available in this currency."
    param = "amount"
    is_lasting = True


class PayoutUnexpectedState(DomainError):
    """The payout has been sent, or has ended; the answer carries the payout."""

    code = "payout_unexpected_state"
    message = "The payout's status does not allow this."
    is_lasting = True

    def __init__(self, payout: Payout) -> None:
        super().__init__(
            f"The payout is {payout.status}: only a pending one can be canceled.",
            shown={"payout": render.payout(payout)},
        )
