"""Answers of the NestPay API, before they are written and as XML."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from core import clock, local_days
from testbank import days
from testbank.nestpay import codes
from testbank.nestpay.terminals import NestpayTerminal

APPROVED, DECLINED, ERROR = "Approved", "Declined", "Error"


@dataclass(frozen=True, slots=True)
class Told:
    """An answer of the bank, in the protocol's own values.

    :param error: the element `ERRORCODE`.
    :param extra: further elements of `Extra`.
    :param is_silent: the answer is never sent.
    """

    response: str
    code: str
    error: str = ""
    message: str = ""
    auth_code: str = ""
    host_ref: str = ""
    trans_id: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
    is_silent: bool = False


def refusal(code: str, *, trans_id: str = "") -> Told:
    """Return the answer to a request that the bank refused before its host was asked."""
    message = codes.WORDS.get(code, codes.REFUSED)
    return Told(ERROR, "99", error=code, message=message, trans_id=trans_id)


def declined(code: str, *, host_ref: str, trans_id: str, is_silent: bool = False) -> Told:
    """Return the issuer's no, by its ISO 8583 code."""
    return Told(
        DECLINED, code, f"ISO8583-{code}", codes.REFUSED, "", host_ref, trans_id,
        is_silent=is_silent,
    )  # fmt: skip


def written(told: Told, order_id: str, terminal: NestpayTerminal) -> bytes:
    """Write an answer in the terminal's encoding."""
    facts = {
        "OrderId": order_id,
        "GroupId": order_id,
        "Response": told.response,
        "AuthCode": told.auth_code,
        "HostRefNum": told.host_ref,
        "ProcReturnCode": told.code,
        "TransId": told.trans_id,
        "ErrMsg": told.message,
    }
    extra = {"NUMCODE": _number(told), **told.extra}
    if told.response != ERROR:
        extra = {"SETTLEID": "", "TRXDATE": _date(), **extra}
    (facts if terminal.has_code_outside else extra)["ERRORCODE"] = told.error
    inside = "".join(map(_element, facts.items()))
    nested = "".join(map(_element, extra.items()))
    head = f'<?xml version="1.0" encoding="{terminal.encoding}"?>\n'
    text = f"{head}<CC5Response>{inside}<Extra>{nested}</Extra></CC5Response>\n"
    return text.encode(terminal.encoding)


def _element(fact: tuple[str, str]) -> str:
    name, value = fact
    return f"<{name}>{escape(value)}</{name}>"


def _number(told: Told) -> str:
    is_core = told.error.startswith("CORE-")
    return "99" + told.error.removeprefix("CORE-") if is_core else told.code


def _date() -> str:
    return f"{local_days.shown(clock.now(), days.ZONE):%Y%m%d %H:%M:%S}"
