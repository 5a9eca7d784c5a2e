"""Labels of event types: the groups of the picker, and one sentence for each type."""

from collections.abc import Container
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from events.types import AGGREGATES

# By the name of the object that the events are about.
GROUPS: dict[str, str | Promise] = {
    "payment_intent": _("Payments"),
    "refund": _("Refunds"),
    "dispute": _("Disputes"),
    "payout": _("Payouts"),
    "topup": _("Top-ups"),
    "balance": _("Balance"),
    "merchant": _("Account"),
    "customer": _("Customers"),
    "checkout.session": _("Payment pages"),
}
SENTENCES: dict[str, str | Promise] = {
    "payment_intent.created": _("A payment was created."),
    "payment_intent.requires_action": _("The payer has to confirm the payment at their bank."),
    "payment_intent.processing": _("The bank has not answered yet; the result follows."),
    "payment_intent.amount_capturable_updated": _("An amount is authorised and can be captured."),
    "payment_intent.succeeded": _("The payment was charged."),
    "payment_intent.payment_failed": _("An attempt to pay failed; another card may be tried."),
    "payment_intent.canceled": _("The payment was called off."),
    "payment_intent.fraud_updated": _("The judgement about fraud changed."),
    "refund.created": _("A refund was asked for."),
    "refund.updated": _("A refund changed, for example because it waits for funds."),
    "refund.succeeded": _("The money went back to the card."),
    "refund.failed": _("The bank refused the refund, or it was canceled."),
    "dispute.created": _("A payer disputes a payment: evidence is due."),
    "dispute.updated": _("A dispute changed: its status, its evidence or its deadline."),
    "dispute.closed": _("A dispute was won, lost or accepted."),
    "payout.created": _("A payout to your bank account was made."),
    "payout.paid": _("The payout reached your bank account."),
    "payout.failed": _("Your bank sent the payout back."),
    "topup.succeeded": _("Money that you sent was added to your balance."),
    "topup.updated": _("A top-up changed."),
    "balance.available": _("Pending funds became available."),
    "balance.negative_limit_exceeded": _("The balance is further below zero than is allowed."),
    "merchant.updated": _("Your account's settings changed."),
    "customer.created": _("A customer was added."),
    "customer.updated": _("A customer's details changed."),
    "customer.deleted": _("A customer was deleted."),
    "checkout.session.completed": _("A payer paid on a payment page."),
    "checkout.session.expired": _("A payment page ended without a payment."),
}


class EventChoice(NamedTuple):
    """An event type of the picker.

    :param text: a sentence about it; nothing for a type that has none yet.
    """

    name: str
    text: str | Promise
    is_chosen: bool


def groups(chosen: Container[str]) -> list[tuple[str | Promise, list[EventChoice]]]:
    """Return all event types in groups, each group with its heading."""
    return [
        (
            GROUPS.get(one.name, one.name),
            [EventChoice(name, SENTENCES.get(name, ""), name in chosen) for name in one.types],
        )
        for one in AGGREGATES.values()
    ]


def choices() -> list[tuple[str, str | Promise]]:
    """Return the values of the list's filter `type`: families and single types."""
    found: list[tuple[str, str | Promise]] = [("", _("All types"))]
    for one in AGGREGATES.values():
        found += [(f"{one.name}.*", f"{one.name}.*"), *((name, name) for name in one.types)]
    return found
