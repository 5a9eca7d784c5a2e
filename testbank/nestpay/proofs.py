"""Proofs of the NestPay gate, as a shop hands them in: `md xid eci cavv`."""

from secrets import compare_digest

from testbank.behaviours import Behaviour
from testbank.models import Authentication, NestpayVisit
from testbank.nestpay import codes
from testbank.nestpay.messages import Refused
from testbank.nestpay.terminals import TERMINALS
from testbank.protocols import proofs
from testbank.protocols.lines import Payment

PROTOCOL = "nestpay"


def md(authentication: Authentication) -> str:
    """Return the card as the gate hands it out: a name of it that cannot be guessed."""
    digest = proofs.digest("md", authentication, PROTOCOL)
    return f"{authentication.transaction_id}:{digest.hex().upper()}"


def use_up(payment: Payment, shown: dict[str, str]) -> tuple[NestpayVisit, Behaviour]:
    """Take a proof for a payment, in the caller's transaction, whatever becomes of the payment.

    :param shown: `md xid eci cavv` as the shop hands them in.
    :raises Refused: it fits nothing, is too old, or was used.
    """
    transaction_id = shown["md"].partition(":")[0]
    visits = NestpayVisit.objects.select_for_update(of=("self",)).select_related("authentication")
    visit = visits.filter(authentication__transaction_id=transaction_id).first()
    if visit is None or not _fits(visit, payment, shown) or proofs.is_too_old(visit):
        raise Refused(codes.DOES_NOT_FIT)
    if proofs.is_used(visit):
        raise Refused(codes.XID_USED)
    return visit, accepted(visit)


def accepted(visit: NestpayVisit) -> Behaviour:
    """Mark a locked visit's proof as used; return the card's behaviour.

    :raises Refused: it is half secure, and the terminal takes no such payments.
    """
    terminal = TERMINALS[visit.client_id]
    behaviour = proofs.accepted(visit, allows_attempted=terminal.allows_attempted)
    if behaviour is None:
        raise Refused(codes.NOT_HALF_SECURE)
    return behaviour


def _fits(visit: NestpayVisit, payment: Payment, shown: dict[str, str]) -> bool:
    own = visit.authentication
    expected = {"md": md(own), "xid": proofs.xid(own, PROTOCOL), "eci": own.eci, "cavv": own.cavv}
    is_own = all(
        compare_digest(shown[name].encode(), value.encode()) for name, value in expected.items()
    )
    return is_own and proofs.is_for(visit, payment)
