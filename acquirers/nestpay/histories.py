"""The history of an order: every transaction that the bank has of it, a line of tabs each.

`ORDERSTATUS` is not asked: it has the last transaction alone, so that a refund hides the sale.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any

from acquirers import issuer_codes, messages
from acquirers.bank_days import ISTANBUL
from acquirers.calls import Course
from acquirers.gateway import Order
from acquirers.nestpay import answers, codes
from acquirers.outcomes import Answer, BankOperation, Finding, OperationKind, Standing
from acquirers.wire import Received, xml
from core import local_days

NO_RECORD = "No record found"
NO_RECORD_CODES = ("05", "99")
FIELDS = (
    "type", "status", "amount", "captured", "authorized_at", "captured_at", "voided_at",
    "host_ref", "auth_code", "code", "trans_id",
)  # fmt: skip
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{1,6}")
MINOR = re.compile(r"[0-9]{1,14}")
FORMS = {
    "type": re.compile(r"[SC]"),
    "status": re.compile(r"PN|A|C|S|V|CNCL|D|ERR"),
    "code": re.compile(r"[0-9A-Z]{0,2}"),
    "host_ref": answers.FORMS["HostRefNum"],
    "auth_code": answers.FORMS["AuthCode"],
    "trans_id": answers.FORMS["TransId"],
}
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
DONE, RELEASED, TAKEN = ("A", "C", "S"), ("V", "CNCL"), ("C", "S")
Line = Mapping[str, Any]


def standing(received: Received, order: Order, course: Course) -> Standing:
    """Read the answer to an inquiry for the history."""
    try:
        told = answers.elements(received)
        answers.require_about(told, order, may_leave_out=told["Response"])
        if _is_no_record(told):
            return Standing(Finding.NO_RECORD, exchange=answers.exchange(told, course))
        lines = _lines(told, order)
    except (xml.Unreadable, ValueError):
        return Standing(Finding.UNKNOWN, exchange=course.ended())
    if not lines:
        # The inquiry itself was refused: the bank's code says why.
        return Standing(Finding.UNKNOWN, exchange=answers.exchange(told, course))
    return _standing(lines, course)


def _is_no_record(told: Mapping[str, str]) -> bool:
    """Return whether the bank has no such order, which it calls a decline."""
    head = told["Response"] == "Declined" and told["ProcReturnCode"] in NO_RECORD_CODES
    is_empty = told.get("TRXCOUNT", "0") == "0" and "TRX1" not in told
    return head and is_empty and told.get("ErrMsg", "").startswith(NO_RECORD)


def _lines(told: Mapping[str, str], order: Order) -> list[Line]:
    """Return the lines, the oldest first; none if the inquiry did not work.

    :raises ValueError: they are not those that the answer counts, or one cannot be read.
    """
    if (told["Response"], told["ProcReturnCode"]) != ("Approved", issuer_codes.APPROVED):
        return []
    names = {name for name in told if name.startswith("TRX") and name[3:].isdigit()}
    counted = [f"TRX{number}" for number in range(1, len(names) + 1)]
    if not names or names != {*counted} or told.get("TRXCOUNT") != str(len(names)):
        raise ValueError("The lines are not those that the answer counts.")
    if told.get("OrderId") != order.reference:
        raise ValueError("It is about another order.")
    lines = [_line(told[name], order) for name in reversed(counted)]
    return sorted(lines, key=lambda line: line["authorized_at"] or EARLIEST)


def _line(text: str, order: Order) -> Line:
    """Read a line.

    :raises ValueError: a field has another form, or its amount is above the order's.
    """
    line: dict[str, Any] = dict(zip(FIELDS, text.split("\t"), strict=True))
    if not all(form.fullmatch(line[name]) for name, form in FORMS.items()):
        raise ValueError("A field has another form.")
    for name in ("amount", "captured"):
        line[name] = _amount(line[name])
        if (line[name] or 0) > order.amount:
            raise ValueError("More than the order's amount.")
    for name in ("authorized_at", "captured_at", "voided_at"):
        line[name] = _moment(line[name])
    return line


def _amount(text: str) -> int | None:
    """Return minor units; some hosts write `1.01` in place of `101`."""
    if not text:
        return None
    return int(text) if MINOR.fullmatch(text) else messages.minor(text)


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    if MOMENT.fullmatch(text) is None:
        raise ValueError("It is no moment.")
    day, _blank, clock = text.partition(" ")
    return local_days.at(date.fromisoformat(day), time.fromisoformat(clock), ISTANBUL)


def _standing(oldest_first: list[Line], course: Course) -> Standing:
    lines = _without_reversed(oldest_first)
    payments = [line for line in lines if line["type"] == "S"]
    approved = [line for line in payments if line["status"] in (*DONE, *RELEASED)]
    # An order may have been declined before it succeeded.
    payment = (approved or payments or lines)[-1]
    return Standing(
        finding=Finding.FOUND,
        operations=tuple(one for line in lines for one in _operations(line)),
        response_code=answers.iso(payment["code"]),
        authorization_code=payment["auth_code"] or None,
        network_reference=payment["host_ref"] or None,
        exchange=course.ended(code=payment["code"], numbers=_numbers(payment)),
    )


def _without_reversed(lines: list[Line]) -> list[Line]:
    """Leave out payments that the bank has reversed, if it kept another one of the order.

    The payer's browser may have brought the order to the gate twice.
    """
    if not any(line["type"] == "S" and line["status"] in DONE for line in lines):
        return lines
    return [line for line in lines if line["type"] != "S" or line["status"] not in RELEASED]


def _operations(line: Line) -> list[BankOperation]:
    """Return the operations of a line: a payment is one, also when it was captured or voided."""
    if line["type"] == "C" and line["status"] == "D" and line["code"] == codes.OF_THE_GATEWAY:
        # Nothing went back, and the reason is not said: the day may be open. It is sent again.
        return []
    if line["type"] == "C":
        state = Answer.DECLINED if line["status"] in RELEASED else _state(line)
        return [_operation(OperationKind.REFUND, state, line)]
    status = line["status"]
    found = [_operation(OperationKind.AUTHORIZATION, _state(line), line)]
    if status in TAKEN:
        found.append(_operation(OperationKind.CAPTURE, Answer.APPROVED, line))
    if status in RELEASED:
        found.append(_operation(OperationKind.VOID, Answer.APPROVED, line))
    return found


def _state(line: Line) -> Answer:
    if line["status"] in (*DONE, *RELEASED):
        return Answer.APPROVED
    if line["status"] == "PN":
        return Answer.PENDING
    # An error, or a refusal by a code that may be reversed yet, leaves it open.
    if line["status"] != "D" or line["code"] == codes.HOST_WAS_SILENT:
        return Answer.UNKNOWN
    return (
        Answer.AUTHENTICATION_REQUIRED if line["code"] in issuer_codes.DEMANDS else Answer.DECLINED
    )


def _operation(kind: OperationKind, state: Answer, line: Line) -> BankOperation:
    is_captured = kind is OperationKind.CAPTURE
    at = {
        OperationKind.CAPTURE: line["captured_at"],
        OperationKind.VOID: line["voided_at"],
    }.get(kind, line["authorized_at"])
    amount = line["captured"] or line["amount"] if is_captured else line["amount"]
    return BankOperation(kind, state, amount, _numbers(line), at or line["authorized_at"])


def _numbers(line: Line) -> dict[str, str]:
    numbers = {"trans_id": line["trans_id"], "host_ref": line["host_ref"]}
    if line["type"] == "C":
        numbers["network_reference"] = line["host_ref"]
    return {name: number for name, number in numbers.items() if number}
