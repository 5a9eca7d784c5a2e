"""The payment's door to a new status, always together with its event."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from core import rows
from core.registry import Registry
from events.transitions import Door
from payments.intents import render
from payments.intents.models import PaymentIntent
from payments.intents.states import PAYMENTS, PaymentStatus


def _write(intent: PaymentIntent) -> None:
    if intent.status != PaymentStatus.REQUIRES_ACTION:
        intent.next_action = None
    rows.update(intent)


# Is called with a payment that has moved, as it was rendered before, and the request that moved it.
Follower = Callable[[PaymentIntent, dict[str, Any], str], None]
FOLLOWERS: Registry[Follower] = Registry("follower of payments")


def register(follower: Follower) -> None:
    """Let a room above follow payments that have a checkout session; called in `ready()`."""
    FOLLOWERS.add(f"{follower.__module__}.{follower.__qualname__}", follower)


def _follow(intent: PaymentIntent, before: dict[str, Any], request_id: str) -> None:
    for follower in FOLLOWERS.values():
        follower(intent, before, request_id)


DOOR = Door(
    PAYMENTS, render.payment_intent, write=_write, follow=_follow, followed="checkout_session"
)
move = DOOR.move
# For a session that ends and takes its payment along.
move_unfollowed = replace(DOOR, follow=None).move
