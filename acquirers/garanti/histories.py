"""The history of an order: every transaction that the bank has of it.

`orderinq` is not asked: it has the order's last standing alone, and the numbers of one transaction.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from xml.etree.ElementTree import Element

from acquirers import issuer_codes, messages
from acquirers.bank_days import ISTANBUL
from acquirers.calls import Course
from acquirers.garanti import answers, codes
from acquirers.garanti.answers import Reply, Told
from acquirers.gateway import Order
from acquirers.issuer_codes import APPROVED
from acquirers.outcomes import Answer, BankOperation, Exchange, Finding, OperationKind, Standing
from acquirers.wire import xml
from core import clock, local_days

PLACE = ("Order", "OrderHistInqResult", "OrderTxnList")
SALE, HOLD, CAPTURE, VOID, REFUND = "sales", "preauth", "postauth", "void", "refund"
PAYMENTS = (SALE, HOLD)
DAY = r"(?:[0-9]{8}(?: [0-9]{2}:[0-9]{2}:[0-9]{2})?)?"
FORMS = {
    "Type": re.compile(f"{SALE}|{HOLD}|{CAPTURE}|{VOID}|{REFUND}"),
    "Status": re.compile(r"[0-9A-Z]{2}"),
    "ReturnCode": re.compile(r"[0-9A-Z]{0,4}"),
    "AuthAmount": re.compile(r"[0-9]{0,14}"),
    "PreAuthAmount": re.compile(r"[0-9]{0,14}"),
    "AuthDate": re.compile(DAY),
    "PreAuthDate": re.compile(DAY),
    "VoidDate": re.compile(DAY),
    "RetrefNum": answers.FORMS["RetrefNum"],
    "AuthCode": answers.FORMS["AuthCode"],
    "CurrencyCode": re.compile(r"[0-9]{0,3}"),
    "Settlement": re.compile(r"[YN]?"),
}
# A history has days only: such a day counts until its last second, so that a refund of today may be
# one that was sent today.
LAST_SECOND = time(23, 59, 59)
# The bank holds for 7 to 15 days. We ask it to capture for 7; a day later the history shows that.
LAPSES_AFTER = timedelta(days=8)
Line = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class History(Standing):
    """A standing of which it is known whether the bank's day is over.

    :param is_settled: money was taken and is settled; None if none was taken.
    :param held_at: when money was held, as long as none was taken; a day counts to its last second.
    """

    is_settled: bool | None = None
    held_at: datetime | None = None


def standing(reply: Reply, order: Order, course: Course) -> Standing:
    """Read the answer to an inquiry for the history."""
    try:
        told = answers.read(reply, order)
        if told.refused_by_the_gateway in codes.NO_RECORD and not _transactions(told):
            return Standing(Finding.NO_RECORD, exchange=_exchange(told, course))
        if not told.is_approved:
            # The inquiry itself was refused: the bank's code says why.
            return Standing(Finding.UNKNOWN, exchange=_exchange(told, course))
        lines = [_line(one, order) for one in _transactions(told)]
        return _history(_without_voided(lines), course)
    except (xml.Unreadable, ValueError):
        return Standing(Finding.UNKNOWN, exchange=course.ended())


def _exchange(told: Told, course: Course) -> Exchange:
    return answers.exchange(told, course, numbers={})


def _transactions(told: Told) -> list[Element]:
    """:raises xml.Unreadable: a list comes twice, or holds something else."""
    place = told.root
    for name in PLACE:
        found = place.findall(name)
        if len(found) > 1:
            raise xml.Unreadable("A list comes twice.")
        if not found:
            return []
        [place] = found
    if any(one.tag != "OrderTxn" for one in place):
        raise xml.Unreadable("A list holds something else.")
    return list(place)


def _line(transaction: Element, order: Order) -> Line:
    """Read a line.

    :raises ValueError: a text has another form, or its amount or currency is not the order's.
    """
    line = {name: xml.text_at(transaction, name) or "" for name in FORMS}
    if not all(form.fullmatch(line[name]) for name, form in FORMS.items()):
        raise ValueError("A text has another form.")
    if _is_done(line) and line["CurrencyCode"] not in ("", messages.NUMERIC.get(order.currency)):
        raise ValueError("It is in another currency.")
    if max(int(line[name] or 0) for name in ("AuthAmount", "PreAuthAmount")) > order.amount:
        raise ValueError("More than the order's amount.")
    return line


def _without_voided(lines: list[Line]) -> list[Line]:
    """Leave out payments that the bank has voided, and their voids, if it kept another one.

    The payer's browser may have brought the order to the gate twice.
    """
    done = [line for line in lines if line["Type"] in PAYMENTS and _is_done(line)]
    kept = [line for line in done if not line["VoidDate"]]
    if not kept or len(kept) == len(done):
        return lines
    return [line for line in lines if line["Type"] != VOID and (line not in done or line in kept)]


def _history(lines: list[Line], course: Course) -> History:
    """:raises ValueError: there is no payment among the lines, or a day is none."""
    payments = [line for line in lines if line["Type"] in PAYMENTS]
    if not payments:
        raise ValueError("There is no payment.")
    # An order may have been declined before it succeeded.
    payment = ([line for line in payments if _is_done(line)] or payments)[-1]
    taken = [line for line in lines if line["Type"] in (SALE, CAPTURE) and _is_done(line)]
    held_at = None if taken or not _is_done(payment) else _at(payment)
    return History(
        finding=Finding.FOUND,
        operations=(*_operations(lines), *_lapse(payment, held_at)),
        response_code=_issuers(payment["ReturnCode"]),
        authorization_code=payment["AuthCode"] or None,
        network_reference=payment["RetrefNum"] or None,
        exchange=course.ended(code=payment["ReturnCode"] or None, numbers=_numbers(payment)),
        is_settled=any(line["Settlement"] == "Y" for line in taken) if taken else None,
        held_at=held_at,
    )


def _operations(lines: list[Line]) -> Iterable[BankOperation]:
    for line in lines:
        amount = int(line["AuthAmount"] or 0)
        match line["Type"]:
            case "sales" | "preauth" as kind:
                held = amount if kind == SALE else int(line["PreAuthAmount"] or 0) or amount
                yield _operation(OperationKind.AUTHORIZATION, _state(line), line, held)
                if kind == SALE and _is_done(line):
                    yield _operation(OperationKind.CAPTURE, Answer.APPROVED, line, amount)
            case "postauth" if _is_done(line):
                yield _operation(OperationKind.CAPTURE, Answer.APPROVED, line, amount)
            case "refund" if (state := _of_refund(line)) is not None:
                yield _operation(OperationKind.REFUND, state, line, amount)
    if (voided := _void(lines)) is not None:
        yield _operation(OperationKind.VOID, Answer.APPROVED, voided, None)


def _lapse(payment: Line, held_at: datetime | None) -> list[BankOperation]:
    """Return the lapse of an old hold, of which nothing was taken; no line says so."""
    if held_at is None or clock.now() < held_at + LAPSES_AFTER:
        return []
    return [_operation(OperationKind.LAPSE, Answer.APPROVED, payment, None)]


def _void(lines: list[Line]) -> Line | None:
    """Return the line that says that the payment was voided; a void of a refund is none."""
    dated = [line for line in lines if line["VoidDate"] and _is_done(line)]
    own = [line for line in lines if line["Type"] == VOID and _is_done(line)]
    if any(line["Type"] == REFUND for line in dated):
        return next((line for line in dated if line["Type"] in (*PAYMENTS, CAPTURE)), None)
    return next(iter([*own, *dated]), None)


def _is_done(line: Line) -> bool:
    """:raises ValueError: the line contradicts itself."""
    is_done = line["Status"] == APPROVED
    if is_done and line["ReturnCode"].strip("0"):
        raise ValueError("It was done, and refused.")
    return is_done


def _state(line: Line) -> Answer:
    if _is_done(line):
        return Answer.APPROVED
    # A refusal by the gateway is not told apart from one by a silent host here.
    return issuer_codes.of_decline(line["ReturnCode"]).answer


def _of_refund(line: Line) -> Answer | None:
    """Return the state of a refund; None if nothing went back, and it may be sent again."""
    if _is_done(line):
        return Answer.DECLINED if line["VoidDate"] else Answer.APPROVED
    is_final = line["ReturnCode"] != codes.DO_NOT_HONOR and _at(line) is not None
    return Answer.DECLINED if is_final and _state(line) is Answer.DECLINED else None


def _issuers(code: str) -> str | None:
    """Return a code that a network said; None for the gateway's own."""
    return code if code in (APPROVED, *issuer_codes.REFUSALS) else None


def _operation(kind: OperationKind, state: Answer, line: Line, amount: int | None) -> BankOperation:
    at = _moment(line["VoidDate"]) if kind is OperationKind.VOID else None
    return BankOperation(kind, state, amount, _numbers(line), at or _at(line))


def _numbers(line: Line) -> dict[str, str]:
    names = ["host_ref"] + (["network_reference"] if line["Type"] == REFUND else [])
    return dict.fromkeys(names, line["RetrefNum"]) if line["RetrefNum"] else {}


def _at(line: Line) -> datetime | None:
    return _moment(line["AuthDate"]) or _moment(line["PreAuthDate"])


def _moment(text: str) -> datetime | None:
    """:raises ValueError: it is no day."""
    if not text:
        return None
    day, _blank, hour = text.partition(" ")
    at = time.fromisoformat(hour) if hour else LAST_SECOND
    return local_days.at(date.fromisoformat(day), at, ISTANBUL)
