"""Answers of the API to payments, captures, voids and refunds: read to the last character.

One that contradicts itself, or is about another order, proves nothing.
"""

import re
from collections.abc import Mapping

from acquirers import issuer_codes
from acquirers.calls import Course
from acquirers.gateway import Order
from acquirers.issuer_codes import Meaning
from acquirers.nestpay import codes
from acquirers.outcomes import Answer, Exchange, Outcome
from acquirers.wire import Received, xml

ISO_CODE = re.compile(r"[0-9][0-9A-Z]")
FORMS = {
    "AuthCode": re.compile(r"[0-9A-Za-z]{0,12}"),
    "HostRefNum": re.compile(r"[0-9A-Za-z]{0,24}"),
    "TransId": re.compile(r"[0-9A-Za-z_-]{0,40}"),
    "ProcReturnCode": re.compile(r"[0-9A-Z]{2}"),
    "ERRORCODE": re.compile(r"[0-9A-Z-]{0,20}"),
}


def outcome(received: Received, order: Order, course: Course) -> Outcome:
    """Read the answer to a request that changes something at the bank."""
    try:
        told = elements(received)
        require_about(told, order)
    except xml.Unreadable:
        return Outcome(Answer.UNKNOWN, exchange=course.ended())
    meaning = _meaning(told)
    return Outcome(
        answer=meaning.answer,
        response_code=iso(told["ProcReturnCode"]),
        authorization_code=told.get("AuthCode") or None,
        network_reference=told.get("HostRefNum") or None,
        exchange=exchange(told, course),
        reason=meaning.reason,
    )


def elements(received: Received) -> dict[str, str]:
    """Return the answer's elements, those of `Extra` among them.

    :raises xml.Unreadable: it is no answer, or an element is missing or has another form.
    """
    root = xml.received(received)
    if root.tag != "CC5Response":
        raise xml.Unreadable("It is no answer.")
    told = _merged(xml.texts(root, apart=("Extra",)), *map(xml.texts, root.findall("Extra")))
    if not told.keys() >= {"Response", "ProcReturnCode"}:
        raise xml.Unreadable("An element is missing.")
    if not all(form.fullmatch(told.get(name, "00")) for name, form in FORMS.items()):
        raise xml.Unreadable("An element has another form.")
    return told


def require_about(told: Mapping[str, str], order: Order, *, may_leave_out: str = "Error") -> None:
    """Require that an answer names the order.

    :param may_leave_out: the response whose answer may name none: the message was refused whole.
    :raises xml.Unreadable: it is about another order.
    """
    about = told.get("OrderId", "")
    if about != order.reference and not (about == "" and told["Response"] == may_leave_out):
        raise xml.Unreadable("It is about another order.")


def exchange(told: Mapping[str, str], course: Course) -> Exchange:
    """Return the exchange that an answer ends, with the bank's code, text and numbers."""
    return course.ended(
        code=told.get("ERRORCODE") or told["ProcReturnCode"],
        text=told.get("ErrMsg"),
        numbers={"trans_id": told.get("TransId"), "host_ref": told.get("HostRefNum")},
    )


def iso(code: str) -> str | None:
    """Return a code that a network said; None for the gateway's own."""
    return code if ISO_CODE.fullmatch(code) and code != codes.OF_THE_GATEWAY else None


def _merged(plain: dict[str, str], *extras: dict[str, str]) -> dict[str, str]:
    """Return all elements on one level: some hosts put `ERRORCODE` outside of `Extra`."""
    if len(extras) > 1:
        raise xml.Unreadable("An element comes twice.")
    extra = extras[0] if extras else {}
    if any(plain[name] and plain[name] != extra[name] for name in plain.keys() & extra.keys()):
        raise xml.Unreadable("An element comes twice, with another text.")
    return {**plain, **extra}


def _meaning(told: Mapping[str, str]) -> Meaning:
    code, error = told["ProcReturnCode"], told.get("ERRORCODE", "")
    match told["Response"]:
        case "Approved" if code == issuer_codes.APPROVED and not error:
            return Meaning(Answer.APPROVED)
        case "Declined" if error in ("", f"ISO8583-{code}"):
            return issuer_codes.of_decline(code)
        case "Error" if code == codes.OF_THE_GATEWAY:
            return codes.of_error(error)
    return issuer_codes.UNKNOWN
