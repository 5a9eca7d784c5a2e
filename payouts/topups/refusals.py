"""Refusals of topups (contract-money, Topup)."""

from core.errors import DomainError, Explained
from payouts.topups import render
from payouts.topups.models import IncomingTransfer, Topup


class TopupUnexpectedState(DomainError):
    """The transfer has come, or the topup has ended; the answer carries the topup."""

    explained = Explained(
        cause=(
            "The topup's transfer has come already, or the topup has ended. The answer carries the "
            "topup."
        ),
        remedy=(
            "Read `topup.status` in the answer. A topup can be canceled only while it is `pending`."
        ),
    )
    code = "topup_unexpected_state"
    message = "The topup's status does not allow this."
    is_lasting = True

    def __init__(self, topup: Topup) -> None:
        super().__init__(
            f"The topup is {topup.status}: only a pending one can be canceled.",
            shown={"topup": render.topup(topup)},
        )


class TransferDecided(DomainError):
    """The transfer was decided about, or taken back by the bank, since the operator saw it."""

    code = "lock_timeout"
    http_status = 409

    def __init__(self, transfer: IncomingTransfer) -> None:
        super().__init__(f"The transfer is {transfer.status} meanwhile. Nothing was decided.")


class TopupUnfit(DomainError):
    """A topup that does not wait for this transfer cannot have it."""

    code = "parameter_invalid"
    message = (
        "That topup does not wait for this amount and currency: assign the transfer to the"
        " merchant, whose new topup it is then."
    )
    param = "goes_to"
