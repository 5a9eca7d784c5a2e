"""The adapter of the old bank as if it kept no names of refunds: the history is all it tells."""

from dataclasses import replace

from acquirers import references
from acquirers.gateway import Order, SoughtRefund
from acquirers.outcomes import BankOperation, OperationKind, Outcome, Standing
from tests.stage.oldbank.gateway import OldBankGateway

ADAPTER = "tests.stage.oldbank.nameless.NamelessGateway"


class NamelessGateway(OldBankGateway):
    """The name that the bank's form asks for is drawn for each message, and forgotten."""

    capabilities = replace(OldBankGateway.capabilities, refunds_have_names=False)

    def refund(self, order: Order, *, reference: str, amount: int) -> Outcome:
        """Give captured money back."""
        return super().refund(order, reference=references.new(), amount=amount)

    def inquire_refund(self, order: Order, *, sought: SoughtRefund) -> Standing:
        """Ask for the whole history."""
        standing = self.inquire(order)
        return replace(standing, operations=tuple(map(_shown, standing.operations)))


def _shown(operation: BankOperation) -> BankOperation:
    if operation.deed is not OperationKind.REFUND:
        return operation
    number = {"network_reference": operation.numbers["host_ref"]}
    return replace(operation, numbers={**operation.numbers, **number})
