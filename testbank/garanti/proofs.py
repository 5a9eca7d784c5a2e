"""Proofs of the Garanti gate, as a shop hands them in: `Secure3D` of a provision."""

import base64
import binascii
from secrets import compare_digest

from testbank.behaviours import Behaviour
from testbank.garanti import codes
from testbank.garanti.messages import Refused
from testbank.garanti.terminals import TERMINALS
from testbank.models import Authentication, GarantiVisit
from testbank.protocols import proofs
from testbank.protocols.lines import Payment

PROTOCOL = "garanti"


def md(authentication: Authentication) -> str:
    """Return the card as the gate hands it out: Base64 of a name that cannot be guessed."""
    digest = proofs.digest("md", authentication, PROTOCOL)
    return base64.b64encode(f"index:{authentication.transaction_id}:".encode() + digest).decode()


def use_up(payment: Payment, shown: dict[str, str]) -> tuple[GarantiVisit, Behaviour]:
    """Take a proof for a payment, in the caller's transaction, whatever becomes of the payment.

    :param shown: the elements of `Secure3D`.
    :raises Refused: it fits nothing, is too old, or was used.
    """
    visits = GarantiVisit.objects.select_for_update(of=("self",)).select_related("authentication")
    visit = visits.filter(authentication__transaction_id=_named_by(shown["Md"])).first()
    if visit is None or not _fits(visit, payment, shown) or proofs.is_too_old(visit):
        raise Refused(codes.THREE_D)
    if proofs.is_used(visit):
        raise Refused(codes.THREE_D)
    return visit, accepted(visit)


def accepted(visit: GarantiVisit) -> Behaviour:
    """Mark a locked visit's proof as used; return the card's behaviour.

    :raises Refused: it is half secure, and the terminal takes no such payments.
    """
    terminal = TERMINALS[visit.client_id]
    behaviour = proofs.accepted(visit, allows_attempted=terminal.allows_attempted)
    if behaviour is None:
        raise Refused(codes.THREE_D)
    return behaviour


def masked(number: str) -> str:
    """Return a card's number as answers show it."""
    return f"{number[:6]}******{number[-4:]}"


def _fits(visit: GarantiVisit, payment: Payment, shown: dict[str, str]) -> bool:
    own = visit.authentication
    expected = {
        "Md": md(own),
        "TxnID": proofs.xid(own, PROTOCOL),
        "SecurityLevel": own.eci,
        "AuthenticationCode": own.cavv,
    }
    is_own = all(
        compare_digest(shown[name].encode(), value.encode()) for name, value in expected.items()
    )
    return is_own and proofs.is_for(visit, payment)


def _named_by(shown: str) -> str:
    """Return the name in a text that may be an `md`; empty if there is none."""
    try:
        named = base64.b64decode(shown, validate=True).split(b":")[1].decode("ascii")
    except (binascii.Error, IndexError, ValueError):
        return ""
    return named if named.isprintable() else ""
