"""Reading the old bank's answers: one that is not in these tables leaves the outcome unknown."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from acquirers.calls import Course
from acquirers.declines import BY_RESPONSE_CODE
from acquirers.gateway import Order
from acquirers.outcomes import (
    Answer,
    BankOperation,
    Exchange,
    Finding,
    OperationKind,
    Outcome,
    Reason,
    Standing,
)
from acquirers.wire import Received, xml

CONTENT_TYPE = "text/xml"
NO_RECORD = "E-2400"
# The issuer's no. `92` is in no table: the bank itself does not know yet.
DECLINES = {*BY_RESPONSE_CODE, "06"} - {"1A", "65"}
# (result, code): anything else is unknown. An order that has succeeded already (E-3001), a proof
# that was used (E-2003), an order without anything to capture (E-3101) or to refund (E-3301), and
# a refund above what is left (E-3302) may mean that an earlier request of ours was carried out: the
# bank has to be asked.
ANSWERS = {
    ("Approved", "00"): Answer.APPROVED,
    ("Pending", "09"): Answer.PENDING,
    ("Declined", "1A"): Answer.AUTHENTICATION_REQUIRED,
    ("Declined", "65"): Answer.AUTHENTICATION_REQUIRED,
    **{("Declined", code): Answer.DECLINED for code in DECLINES},
    **{("Error", f"E-10{number:02d}"): Answer.NOT_CHARGED for number in range(1, 14)},
    ("Error", "E-2001"): Answer.NOT_CHARGED,
    ("Error", "E-2002"): Answer.NOT_CHARGED,
    ("Error", "E-3102"): Answer.DECLINED,
    ("Error", "E-3201"): Answer.DECLINED,
    ("Error", "E-3204"): Answer.SETTLED,
    ("Error", "E-3205"): Answer.DECLINED,
    ("Error", "E-3303"): Answer.DAY_OPEN,
}
# Refused before the bank was asked, for what the payment brought and not for the set-up.
REASONS = {
    "E-1004": Reason.TRANSACTION_NOT_ALLOWED,
    "E-1006": Reason.INCORRECT_NUMBER,
    "E-1007": Reason.EXPIRED_CARD,
    "E-1009": Reason.TRANSACTION_NOT_ALLOWED,
    "E-1010": Reason.INCORRECT_CVC,
}
DEEDS = {
    "S": OperationKind.AUTHORIZATION,
    "P": OperationKind.AUTHORIZATION,
    "C": OperationKind.CAPTURE,
    "V": OperationKind.VOID,
    "R": OperationKind.REFUND,
    "L": OperationKind.LAPSE,
}
STATES = {"A": Answer.APPROVED, "W": Answer.PENDING, "D": Answer.DECLINED}
LINE = re.compile(
    r"(?P<kind>[SPCVRL])\|(?P<state>[AWD])\|(?P<amount>[1-9][0-9]{0,13})\|(?P<code>[0-9A-Z]{2})"
    r"\|(?P<auth_code>[0-9A-Z]{0,6})\|(?P<host_ref>[0-9]{12})\|(?P<trans_id>[0-9A-Z]{10})"
    r"\|(?P<at>[0-9]{1,12}\.[0-9]{3})"
)
FORMS = {
    "AuthCode": re.compile(r"[0-9A-Z]{0,6}"),
    "HostRef": re.compile(r"[0-9]{12}|"),
    "TransId": re.compile(r"[0-9A-Z]{10}|"),
    "Code": re.compile(r"[0-9A-Z-]{2,8}"),
}


def outcome(received: Received, order: Order, request_type: str, course: Course) -> Outcome:
    """Read the answer to a payment, a capture, a void or a refund."""
    try:
        told = _about(received, order, request_type)
    except xml.Unreadable:
        return Outcome(Answer.UNKNOWN, exchange=course.ended())
    is_no_record = told.get("Reason") == NO_RECORD
    answer = ANSWERS.get((told["Result"], told["Code"]), Answer.UNKNOWN)
    return Outcome(
        answer=Answer.UNKNOWN if is_no_record else answer,
        response_code=told["Code"] if len(told["Code"]) == 2 else None,
        authorization_code=told.get("AuthCode") or None,
        network_reference=told.get("HostRef") or None,
        exchange=_exchange(told, course),
        reason=REASONS.get(told["Code"]),
    )


def standing(received: Received, order: Order, course: Course) -> Standing:
    """Read the answer to an inquiry for everything that the bank has of an order."""
    return _listed(received, order, course, request_type="History")


def refund_standing(received: Received, order: Order, course: Course) -> Standing:
    """Read the answer to an inquiry about one refund, which the bank may have made twice."""
    found = _listed(received, order, course, request_type="RefundStatus")
    is_refund = all(one.deed is OperationKind.REFUND for one in found.operations)
    return found if is_refund else Standing(Finding.UNKNOWN, exchange=found.exchange)


def _listed(received: Received, order: Order, course: Course, *, request_type: str) -> Standing:
    unknown = Standing(Finding.UNKNOWN, exchange=course.ended())
    try:
        told = _about(received, order, request_type)
        lines = [_line(text) for text in _texts(received, "Tx")]
    except xml.Unreadable:
        return unknown
    if told.get("Reason") == NO_RECORD and not lines:
        return Standing(Finding.NO_RECORD, exchange=_exchange(told, course))
    head = (told["Result"], told["Code"], told.get("Count"))
    is_whole = head == ("Approved", "00", str(len(lines)))
    return _standing(lines, course) if lines and is_whole else unknown


def _about(received: Received, order: Order, request_type: str) -> dict[str, str]:
    """Return the answer's elements; each comes once, but for the lines.

    :raises xml.Unreadable: it is about another order, or an element is of another form.
    """
    told = xml.texts(_root(received), apart=("Tx",))
    if not {"OrderId", "Type", "Result", "Code"} <= told.keys():
        raise xml.Unreadable
    # A message that was refused as a whole names no order.
    is_refused = told["Result"] == "Error" and told["Code"].startswith(("E-1", "E-2001"))
    about = (told["OrderId"], told["Type"])
    if about != (order.reference, request_type) and not (is_refused and about == ("", "")):
        raise xml.Unreadable
    if not all(
        form.fullmatch(told.get(name, "00")) for name, form in FORMS.items() if name in told
    ):
        raise xml.Unreadable
    return told


def _root(received: Received) -> Element:
    if received.content_type != CONTENT_TYPE:
        raise xml.Unreadable
    root = xml.read(received.content)
    if root.tag != "BankResponse":
        raise xml.Unreadable
    return root


def _texts(received: Received, name: str) -> list[str]:
    return [one.text or "" for one in _root(received).findall(name)]


def _line(text: str) -> dict[str, str]:
    read = LINE.fullmatch(text)
    if read is None:
        raise xml.Unreadable
    return read.groupdict()


def _standing(lines: list[dict[str, str]], course: Course) -> Standing:
    oldest_first = sorted(lines, key=lambda line: float(line["at"]))
    payments = [line for line in oldest_first if line["kind"] in "SP"]
    approved = [line for line in payments if line["state"] == "A"]
    # An order may have been declined before it succeeded.
    payment = (approved or payments or oldest_first)[-1]
    numbers = {"trans_id": payment["trans_id"], "host_ref": payment["host_ref"]}
    return Standing(
        finding=Finding.FOUND,
        operations=tuple(one for line in oldest_first for one in _operations(line)),
        response_code=payment["code"],
        authorization_code=payment["auth_code"] or None,
        network_reference=payment["host_ref"],
        exchange=course.ended(code=payment["code"], numbers=numbers),
    )


def _operations(line: Mapping[str, str]) -> list[BankOperation]:
    """Return what a line tells; a sale that was approved is a payment and its capture."""
    deeds = [DEEDS[line["kind"]]]
    if line["kind"] == "S" and line["state"] == "A":
        deeds.append(OperationKind.CAPTURE)
    at = datetime.fromtimestamp(float(line["at"]), UTC)
    numbers = {"trans_id": line["trans_id"], "host_ref": line["host_ref"]}
    return [BankOperation(deed, _state(line), int(line["amount"]), numbers, at) for deed in deeds]


def _state(line: Mapping[str, str]) -> Answer:
    if line["state"] != "D":
        return STATES[line["state"]]
    return ANSWERS.get(("Declined", line["code"]), Answer.UNKNOWN)


def _exchange(told: Mapping[str, str], course: Course) -> Exchange:
    return course.ended(
        code=told.get("Reason") or told["Code"],
        text=told.get("Text"),
        numbers={"trans_id": told.get("TransId"), "host_ref": told.get("HostRef")},
    )
