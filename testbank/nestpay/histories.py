"""Answers to the inquiries: an order's history line by line, and its last transaction."""

from datetime import datetime

from core import local_days
from testbank import behaviours, days, voids
from testbank.models import Authorization, NestpayLine
from testbank.nestpay import answers, codes
from testbank.nestpay.answers import Told
from testbank.nestpay.terminals import NestpayTerminal
from testbank.protocols.lines import are_never_known
from testbank.states import RefundState, State

PENDING, AUTHORIZED, CAPTURED, SETTLED = "PN", "A", "C", "S"
VOIDED, CANCELLED, DECLINED = "V", "CNCL", "D"
STATUSES = {
    State.PENDING: PENDING,
    State.VOIDED: VOIDED,
    State.LAPSED: CANCELLED,
}
REFUND_STATUSES = {RefundState.PENDING: PENDING, RefundState.REFUNDED: CAPTURED}
SALE, CREDIT = "S", "C"


def history(lines: list[NestpayLine], terminal: NestpayTerminal, order_id: str) -> Told:
    """Return all lines of an order, the newest first."""
    if not lines:
        message = f"No record found for {order_id}"
        return Told(answers.DECLINED, "05", message=message, extra={"TRXCOUNT": "0"})
    if are_never_known(lines):
        return answers.refusal(codes.HOST_SILENT)
    newest_first = enumerate(reversed(lines), 1)
    told = {f"TRX{number}": _row(line, terminal) for number, line in newest_first}
    return Told(answers.APPROVED, "00", extra={"TRXCOUNT": str(len(lines)), **told})


def status(lines: list[NestpayLine], terminal: NestpayTerminal, order_id: str) -> Told:
    """Return the order's last transaction only; it hides all that came before."""
    if not lines:
        return Told(answers.DECLINED, "99", message=f"No record found for {order_id}")
    if are_never_known(lines):
        return answers.refusal(codes.HOST_SILENT)
    names = (
        "CHARGE_TYPE_CD", "TRANS_STAT", "ORIG_TRANS_AMT", "CAPTURE_AMT", "AUTH_DTTM",
        "CAPTURE_DTTM", "VOID_DTTM", "HOST_REF_NUM", "AUTH_CODE", "PROC_RET_CD", "TRANS_ID",
    )  # fmt: skip
    facts = dict(zip(names, _columns(lines[-1], terminal), strict=True))
    spelled = " ".join(f"{name}:{value}" for name, value in facts.items())
    return Told(answers.APPROVED, "00", extra={"ORDERSTATUS": spelled, **facts})


def _row(line: NestpayLine, terminal: NestpayTerminal) -> str:
    return "\t".join(_columns(line, terminal))


def _columns(line: NestpayLine, terminal: NestpayTerminal) -> tuple[str, ...]:
    columns = _of_refund(line) if line.is_refund else _of_payment(line.authorization)
    state, captured, authorized_at, captured_at, voided_at, auth_code, code = columns
    amounts = [_amount(amount, terminal) for amount in (line.amount, captured)]
    moments = [_moment(moment) for moment in (authorized_at, captured_at, voided_at)]
    kind = CREDIT if line.is_refund else SALE
    return (kind, state, *amounts, *moments, line.host_ref, auth_code, code, line.trans_id)


Columns = tuple[str, int, datetime | None, datetime | None, datetime | None, str, str]


def _of_payment(paid: Authorization) -> Columns:
    capture = paid.captures.order_by("created_at").first()
    captured_at = capture.created_at if capture else None
    is_settled = capture is not None and voids.is_settled(paid)
    taken = (SETTLED if is_settled else CAPTURED) if capture else AUTHORIZED
    state = taken if paid.state == State.AUTHORIZED else STATUSES.get(State(paid.state), DECLINED)
    return (
        state, paid.captured_amount, paid.created_at, captured_at, paid.voided_at,
        paid.authorization_code, paid.response_code,
    )  # fmt: skip


def _of_refund(line: NestpayLine) -> Columns:
    at, refund = line.created_at, line.refund
    if refund is None:
        return DECLINED, line.amount, at, at, None, "", "99"
    # A refund that bounced was done at this bank; the protocol has no word for what came after.
    is_bounced = refund.state == RefundState.BOUNCED
    state = CAPTURED if is_bounced else REFUND_STATUSES.get(RefundState(refund.state), DECLINED)
    code = behaviours.APPROVED if is_bounced else refund.response_code
    return state, refund.amount, at, None if state == PENDING else at, None, "", code


def _amount(amount: int, terminal: NestpayTerminal) -> str:
    if not amount:
        return ""
    return f"{amount // 100}.{amount % 100:02d}" if terminal.writes_decimals else str(amount)


def _moment(moment: datetime | None) -> str:
    if moment is None:
        return ""
    return local_days.shown(moment, days.ZONE).isoformat(" ", "milliseconds")
