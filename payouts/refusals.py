"""Refusals of payouts (contract-money, Payout)."""

from core.errors import DomainError, Explained
from payouts import render
from payouts.models import Payout


class BalanceInsufficient(DomainError):
    explained = Explained(
        cause="The payout is larger than what is `available` in its currency.",
        remedy=(
            "Read `GET /v1/balance` and send at most the `available` amount. What is `pending` "
            "becomes available later."
        ),
    )
    code = "balance_insufficient"
    message = "There is less available in this currency."
    param = "amount"
    is_lasting = True


class PayoutUnexpectedState(DomainError):
    """The payout has been sent, or has ended; the answer carries the payout."""

    explained = Explained(
        cause=(
            "The payout was sent to the bank already, or has ended. The answer carries the payout."
        ),
        remedy=(
            "Read `payout.status` in the answer. A payout can be canceled only while it is "
            "`pending`."
        ),
    )
    code = "payout_unexpected_state"
    message = "The payout's status does not allow this."
    is_lasting = True

    def __init__(self, payout: Payout) -> None:
        super().__init__(
            f"The payout is {payout.status}: only a pending one can be canceled.",
            shown={"payout": render.payout(payout)},
        )
