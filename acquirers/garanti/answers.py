"""Answers of the API: read to the last character, and believed if the bank has signed them.

One that contradicts itself, or is about another order, proves nothing.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree.ElementTree import Element

from acquirers import issuer_codes
from acquirers.calls import Course
from acquirers.garanti import codes, hashes
from acquirers.gateway import Order
from acquirers.issuer_codes import UNKNOWN, Meaning
from acquirers.outcomes import Answer, Exchange, Outcome
from acquirers.wire import Received, xml

DONE = "Approved"
PLACES = {
    "OrderID": ("Order",),
    **dict.fromkeys(
        ("Source", "Code", "ReasonCode", "Message", "ErrorMsg", "SysErrMsg"),
        ("Transaction", "Response"),
    ),
    **dict.fromkeys(("RetrefNum", "AuthCode", "ProvDate", "HashData"), ("Transaction",)),
}
FORMS = {
    "Code": re.compile(r"[0-9A-Z]{2}"),
    "ReasonCode": re.compile(r"[0-9A-Z]{0,4}"),
    "RetrefNum": re.compile(r"[0-9A-Za-z]{0,24}"),
    "AuthCode": re.compile(r"[0-9A-Za-z]{0,12}"),
}
SIGNED = ("Code", "RetrefNum", "AuthCode", "ProvDate", "OrderID")


class Reply(NamedTuple):
    """An answer, and the `security` of its request: a password may be changed meanwhile."""

    received: Received
    security: str


@dataclass(frozen=True, slots=True)
class Told:
    """The texts of an answer that the bank has signed, and the document that they are from."""

    root: Element
    texts: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    @property
    def is_approved(self) -> bool:
        """Return whether all that it says is a yes."""
        is_yes = (self["Code"], self["Message"]) == (issuer_codes.APPROVED, DONE)
        return is_yes and not self["ReasonCode"].strip("0")

    @property
    def refused_by_the_gateway(self) -> str | None:
        """Return the gateway's reason of a refusal; None if the answer is another one."""
        is_no = (self["Source"], self["Code"]) == (codes.GATEWAY, codes.INVALID)
        return self["ReasonCode"] if is_no and self["Message"] != DONE else None

    @property
    def is_refused_by_the_host(self) -> bool:
        """Return whether the issuer's host says no, and contradicts itself nowhere."""
        is_no = self["Source"] == codes.HOST and self["Message"] != DONE
        return is_no and self["ReasonCode"].lstrip("0") in ("", self["Code"].lstrip("0"))

    @property
    def may_be_the_wrong_way(self) -> bool:
        """Return whether it refuses a void or a refund, and the other of them may be taken."""
        is_dumb = self.is_refused_by_the_host and self["Code"] == codes.DO_NOT_HONOR
        return is_dumb or self.refused_by_the_gateway == codes.WRONG_WAY


@dataclass(frozen=True, slots=True)
class MaybeWrongWay(Outcome):
    """A refusal to void or to refund that says too little to choose the other way.

    Nothing was done. An answer that contradicts itself is none, whatever its code is.
    """


def outcome(reply: Reply, order: Order, course: Course) -> Outcome:
    """Read the answer to a request that changes something at the bank."""
    try:
        told = read(reply, order)
    except xml.Unreadable:
        return Outcome(Answer.UNKNOWN, exchange=course.ended())
    meaning = _meaning(told)
    is_hosts = told["Source"] == codes.HOST
    kind = MaybeWrongWay if told.may_be_the_wrong_way else Outcome
    return kind(
        answer=meaning.answer,
        response_code=told["Code"] if is_hosts else None,
        authorization_code=told["AuthCode"] or None,
        network_reference=told["RetrefNum"] or None,
        exchange=exchange(told, course, numbers={"host_ref": told["RetrefNum"]}),
        reason=meaning.reason,
    )


def read(reply: Reply, order: Order) -> Told:
    """Return an answer about the order that the bank has signed.

    :raises xml.Unreadable: it is no answer, a text has another form, it is about another order, or
        its hash is not the bank's.
    """
    root = xml.received(reply.received)
    if root.tag != "GVPSResponse":
        raise xml.Unreadable("It is no answer.")
    texts = {name: xml.text_at(root, *place, name) or "" for name, place in PLACES.items()}
    told = Told(root, texts)
    if not all(form.fullmatch(told[name]) for name, form in FORMS.items()):
        raise xml.Unreadable("A text has another form.")
    _require_ours(told, order, reply.security)
    return told


def exchange(told: Told, course: Course, *, numbers: dict[str, str | None]) -> Exchange:
    """Return the exchange that an answer ends, with the bank's code, text and numbers."""
    parts = [told["Code"]]
    if told["Source"] != codes.HOST and told["ReasonCode"]:
        parts.append(told["ReasonCode"])
    texts = dict.fromkeys(filter(None, (told["ErrorMsg"], told["SysErrMsg"])))
    return course.ended(code="/".join(parts), text=" · ".join(texts), numbers=numbers)


def _require_ours(told: Told, order: Order, security: str) -> None:
    """:raises xml.Unreadable: it is about another order, or its hash is not the bank's."""
    is_unsigned = told.refused_by_the_gateway in codes.UNSIGNED
    about = told["OrderID"]
    if about != order.reference and not (is_unsigned and about == ""):
        raise xml.Unreadable("It is about another order.")
    if is_unsigned and not (told["RetrefNum"] or told["AuthCode"]):
        return
    made = hashes.of(*(told[name] for name in SIGNED), security)
    if not hashes.is_same(made, told["HashData"]):
        raise xml.Unreadable("The hash is not the bank's.")


def _meaning(told: Told) -> Meaning:
    if told["Source"] == codes.GATEWAY:
        refused = told.refused_by_the_gateway
        return UNKNOWN if refused is None else codes.of_gateway(refused)
    if told["Source"] != codes.HOST:
        return UNKNOWN
    if told.is_approved:
        return Meaning(Answer.APPROVED)
    text = f"{told['SysErrMsg']} {told['ErrorMsg']}"
    return codes.of_host(told["Code"], text) if told.is_refused_by_the_host else UNKNOWN
