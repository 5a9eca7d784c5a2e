"""The bodies of requests: XML elements in the bank's order. The card is revealed here."""

from collections.abc import Mapping
from typing import NamedTuple

from acquirers import messages
from acquirers.garanti import hashes
from acquirers.garanti.access import Access, User
from acquirers.gateway import AuthorizationRequest, Order
from acquirers.wire import xml
from acquirers.wire.xml import Elements

VERSION = "512"
WITHOUT_3D, WITH_3D = "0", "13"
# The amount of what has none of its own, in minor units.
NO_AMOUNT = 100
PROOF = {"AuthenticationCode": "cavv", "SecurityLevel": "eci", "TxnID": "xid", "Md": "md"}


class Message(NamedTuple):
    """A request, which is a secret, and the hash of its user's password that signs the answer."""

    content: bytes
    security: str


def kind_of_payment(*, is_sale: bool) -> str:
    """Return the bank's name for a sale or a pre-authorisation."""
    return "sales" if is_sale else "preauth"


def payment(request: AuthorizationRequest, access: Access) -> Message:
    """Return a payment, with the card or with the proof of 3-D Secure.

    :raises wire.NotSent: the card does not open, or the bank has no such currency.
    """
    order, proof = request.order, request.proof
    transaction = _transaction(
        kind_of_payment(is_sale=request.capture),
        order,
        amount=order.amount,
        present=WITHOUT_3D if proof is None else WITH_3D,
        installments=messages.installments(order.installments),
    )
    if proof is None:
        return _document(order, access, access.seller, transaction, card=_card(request))
    shown = {element: proof[name] for element, name in PROOF.items()}
    return _document(order, access, access.seller, {**transaction, "Secure3D": shown})


def capture(order: Order, access: Access, *, amount: int, number: str) -> Message:
    """Return a capture.

    :param number: of the pre-authorisation.
    """
    transaction = _transaction("postauth", order, amount=amount, present=None)
    return _document(order, access, access.seller, {**transaction, "OriginalRetrefNum": number})


def void(order: Order, access: Access, *, number: str) -> Message:
    """Return a void.

    :param number: of the transaction that is voided.
    """
    transaction = _transaction("void", order)
    return _document(order, access, access.refunder, {**transaction, "OriginalRetrefNum": number})


def refund(order: Order, access: Access, *, amount: int, number: str) -> Message:
    """Return a refund.

    :param number: of the sale or the capture.
    """
    transaction = _transaction("refund", order, amount=amount)
    return _document(order, access, access.refunder, {**transaction, "OriginalRetrefNum": number})


def history(order: Order, access: Access) -> Message:
    """Return an inquiry for all that happened to an order."""
    return _document(order, access, access.seller, _transaction("orderhistoryinq", order))


def _transaction(
    kind: str,
    order: Order,
    *,
    amount: int = NO_AMOUNT,
    present: str | None = WITHOUT_3D,
    installments: str = "",
) -> dict[str, str]:
    """:raises wire.NotSent: the bank has no such currency."""
    told = {
        "Type": kind,
        "InstallmentCnt": installments,
        "Amount": str(amount),
        "CurrencyCode": messages.numeric(order.currency),
        "CardholderPresentCode": present,
        "MotoInd": "N",
    }
    return {name: text for name, text in told.items() if text is not None}


def _document(
    order: Order,
    access: Access,
    user: User,
    transaction: Elements,
    *,
    card: Mapping[str, str] | None = None,
) -> Message:
    number = card["Number"] if card else ""
    money = (str(transaction["Amount"]), str(transaction["CurrencyCode"]))
    security = hashes.security(user.password, access.terminal_id)
    terminal = {
        "ProvUserID": user.name,
        "UserID": user.name,
        "HashData": hashes.of(order.reference, access.terminal_id, number, *money, security),
        "ID": access.terminal_id,
        "MerchantID": access.merchant_id,
    }
    message: Elements = {
        "Mode": access.mode,
        "Version": VERSION,
        "Terminal": terminal,
        "Customer": {"IPAddress": order.payer.ip or access.ip_address},
        **({"Card": card} if card else {}),
        "Order": {"OrderID": order.reference},
        "Transaction": transaction,
    }
    return Message(xml.write("GVPSRequest", message, encoding="UTF-8"), security)


def _card(request: AuthorizationRequest) -> dict[str, str]:
    card = messages.revealed(request.sealed)
    told = {"Number": card.number, "ExpireDate": "".join(messages.expiry(card))}
    return {**told, "CVV2": request.cvc} if request.cvc else told
