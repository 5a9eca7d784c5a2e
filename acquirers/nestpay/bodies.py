"""The bodies of requests: XML elements in the bank's order. The card is revealed here."""

from collections.abc import Mapping

from acquirers import messages
from acquirers.gateway import AuthorizationRequest, Order
from acquirers.nestpay.access import Access
from acquirers.wire import xml
from acquirers.wire.xml import Elements

# The card itself is in the first of them.
PROOF = {
    "Number": "md",
    "PayerTxnId": "xid",
    "PayerSecurityLevel": "eci",
    "PayerAuthenticationCode": "cavv",
}
HISTORY: Elements = {"Extra": {"ORDERHISTORY": "QUERY"}}


def document(order: Order, access: Access, elements: Elements, *, kind: str | None = None) -> bytes:
    """Return the whole message; it is a secret, for it carries the password.

    :param kind: of the transaction; None for an inquiry.
    """
    head = {"Name": access.user, "Password": access.password, "ClientId": access.client_id}
    named = {"Type": kind, "OrderId": order.reference} if kind else {"OrderId": order.reference}
    message = {**head, **named, **elements}
    return xml.write("CC5Request", message, encoding="ISO-8859-9")


def payment(request: AuthorizationRequest) -> dict[str, str]:
    """Return a payment's elements, with the card or with the proof of 3-D Secure.

    :raises wire.NotSent: the card does not open, or the bank has no such currency.
    """
    order = request.order
    terms = {**money(order, order.amount), "Taksit": messages.installments(order.installments)}
    # Fraud rules look at it: never this machine's own in its place.
    address = {"IPAddress": order.payer.ip} if order.payer.ip else {}
    means = _proof(request.proof) if request.proof is not None else _card(request)
    return {**terms, **address, **means, "Mode": "P"}


def money(order: Order, amount: int) -> dict[str, str]:
    """Return an amount of the order's currency.

    :raises wire.NotSent: the bank has no such currency.
    """
    return {**total(amount), "Currency": messages.numeric(order.currency)}


def total(amount: int) -> dict[str, str]:
    """Return an amount of the order's currency, where the bank knows that from before."""
    return {"Total": messages.written(amount)}


def _proof(proof: Mapping[str, str]) -> dict[str, str]:
    return {element: proof[name] for element, name in PROOF.items()}


def _card(request: AuthorizationRequest) -> dict[str, str]:
    card = messages.revealed(request.sealed)
    told = {"Number": card.number, "Expires": "/".join(messages.expiry(card))}
    return {**told, "Cvv2Val": request.cvc} if request.cvc else told
