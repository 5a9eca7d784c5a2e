"""Payments that wait for something, and every use case that may change one, to meet over it."""

from collections.abc import Callable
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from acquirers.outcomes import Answer, Outcome
from ledger import book
from payments.bank import authorization, modifications
from payments.intents.models import Attempt
from payments.refunds import asking, tasks
from tests.stage.client import REFUNDS, ApiClient
from tests.stage.factories import RETURN_URL, confirmation, payment, three_d_secure, unconfirmed
from tests.stage.sweeper import Died, dies, leases_run_out, sweep_after
from tests.stage.threeds import bring, challenged, decide

PATH = "/v1/payment_intents"
OTHER_CARD = "5555555555554444"
HOUR, WEEK = 3_700, 7 * 86_400 + 60
MANUAL = {"capture_method": "manual"}
SECURELY = {"return_url": RETURN_URL, **three_d_secure("required")}


class Payment(NamedTuple):
    """A payment, and what those who want something of it hold in their hands.

    :param fields: the bank's answer in the payer's browser, if the payer was there.
    :param dead: address and body of a request that died, to be sent again with its key.
    """

    id: str
    fields: dict[str, str] | None = None
    dead: tuple[str, dict[str, Any]] | None = None


Start = Callable[[ApiClient], Payment]
Door = Callable[[ApiClient, Payment], Any]
KEY = "the first request's"


def _away(shop: ApiClient) -> Payment:
    paid = challenged(shop)
    return Payment(paid["id"], decide(paid, "Approve").fields)


def _unknown(shop: ApiClient) -> Payment:
    """The bank charged and did not say so; an inquiry will tell."""
    return Payment(shop.pay("4000001100000017")["id"])


def _dead(
    shop: ApiClient, payment_id: str | None, path: str, body: dict[str, Any], where: tuple
) -> Payment:
    module, name, afterwards = where
    key = f"{KEY} {payment_id or Attempt.objects.count()}"
    with dies(module, name, afterwards=afterwards), pytest.raises(Died):
        shop.post(path, body, idempotency_key=key)
    leases_run_out()
    attempt = Attempt.objects.latest("created_at")
    return Payment(attempt.intent_id, dead=(path, {**body, "key": key}))


def _dead_authorization(shop: ApiClient, *, sent: bool) -> Payment:
    return _dead(shop, None, PATH, payment(), (authorization, "authorize", sent))


def _dead_modification(shop: ApiClient, action: str) -> Payment:
    payment_id = shop.pay(**MANUAL)["id"]
    path = f"{PATH}/{payment_id}/{action}"
    return _dead(shop, payment_id, path, {}, (modifications, "_order", True))


def _refunded(shop: ApiClient, amount: int, fault: str) -> Payment:
    """A charged payment, of which a refund did not leave, or was not answered."""
    payment_id = shop.pay()["id"]
    with patch.object(asking.KIND, "ask", lambda _row: Outcome(SAYS[fault])):
        shop.refund(payment_id, amount)
    return Payment(payment_id)


def _waiting(shop: ApiClient) -> Payment:
    """A charged payment, whose refund waits until the merchant has funds."""
    payment_id = shop.pay()["id"]
    with patch.object(book, "refund", side_effect=book.InsufficientFunds):
        shop.refund(payment_id, 5_000)
    return Payment(payment_id)


def _dead_refund(shop: ApiClient) -> Payment:
    payment_id = shop.pay()["id"]
    body = {"payment_intent": payment_id, "amount": 5_000}
    return _dead(shop, payment_id, REFUNDS, body, (asking.KIND, "ask", True))


SAYS = {"not sent": Answer.NOT_SENT, "unanswered": Answer.UNKNOWN}
STARTS: dict[str, Start] = {
    "no card": lambda shop: Payment(shop.post(PATH, {"amount": 12500, "currency": "try"})["id"]),
    "stored card": lambda shop: Payment(shop.post(PATH, unconfirmed())["id"]),
    "payer away": _away,
    "unknown": _unknown,
    "authorised": lambda shop: Payment(shop.pay(**MANUAL)["id"]),
    "dead before the bank": lambda shop: _dead_authorization(shop, sent=False),
    "dead after the bank": lambda shop: _dead_authorization(shop, sent=True),
    "dead capture": lambda shop: _dead_modification(shop, "capture"),
    "dead cancellation": lambda shop: _dead_modification(shop, "cancel"),
    "charged": lambda shop: Payment(shop.pay()["id"]),
    "refund not sent": lambda shop: _refunded(shop, 5_000, "not sent"),
    "void not sent": lambda shop: _refunded(shop, 12_500, "not sent"),
    "refund unanswered": lambda shop: _refunded(shop, 5_000, "unanswered"),
    "refund waits": _waiting,
    "dead refund": _dead_refund,
}


def _ask(action: str, body: dict[str, Any] | None = None) -> Door:
    def door(shop: ApiClient, payment: Payment) -> Any:
        return shop.twin().post(f"{PATH}/{payment.id}{action}", body)

    return door


def _come_back(shop: ApiClient, payment: Payment) -> Any:
    return bring(payment.fields) if payment.fields else None


def _send_again(shop: ApiClient, payment: Payment) -> Any:
    if payment.dead is None:
        return None
    path, body = payment.dead
    sent = {name: value for name, value in body.items() if name != "key"}
    return shop.twin().post(path, sent, idempotency_key=body["key"])


def _refund(amount: int | None) -> Door:
    return lambda shop, payment: shop.twin().refund(payment.id, amount)


def _cancel_a_refund(shop: ApiClient, payment: Payment) -> Any:
    [*made] = shop.twin().get(f"{REFUNDS}?payment_intent={payment.id}")["data"]
    return shop.twin().post(f"{REFUNDS}/{made[-1]['id']}/cancel") if made else None


def _sweep(seconds: int) -> Door:
    return lambda shop, payment: sweep_after(seconds)


# Every use case that may change a payment; most read it, or its attempt, before they lock it.
DOORS: dict[str, Door] = {
    "confirm": _ask("/confirm", {"return_url": RETURN_URL}),
    "confirm another card": _ask("/confirm", confirmation(OTHER_CARD)),
    "confirm securely": _ask("/confirm", confirmation(OTHER_CARD, **SECURELY)),
    "update": _ask("", {"description": "Tea"}),
    "update the amount": _ask("", {"amount": 9_900}),
    "capture": _ask("/capture"),
    "capture a part": _ask("/capture", {"amount_to_capture": 5_000}),
    "cancel": _ask("/cancel"),
    "come back": _come_back,
    "send again": _send_again,
    "refund": _refund(None),
    "refund a part": _refund(5_000),
    "cancel a refund": _cancel_a_refund,
    "look at what waits": lambda _shop, _payment: tasks.send_waiting(),
    "sweep": _sweep(15),
    "sweep after an hour": _sweep(HOUR),
    "sweep after a week": _sweep(WEEK),
}


def _too_late(door: Door) -> Door:
    """Come after the one who is overtaken has stood still for longer than its lease."""

    def late(shop: ApiClient, payment: Payment) -> Any:
        leases_run_out()
        return door(shop, payment)

    return late


# Those who may act once a lease has run out, or have it from then on.
LATE: dict[str, Door] = {
    f"{name}, late": _too_late(DOORS[name])
    for name in (
        "confirm securely", "capture", "cancel", "come back", "send again", "refund",
        "sweep", "sweep after an hour", "sweep after a week",
    )
}  # fmt: skip
# These leave their traces elsewhere too than in the payment's rows and at the bank: in the clock,
# in all leases, in the key of a request that died.
TRACED = {"sweep", "sweep after an hour", "sweep after a week", "send again", *LATE}
