"""The host behind the Garanti doors: the bank's work for a checked request, and its answer.

Nothing here is idempotent. A repeated order id is refused once the first payment is recorded,
whatever became of it; while the first is in the air both pass.
"""

from collections.abc import Callable

from django.db import transaction

from testbank import behaviours, captures, refunds, voids
from testbank.behaviours import Behaviour
from testbank.garanti import answers, codes, inquiries, lines, proofs
from testbank.garanti.answers import Told
from testbank.garanti.messages import HISTORY, LIST, PROOF, STATUS, Message, Refused
from testbank.models import GarantiLine, GarantiVisit, Refund
from testbank.orders import RefundOrder
from testbank.protocols.lines import Payment, exist, of_order
from testbank.router import BANK
from testbank.states import RefundState, State, TransactionKind


def ask(message: Message, wrong: str = "") -> Told:
    """Do what a checked request asks for; the book is committed before the answer is made.

    :param wrong: a misbehaviour that changes what the bank does.
    """
    try:
        return DOORS[message.kind](message, wrong)
    except Refused as refused:
        return answers.refusal(refused.code)


def refuse_second(payment: Payment) -> None:
    """Refuse a payment whose order is recorded, in the caller's transaction.

    :raises Refused: it is.
    """
    if of_order(GarantiLine, payment.client_id, payment.order_id):
        raise Refused(codes.REPEATED)


def told_of(line: GarantiLine, masked: str = "") -> Told:
    """Return the answer to a payment; the book says how it ended."""
    paid = line.authorization
    if paid.state == State.PENDING:
        return answers.in_doubt(
            codes.IN_PROGRESS, host_ref=line.host_ref, is_silent=not paid.answered
        )
    return answers.of_host(
        behaviours.APPROVED if lines.is_done(line) else paid.response_code,
        host_ref=line.host_ref, auth_code=paid.authorization_code, masked=masked,
        is_silent=not paid.answered,
    )  # fmt: skip


def _pay(message: Message, wrong: str) -> Told:
    payment = Payment(
        client_id=message.terminal.terminal_id,
        order_id=message.order_id,
        amount=message.amount,
        currency=message.currency,
        installments=message.installments,
        capture=message.kind == TransactionKind.SALES,
    )
    # Not in one transaction with the payment: a second one that comes meanwhile passes too.
    if exist(GarantiLine, payment):
        with transaction.atomic(using=BANK, durable=True):
            refuse_second(payment)
    visit, behaviour = _card_of(payment, message)
    with transaction.atomic(using=BANK, durable=True):
        line = lines.pay(payment, behaviour, wrong=wrong)
        if visit is not None:
            visit.line = line
            visit.save()
    number = message.values.get("Number", "")
    return told_of(line, visit.masked if visit else proofs.masked(number))


def _card_of(payment: Payment, message: Message) -> tuple[GarantiVisit | None, Behaviour]:
    """Return the card's behaviour, and the visit whose proof is used up by the payment."""
    if not message.has_proof:
        return None, behaviours.of(message.values["Number"])
    shown = {name: message.values[name] for name in PROOF}
    with transaction.atomic(using=BANK, durable=True):
        return proofs.use_up(payment, shown)


@transaction.atomic(using=BANK, durable=True)
def _capture(message: Message, _wrong: str) -> Told:
    _found, line = _named(message)
    paid = line.authorization
    if line.kind != TransactionKind.PREAUTH or not lines.is_done(line) or paid.captured_amount:
        raise Refused(codes.NOTHING_TO_CAPTURE)
    if message.amount > paid.amount:
        code = codes.ABOVE_AUTHORIZED
    else:
        code = captures.capture_locked(paid, message.amount).response_code
    taken = lines.add(line, TransactionKind.POSTAUTH, message.amount, code)
    return _told_by(code, taken)


@transaction.atomic(using=BANK, durable=True)
def _void(message: Message, wrong: str) -> Told:
    found, line = _named(message)
    paid = line.authorization
    # After a capture it is the capture that is voided, and not the pre-authorisation.
    if lines.last_done(found, paid) != line or wrong == "settled":
        raise Refused(codes.NOT_THIS_WAY)
    code = voids.void_locked(paid)
    if code in (behaviours.SETTLED, behaviours.INVALID_TRANSACTION):
        raise Refused(codes.NOT_THIS_WAY)
    return _told_by(code, lines.add(line, TransactionKind.VOID, line.amount, code))


@transaction.atomic(using=BANK, durable=True)
def _refund(message: Message, wrong: str) -> Told:
    """Refund, each time that it is asked: a refund has no name of the shop's at this bank."""
    _found, line = _named(message)
    paid = line.authorization
    is_taken = line.kind in lines.TAKING and lines.is_done(line) and paid.state != State.VOIDED
    is_settled = wrong == "settled" or (wrong != "not_settled" and voids.is_settled(paid))
    if not is_taken or not is_settled:
        raise Refused(codes.NOT_THIS_WAY)
    order = RefundOrder(lines.new_name(), paid.reference, message.amount)
    refund = refunds.refund_locked(order, paid)
    given = lines.add(line, TransactionKind.REFUND, message.amount, refund=refund)
    return _told_of_refund(given, refund)


def _named(message: Message) -> tuple[list[GarantiLine], GarantiLine]:
    """Return the transactions of an order, and the one that a request is about.

    :raises Refused: there is no such order or transaction, or it is of another currency.
    """
    found = of_order(GarantiLine, message.terminal.terminal_id, message.order_id)
    if not found:
        raise Refused(codes.NO_ORDER)
    wanted = message.values["OriginalRetrefNum"]
    named = [line for line in found if line.host_ref == wanted]
    if not named:
        raise Refused(codes.NO_TRANSACTION)
    if named[0].authorization.currency != message.currency:
        raise Refused(codes.OTHER_CURRENCY)
    return found, named[0]


def _told_of_refund(line: GarantiLine, refund: Refund) -> Told:
    if refund.state == RefundState.PENDING:
        return answers.in_doubt(codes.IN_PROGRESS, host_ref=line.host_ref)
    return _told_by(refund.response_code, line)


def _told_by(code: str, line: GarantiLine) -> Told:
    auth_code = line.authorization.authorization_code
    return answers.of_host(code, host_ref=line.host_ref, auth_code=auth_code)


@transaction.atomic(using=BANK, durable=True)
def _tell(message: Message, _wrong: str) -> Told:
    found = of_order(GarantiLine, message.terminal.terminal_id, message.order_id)
    if message.kind == STATUS:
        return inquiries.status(found, message.terminal)
    return inquiries.history(found, message.terminal)


@transaction.atomic(using=BANK, durable=True)
def _list(message: Message, _wrong: str) -> Told:
    return inquiries.page(message)


DOORS: dict[str, Callable[[Message, str], Told]] = {
    TransactionKind.SALES: _pay,
    TransactionKind.PREAUTH: _pay,
    TransactionKind.POSTAUTH: _capture,
    TransactionKind.VOID: _void,
    TransactionKind.REFUND: _refund,
    STATUS: _tell,
    HISTORY: _tell,
    LIST: _list,
}
