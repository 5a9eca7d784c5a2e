"""Gates of 3-D Secure: a payer's browser comes in by a form, and goes back by a signed one."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from core import cards, clock, ids, urls
from core.detection import contains_card_number, contains_encoded_card_number
from testbank import behaviours, misbehaviours
from testbank.models import Authentication, GateVisit
from testbank.protocols import forms, proofs
from testbank.protocols.lines import Payment
from testbank.router import BANK
from testbank.states import AuthenticationState

FIELDS_MAX = 64
URL_MAX = 2000
# A value that the return repeats, and no page breaks at.
PRINTABLE = re.compile(r"[^\x00-\x1f\x7f]*")
UTF_8 = "UTF-8"
FULL, ATTEMPTED, FAILED, UNKNOWN_CARD, THREE_D_ERROR = "1", "4", "0", "8", "6"


class NoWayBack(Exception):
    """The form does not even say where the browser could be sent."""


class Returned(Exception):
    """The gate sends the browser back before it asks the cardholder.

    :ivar url: the shop's address for it.
    :ivar fields: the refusal; nothing signs them.
    """

    def __init__(self, url: str, fields: Mapping[str, str]) -> None:
        super().__init__("the form is refused")
        self.url = url
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Posting:
    """A form that the payer's browser posts; without one the bank never sends the browser back."""

    url: str
    fields: Mapping[str, str]
    encoding: str = UTF_8


@dataclass(frozen=True, slots=True)
class Gate:
    """One protocol's gate.

    :param posting: what the browser of a visit carries to the shop; None: it waits.
    :param request: the name by which the misbehaviour of its returns is planned.
    """

    visits: type[GateVisit]
    posting: Callable[[Any], Posting | None]
    request: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A form of a shop whose fields are in form.

    :param echoed: the fields that the return repeats; neither number nor security code.
    """

    payment: Payment
    shop_name: str
    number: str = field(repr=False)
    model: str
    urls: tuple[str, str]
    payer_ip: str
    masked: str
    echoed: Mapping[str, str]


def sent(body: bytes) -> dict[str, bytes]:
    """Return the fields of a form, in UTF-8.

    :raises NoWayBack: it cannot be read.
    """
    try:
        pairs = forms.pairs(body, at_most=FIELDS_MAX)
        for _name, value in pairs:
            value.decode()
    except ValueError:
        raise NoWayBack from None
    # Names that differ in case alone would be hashed in an order that nobody knows.
    if len({name.lower() for name, _value in pairs}) < len(pairs):
        raise NoWayBack
    return dict(pairs)


def is_address(text: str | None) -> bool:
    """Return whether a text is an address that a browser can be sent to."""
    try:
        urls.parse(text or "")
    except urls.BadUrl:
        return False
    return len(text or "") <= URL_MAX and not contains_encoded_card_number(text or "")


def has_card_number(fields: Mapping[str, str], besides: set[str]) -> bool:
    """Return whether a card number stands in another field than in those."""
    return any(contains_card_number(fields[name]) for name in fields.keys() - besides)


@transaction.atomic(using=BANK, durable=True)
def begin(table: type[GateVisit], entry: Entry) -> Authentication:
    """Begin an authentication, and note the visit that it is of."""
    payment, number = entry.payment, entry.number
    behaviour = behaviours.of(number)
    can_start = behaviour.can_authenticate
    ok_url, fail_url = entry.urls
    authentication = Authentication.objects.create(
        # The order id is no name of it: a browser may post the same form again.
        reference=ids.new("gate"),
        transaction_id=ids.new("3ds"),
        merchant=payment.client_id,
        merchant_name=entry.shop_name,
        amount=payment.amount,
        currency=payment.currency,
        installments=payment.installments,
        brand=cards.brand_of(number) or "",
        last4=number[-4:],
        behaviour=behaviour.name,
        callback_url=ok_url,
        state=AuthenticationState.CHALLENGED if can_start else AuthenticationState.CANNOT_START,
        created_at=clock.now(),
    )
    table._default_manager.create(
        authentication=authentication,
        client_id=payment.client_id,
        order_id=payment.order_id,
        model=entry.model,
        capture=payment.capture,
        fail_url=fail_url,
        payer_ip=entry.payer_ip,
        masked=entry.masked,
        echoed=dict(entry.echoed),
    )
    return authentication


def visit_of(gate: Gate, authentication: Authentication) -> GateVisit | None:
    """Return the visit at a gate that an authentication is of; None for those of other doors."""
    return gate.visits._default_manager.filter(authentication=authentication).first()


def misbehave(gate: Gate, visit: GateVisit) -> None:
    """Let something be wrong with the return of a payer who has just decided, if it was planned."""
    visit.wrong = misbehaviours.take(gate.request)
    if visit.wrong:
        visit.save()


def md_status(visit: GateVisit) -> str:
    """Return how the authentication of a visit ended, as both protocols number it."""
    own = visit.authentication
    if own.state == AuthenticationState.CANNOT_START:
        is_unknown = own.behaviour == behaviours.UNLISTED.name
        return UNKNOWN_CARD if is_unknown else THREE_D_ERROR
    if not proofs.is_proven(own):
        return FAILED
    return ATTEMPTED if visit.wrong == proofs.ATTEMPTED else FULL


def way_back(visit: GateVisit, status: str) -> str:
    """Return the address that a payer comes back to."""
    has_failed = status in (FAILED, UNKNOWN_CARD, THREE_D_ERROR)
    return visit.fail_url if has_failed else visit.authentication.callback_url


def payment_of(visit: GateVisit) -> Payment:
    """Return the payment that a visit is about."""
    own = visit.authentication
    return Payment(
        client_id=visit.client_id,
        order_id=visit.order_id,
        amount=own.amount,
        currency=own.currency,
        installments=own.installments,
        capture=visit.capture,
    )
