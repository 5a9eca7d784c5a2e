"""Reading the test bank's answers: one that is not exactly of its form leaves the outcome unknown.

Their values are kept in columns, written into events and shown to merchants, so their form is
checked to the last character.
"""

import re
from typing import Any

from acquirers.gateway import StatementLine
from acquirers.outcomes import Answer, Outcome
from acquirers.three_d_secure import Redirect
from core import urls

TO_AUTHORIZATIONS = {
    "approved": Answer.APPROVED,
    "declined": Answer.DECLINED,
    "authentication_required": Answer.AUTHENTICATION_REQUIRED,
    "pending": Answer.PENDING,
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
    try:
        require_about(told, reference)
        answer = TO_AUTHORIZATIONS[told["result"]]
        captured = amount(told.get("captured_amount"))
        return Outcome(answer=answer, captured=captured, **facts_of(told))
    except UNREADABLE:
        return Outcome(Answer.UNKNOWN)


def operation(told: Any, reference: str) -> Outcome:
    """Read the answer to a capture or a void."""
    try:
        require_about(told, reference)
        return Outcome(
            answer=TO_OPERATIONS[told["result"]],
            response_code=_text(told.get("response_code"), RESPONSE_CODE),
            captured=amount(told.get("captured_amount")),
        )
    except UNREADABLE:
        return Outcome(Answer.UNKNOWN)


def redirect(told: Any, reference: str) -> Redirect | None:
    """Read the answer to a beginning of 3-D Secure; None for anything but a challenge."""
    try:
        require_about(told, reference)
        if told["result"] != "challenge":
            return None
        urls.parse(told["acs_url"])
        transaction_id = _required(told["transaction_id"], REFERENCE)
        return Redirect(told["acs_url"], transaction_id, _required(told["version"], VERSION))
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


def facts_of(told: Any) -> dict[str, Any]:
    """Read everything that the bank tells of an authorisation, apart from its state.

    :raises UNREADABLE: a value has another form than the bank's.
    """
    return {
        "response_code": _text(told["response_code"], RESPONSE_CODE),
        "authorization_code": _text(told["authorization_code"], AUTHORIZATION_CODE),
        "network_reference": _text(told["network_reference"], REFERENCE),
        "risk_level": _required(told["risk"]["level"], RISK_LEVEL),
        "risk_score": _score(told["risk"]["score"]),
    }


def require_about(told: Any, reference: str) -> None:
    """:raises UNREADABLE: the answer is about another order."""
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


def amount(value: Any) -> int | None:
    """Read an amount in minor units, None if the bank does not tell it.

    :raises ValueError: it is none.
    """
    if value is not None and (type(value) is not int or value < 0):
        raise ValueError
    return value
