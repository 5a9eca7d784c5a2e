"""Answers of the Garanti API, before they are written and as XML."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Union
from xml.sax.saxutils import escape

from core import clock, local_days
from testbank import days
from testbank.garanti import codes, hashes

# Sources of an answer; the last one stands between the gateway and its host.
GATEWAY, HOST, SWITCH = "GVPS", "HOST", "SWITCH"
OF_THE_GATEWAY = "92"
MESSAGES = {GATEWAY: "Declined", HOST: "Declined", SWITCH: "Pending"}

Tree = Iterable[tuple[str, Union[str, "Tree"]]]


@dataclass(frozen=True, slots=True)
class Told:
    """An answer of the bank, in the protocol's own values.

    :param message: Approved for a yes, Declined for a no; it never decides.
    :param result: of an inquiry, which stands in `Order`.
    :param is_silent: the answer is never sent.
    """

    source: str
    code: str
    reason: str = ""
    message: str = ""
    error: str = ""
    system_error: str = ""
    host_ref: str = ""
    auth_code: str = ""
    masked: str = ""
    result: Tree = ()
    is_silent: bool = False


def refusal(reason: str, result: Tree = ()) -> Told:
    """Return the answer to a request that the gateway refused before its host was asked."""
    words = codes.WORDS.get(reason, codes.REFUSED)
    return Told(GATEWAY, OF_THE_GATEWAY, reason, error=words, result=result)


def in_doubt(code: str, *, host_ref: str = "", is_silent: bool = False) -> Told:
    """Return the answer of a bank that does not know how it ended, or ends."""
    return Told(SWITCH, code, code, error=codes.REFUSED, host_ref=host_ref, is_silent=is_silent)


def of_host(
    code: str, *, host_ref: str, auth_code: str = "", masked: str = "", is_silent: bool = False
) -> Told:
    """Return the host's answer by the book's code: a yes, or the issuer's no."""
    written_as = codes.WRITTEN_AS.get(code, code)
    is_approved = code == codes.APPROVED
    return Told(
        HOST, written_as, written_as,
        error="" if is_approved else codes.REFUSED,
        system_error=codes.SYSTEM_WORDS.get(code, ""),
        host_ref=host_ref, auth_code=auth_code if is_approved else "", masked=masked,
        is_silent=is_silent,
    )  # fmt: skip


def written(told: Told, order_id: str, security: str, *, key: str = "") -> bytes:
    """Write an answer, signed over its own values.

    :param security: of the password that the request was made with; empty leaves it unsigned.
    :param key: signs it in the place of that, wrongly.
    """
    date = moment(clock.now())
    values = (told.code, told.host_ref, told.auth_code, date, order_id, key or security)
    transaction: Tree = [
        ("Response", _response(told)),
        ("RetrefNum", told.host_ref),
        ("AuthCode", told.auth_code),
        ("BatchNum", f"{local_days.shown(clock.now(), days.ZONE):%j}".zfill(6)),
        ("SequenceNum", told.host_ref[-6:]),
        ("ProvDate", date),
        ("CardNumberMasked", told.masked),
        ("CardHolderName", ""),
        ("CardType", ""),
        ("HashData", hashes.hashed(*values) if security else ""),
    ]
    order: Tree = [("OrderID", order_id), ("GroupID", ""), *told.result]
    inside = _xml([("Order", order), ("Transaction", transaction)])
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f"{head}<GVPSResponse>{inside}</GVPSResponse>\n".encode()


def moment(at: datetime) -> str:
    """Return such as `20240310 14:05:08`, on Istanbul's clock."""
    return f"{local_days.shown(at, days.ZONE):%Y%m%d %H:%M:%S}"


def _response(told: Told) -> Tree:
    usual = "Approved" if told.code == codes.APPROVED else MESSAGES[told.source]
    return [
        ("Source", told.source),
        ("Code", told.code),
        ("ReasonCode", told.reason),
        ("Message", told.message or usual),
        ("ErrorMsg", told.error),
        ("SysErrMsg", told.system_error),
    ]


def _xml(tree: Tree) -> str:
    return "".join(
        f"<{name}>{escape(inside) if isinstance(inside, str) else _xml(inside)}</{name}>"
        for name, inside in tree
    )
