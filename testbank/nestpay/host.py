"""The host behind the NestPay doors: the bank's work for a checked request, and its answer.

Nothing here is idempotent. A second payment is refused once the first has succeeded and is
recorded; while the first is in the air both pass.
"""

from collections.abc import Callable

from django.db import transaction

from testbank import behaviours, captures, refunds, voids
from testbank.behaviours import Behaviour
from testbank.models import Authorization, NestpayLine, NestpayVisit, Refund
from testbank.nestpay import answers, codes, histories, lines, proofs
from testbank.nestpay.answers import Told
from testbank.nestpay.messages import HISTORY, PROOF, STATUS, Message, Refused
from testbank.orders import RefundOrder
from testbank.protocols.lines import SUCCEEDED, Payment, exist, host_ref, of_order
from testbank.router import BANK
from testbank.states import RefundState, State


def ask(message: Message, wrong: str = "") -> Told:
    """Do what a checked request asks for; the book is committed before the answer is made.

    :param wrong: a misbehaviour that changes what the bank does.
    """
    try:
        return DOORS[message.kind](message, wrong)
    except Refused as refused:
        return answers.refusal(refused.code)


def refuse_second(payment: Payment) -> None:
    """Refuse a payment of an order that has one, in the caller's transaction.

    :raises Refused: one has succeeded, or has not ended.
    """
    for line in lines.payments(of_order(NestpayLine, payment.client_id, payment.order_id)):
        if line.authorization.state in SUCCEEDED:
            raise Refused(codes.HAS_SUCCEEDED)
        if line.authorization.state == State.PENDING:
            raise Refused(codes.IS_UNDER_WAY)


def told_of(line: NestpayLine) -> Told:
    """Return the answer to a payment; the book says how it ended."""
    paid = line.authorization
    if paid.state == State.PENDING:
        return Told(
            answers.ERROR, "99", codes.IS_UNDER_WAY, codes.WORDS[codes.IS_UNDER_WAY],
            trans_id=line.trans_id, is_silent=not paid.answered,
        )  # fmt: skip
    if paid.state not in SUCCEEDED:
        return answers.declined(
            paid.response_code, host_ref=line.host_ref, trans_id=line.trans_id,
            is_silent=not paid.answered,
        )  # fmt: skip
    return Told(
        answers.APPROVED, behaviours.APPROVED, auth_code=paid.authorization_code,
        host_ref=line.host_ref, trans_id=line.trans_id, is_silent=not paid.answered,
    )  # fmt: skip


def _pay(message: Message, wrong: str) -> Told:
    assert message.currency is not None
    payment = Payment(
        client_id=message.terminal.client_id,
        order_id=message.order_id,
        amount=message.amount,
        currency=message.currency,
        installments=message.installments,
        capture=message.kind == "Auth",
    )
    # Not in one transaction with the payment: a second one that comes meanwhile passes too.
    if exist(NestpayLine, payment):
        with transaction.atomic(using=BANK, durable=True):
            refuse_second(payment)
    visit, behaviour = _card_of(payment, message)
    with transaction.atomic(using=BANK, durable=True):
        line = lines.pay(payment, behaviour, wrong=wrong)
        if visit is not None:
            visit.line = line
            visit.save()
    return told_of(line)


def _card_of(payment: Payment, message: Message) -> tuple[NestpayVisit | None, Behaviour]:
    """Return the card's behaviour, and the visit whose proof is used up by the payment."""
    number = message.values["Number"]
    if not message.has_proof:
        return None, behaviours.of(number)
    told = [number, *(message.values[name] for name in PROOF)]
    shown = dict(zip(("md", "xid", "eci", "cavv"), told, strict=True))
    with transaction.atomic(using=BANK, durable=True):
        return proofs.use_up(payment, shown)


@transaction.atomic(using=BANK, durable=True)
def _capture(message: Message, _wrong: str) -> Told:
    held = [
        line
        for line in lines.payments(lines.of_order(message.terminal, message.order_id))
        if line.authorization.state in SUCCEEDED and not line.authorization.capture
    ]
    if not held:
        raise Refused(codes.NOTHING_TO_CAPTURE)
    line, paid = held[-1], held[-1].authorization
    if message.currency not in (None, paid.currency):
        raise Refused(codes.OTHER_CURRENCY)
    if paid.state == State.LAPSED:
        raise Refused(codes.TOO_LATE_TO_CAPTURE)
    if paid.state == State.VOIDED:
        raise Refused(codes.NET_IS_ZERO)
    if paid.captured_amount:
        raise Refused(codes.NOTHING_TO_CAPTURE)
    if message.amount > paid.amount:
        raise Refused(codes.ABOVE_AUTHORIZED)
    return _told_by(captures.capture_locked(paid, message.amount).response_code, line)


@transaction.atomic(using=BANK, durable=True)
def _void(message: Message, wrong: str) -> Told:
    open_ = [
        line
        for line in lines.payments(lines.of_order(message.terminal, message.order_id))
        if line.authorization.state == State.AUTHORIZED and not _is_settled(line, wrong)
    ]
    if not open_:
        raise Refused(codes.NOTHING_TO_VOID)
    if len(open_) > 1 and "TransId" not in message.values:
        raise Refused(codes.NUMBER_MISSING)
    wanted = message.values.get("TransId", open_[0].trans_id)
    named = [line for line in open_ if line.trans_id == wanted]
    if not named:
        raise Refused(codes.NO_SUCH_TRANSACTION)
    code = voids.void_locked(named[0].authorization)
    if code in (behaviours.SETTLED, behaviours.INVALID_TRANSACTION):
        raise Refused(codes.NOTHING_TO_VOID)
    return _told_by(code, named[0])


@transaction.atomic(using=BANK, durable=True)
def _refund(message: Message, wrong: str) -> Told:
    """Refund, each time that it is asked: a refund has no name at this bank."""
    taken = [
        line
        for line in lines.payments(lines.of_order(message.terminal, message.order_id))
        if line.authorization.captured_amount
    ]
    if not taken:
        raise Refused(codes.NOTHING_TO_REFUND)
    line = next((one for one in taken if one.authorization.available_amount), taken[-1])
    trans_id = lines.new_trans_id()
    refusal = _refusal_to_refund(message, line, wrong)
    if refusal is not None:
        lines.give_back(line, message.amount, None, trans_id=trans_id)
        return answers.refusal(refusal, trans_id=trans_id)
    order = RefundOrder(trans_id, line.authorization.reference, message.amount)
    refund = refunds.refund_locked(order, line.authorization)
    return _told_of_refund(lines.give_back(line, refund.amount, refund, trans_id=trans_id), refund)


def _refusal_to_refund(message: Message, line: NestpayLine, wrong: str) -> str | None:
    paid: Authorization = line.authorization
    if message.currency != paid.currency:
        return codes.OTHER_CURRENCY
    if not paid.available_amount:
        return codes.IS_REFUNDED
    if message.amount > paid.available_amount:
        return codes.ABOVE_NET
    if wrong == "not_settled" or not _is_settled(line, wrong):
        return codes.NOT_SETTLED
    return None


def _is_settled(line: NestpayLine, wrong: str) -> bool:
    return wrong == "settled" or voids.is_settled(line.authorization)


def _told_of_refund(line: NestpayLine, refund: Refund) -> Told:
    if refund.state == RefundState.PENDING:
        return answers.refusal(codes.IS_UNDER_WAY, trans_id=line.trans_id)
    host_ref, trans_id = line.host_ref, line.trans_id
    if refund.state == RefundState.REFUSED:
        return answers.declined(refund.response_code, host_ref=host_ref, trans_id=trans_id)
    return Told(answers.APPROVED, behaviours.APPROVED, host_ref=host_ref, trans_id=trans_id)


def _told_by(code: str, line: NestpayLine) -> Told:
    """Return the answer to a capture or a void by the book's code: the line is the payment's."""
    if code != behaviours.APPROVED:
        return answers.declined(code, host_ref=host_ref(), trans_id=line.trans_id)
    return Told(
        answers.APPROVED, code, auth_code=line.authorization.authorization_code,
        host_ref=host_ref(), trans_id=line.trans_id,
    )  # fmt: skip


@transaction.atomic(using=BANK, durable=True)
def _tell_all(message: Message, _wrong: str) -> Told:
    found = lines.of_order(message.terminal, message.order_id)
    return histories.history(found, message.terminal, message.order_id)


@transaction.atomic(using=BANK, durable=True)
def _tell_last(message: Message, _wrong: str) -> Told:
    found = lines.of_order(message.terminal, message.order_id)
    return histories.status(found, message.terminal, message.order_id)


DOORS: dict[str, Callable[[Message, str], Told]] = {
    "Auth": _pay,
    "PreAuth": _pay,
    "PostAuth": _capture,
    "Void": _void,
    "Credit": _refund,
    STATUS: _tell_last,
    HISTORY: _tell_all,
}
