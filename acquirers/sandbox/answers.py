"""Reading the test bank's answers: one that is not exactly of its form leaves the outcome unknown.

Their values are kept in columns, written into events and shown to merchants, so their form is
checked to the last character.
"""

import re
from collections.abc import Mapping
from typing import Any

from acquirers.gateway import Answer, Challenge, Outcome, StatementLine
from core import urls

TO_AUTHORIZATIONS = {
    "approved": Answer.APPROVED,
    "declined": Answer.DECLINED,
    "authentication_required": Answer.AUTHENTICATION_REQUIRED,
    "pending": Answer.PENDING,
}
TO_INQUIRIES = TO_AUTHORIZATIONS | {
    "unknown": Answer.UNKNOWN,
    "voided": Answer.VOIDED,
    "lapsed": Answer.LAPSED,
}
TO_OPERATIONS = {
    "captured": Answer.APPROVED,
    "voided": Answer.APPROVED,
    "refused": Answer.DECLINED,
}
RESPONSE_CODE = re.compile(r"[0-9A-Z]{2}")
AUTHORIZATION_CODE = re.compile(r"[0-9A-Z]{1,6}")
REFERENCE = re.compile(r"[0-9A-Za-z_-]{1,40}")
VERSION = re.compile(r"[0-9.]{1,8}")
RISK_LEVEL = re.compile(r"normal|elevated|highest")
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)


class _NotAbout(ValueError):
    """The answer is about another reference."""


def authorization(told: Any, reference: str) -> Outcome:
    """Read the answer to an authorisation."""
    return _outcome(told, reference, TO_AUTHORIZATIONS)


def inquiry(told: Any, reference: str) -> Outcome:
    """Read the answer to an inquiry."""
    if told == {"reference": reference, "result": "no_record"}:
        return Outcome(Answer.NO_RECORD)
    return _outcome(told, reference, TO_INQUIRIES)


def operation(told: Any, reference: str) -> Outcome:
    """Read the answer to a capture or a void."""
    try:
        _require_about(told, reference)
        return Outcome(
            answer=TO_OPERATIONS[told["result"]],
            response_code=_text(told.get("response_code"), RESPONSE_CODE),
            captured=_amount(told.get("captured_amount")),
        )
    except UNREADABLE:
        return Outcome(Answer.UNKNOWN)


def challenge(told: Any, reference: str) -> Challenge | None:
    """Read the answer to a beginning of 3-D Secure; None for anything but a challenge."""
    try:
        _require_about(told, reference)
        if told["result"] != "challenge":
            return None
        urls.parse(told["acs_url"])
        transaction_id = _required(told["transaction_id"], REFERENCE)
        return Challenge(transaction_id, told["acs_url"], _required(told["version"], VERSION))
    except UNREADABLE:
        return None


def statement_line(told: dict[str, Any]) -> StatementLine:
    """Read one line of the bank's book."""
    is_held = told["state"] == "authorized"
    return StatementLine(
        reference=told["reference"],
        merchant_id=told["merchant"],
        authorized=told["amount"] if is_held else 0,
        captured=told["captured_amount"] if is_held else 0,
        moved=told["taken_amount"] - told["returned_amount"],
        currency=told["currency"],
    )


def _outcome(told: Any, reference: str, answers: Mapping[str, Answer]) -> Outcome:
    try:
        _require_about(told, reference)
        return Outcome(
            answer=answers[told["result"]],
            response_code=_text(told["response_code"], RESPONSE_CODE),
            authorization_code=_text(told["authorization_code"], AUTHORIZATION_CODE),
            network_reference=_text(told["network_reference"], REFERENCE),
            risk_level=_required(told["risk"]["level"], RISK_LEVEL),
            risk_score=_score(told["risk"]["score"]),
            captured=_amount(told.get("captured_amount")),
        )
    except UNREADABLE:
        return Outcome(Answer.UNKNOWN)


def _require_about(told: Any, reference: str) -> None:
    if told["reference"] != reference:
        raise _NotAbout


def _text(value: Any, form: re.Pattern[str]) -> str | None:
    return None if value is None else _required(value, form)


def _required(value: Any, form: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise ValueError
    return value


def _score(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 100:
        raise ValueError
    return value


def _amount(value: Any) -> int | None:
    if value is not None and (type(value) is not int or value < 0):
        raise ValueError
    return value
