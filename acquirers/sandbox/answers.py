"""Reading the test bank's answers: one that is not exactly of its form leaves the outcome unknown.

Their values are kept in columns, written into events and shown to merchants, so their form is
checked to the last character.
"""

import re
from collections.abc import Mapping
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
# To a void: the bank has closed its day.
SETTLED = "21"
TO_DISPUTES = {
    "on_record": Answer.APPROVED,
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
        answer = TO_OPERATIONS[told["result"]]
        code = text(told.get("response_code"), RESPONSE_CODE)
        is_settled = answer is Answer.DECLINED and code == SETTLED
        return Outcome(
            answer=Answer.SETTLED if is_settled else answer,
            response_code=code,
            captured=amount(told.get("captured_amount")),
        )
    except UNREADABLE:
        return Outcome(Answer.UNKNOWN)


def receipt(told: Any, dispute: str) -> Outcome:
    """Read the answer to evidence, or to the acceptance of a dispute."""
    try:
        if told["dispute"] != dispute:
            raise _NotAbout
        code = text(told["response_code"], RESPONSE_CODE)
        return Outcome(TO_DISPUTES[told["result"]], response_code=code)
    except UNREADABLE:
        return Outcome(Answer.UNKNOWN)


def redirect(told: Any, reference: str) -> Redirect | None:
    """Read the answer to a beginning of 3-D Secure; None for anything but a challenge."""
    try:
        require_about(told, reference)
        if told["result"] != "challenge":
            return None
        urls.parse(told["acs_url"])
        transaction_id = required(told["transaction_id"], REFERENCE)
        return Redirect(told["acs_url"], transaction_id, required(told["version"], VERSION))
    except UNREADABLE:
        return None


def statement_line(told: dict[str, Any], refunds: Mapping[str, int]) -> StatementLine:
    """Read one line of the bank's book; its refunds, by their references, come with it."""
    is_held = told["state"] == "authorized"
    charged_back = told["charged_back_amount"] - told["regained_amount"]
    taken = told["taken_amount"] - told["returned_amount"]
    return StatementLine(
        reference=told["reference"],
        merchant_id=told["merchant"],
        authorized=told["amount"] if is_held else 0,
        captured=told["captured_amount"] if is_held else 0,
        moved=taken - told["repaid_amount"] + told["bounced_amount"] - charged_back,
        refunds=refunds,
        charged_back=charged_back,
        currency=told["currency"],
        installments=told["installments"],
        is_pending=told["state"] == "pending",
    )


def facts_of(told: Any) -> dict[str, Any]:
    """Read all facts of an authorisation but its state.

    :raises UNREADABLE: a value has another form than the bank's.
    """
    return {
        "response_code": text(told["response_code"], RESPONSE_CODE),
        "authorization_code": text(told["authorization_code"], AUTHORIZATION_CODE),
        "network_reference": text(told["network_reference"], REFERENCE),
        "risk_level": required(told["risk"]["level"], RISK_LEVEL),
        "risk_score": _score(told["risk"]["score"]),
    }


def require_about(told: Any, reference: str) -> None:
    """:raises UNREADABLE: the answer is about another order."""
    if told["reference"] != reference:
        raise _NotAbout


def text(value: Any, form: re.Pattern[str]) -> str | None:
    """Read a text of a form, None if the bank leaves it out.

    :raises ValueError: it is none.
    """
    return None if value is None else required(value, form)


def required(value: Any, form: re.Pattern[str]) -> str:
    """Read a text of a form.

    :raises ValueError: it is none.
    """
    if not isinstance(value, str) or not form.fullmatch(value):
        raise ValueError
    return value


def _score(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 100:
        raise ValueError
    return value


def amount(value: Any) -> int | None:
    """Read an amount in minor units, None if the bank leaves it out.

    :raises ValueError: it is none.
    """
    if value is not None and (type(value) is not int or value < 0):
        raise ValueError
    return value
