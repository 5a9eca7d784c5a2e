"""Tickets: what a form of the page has shown, sealed in the one hidden field that comes back."""

import base64
import binascii
import json
import time
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from core import ids
from core.keyring import SealBroken, UnknownKey, ring
from payments.checkout.models import CheckoutSession
from vault import cvc as vault_cvc

NONCE_LENGTH = 22
# Of a nonce, the end of the names of the card's fields: no browser fills them in again.
SUFFIX_LENGTH = 8


class Step(StrEnum):
    """A form of the page: the card's, or the choice of installments."""

    CARD = "card"
    PLAN = "plan"


# In seconds of real time. With the second step goes a security code, which lives as long.
LIVES = {Step.CARD: 3600, Step.PLAN: vault_cvc.LIFE_SECONDS}


class TicketRefused(Exception):
    """The form came without a ticket of this session and step, or too late: it is shown again."""


@dataclass(frozen=True, slots=True)
class Held:
    """A card that was sealed for the payer's next press.

    :param shown: the card as it is frozen with its payment.
    """

    token: str
    shown: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ticket:
    """The terms that a form has shown to its payer, who is charged these or nothing.

    :param amount: in minor units, without surcharge.
    :param installments: the payment's own count as it was then.
    :param plans: counts of installments that were offered, each with its surcharge.
    :param billing: the details typed in the first step, for the second.
    :param is_doubted: the form before was sent by a program, as it seemed.
    """

    amount: int
    currency: str
    held: Held | None = None
    installments: int = 1
    plans: dict[str, int] = field(default_factory=dict)
    billing: dict[str, Any] = field(default_factory=dict, repr=False)
    is_doubted: bool = False
    nonce: str = field(default_factory=lambda: ids.random_base62(NONCE_LENGTH))
    made_at: int = field(default_factory=lambda: int(time.time()))

    @property
    def suffix(self) -> str:
        """Return the end of the names of the card's fields in this form alone."""
        return self.nonce[:SUFFIX_LENGTH]


def sealed(session: CheckoutSession, step: Step, ticket: Ticket) -> str:
    """Return the ticket for the hidden field of a session's form."""
    content = json.dumps(asdict(ticket)).encode()
    blob = ring().seal(content, context=_context(session, step))
    return base64.urlsafe_b64encode(blob).decode("ascii")


def opened(session: CheckoutSession, step: Step, text: str) -> Ticket:
    """Return the ticket that a form has brought.

    :raises TicketRefused: it is none, of another session or step, or too old.
    """
    try:
        blob = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
        content = json.loads(ring().open(blob, context=_context(session, step)))
    except (UnicodeEncodeError, binascii.Error, SealBroken, UnknownKey):
        raise TicketRefused from None
    held = content.pop("held")
    ticket = Ticket(held=Held(**held) if held else None, **content)
    if time.time() - ticket.made_at > LIVES[step]:
        raise TicketRefused
    return ticket


def _context(session: CheckoutSession, step: Step) -> str:
    return f"checkout.form|{session.merchant_id}|{session.id}|{step}"
