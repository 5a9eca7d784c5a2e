"""The things that may be done with a payment now, and why the others may not."""

from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import money
from merchants.models import Member
from panel import permissions
from payments.charging.cancellations import CANCELABLE
from payments.checkout.models import CheckoutSession
from payments.checkout.states import SessionStatus
from payments.intents.models import PaymentIntent
from payments.intents.states import PaymentStatus


class ActButton(NamedTuple):
    """A button of a payment's page.

    :param url: of the page that asks, and does it.
    """

    word: Any
    url: str
    is_first: bool = False


class RefusedAct(NamedTuple):
    """An act that is not possible, and why."""

    word: Any
    why: Any


# By the name of the page that does it, the word on its button.
WORDS: dict[str, Any] = {
    "capture_payment": _("Capture"),
    "refund_payment": _("Refund"),
    "ask_again": _("Ask again by link"),
    "cancel_payment": _("Cancel payment"),
    "note_payment": _("Add a note"),
    "block_payer": _("Block the payer"),
}


def acts(member: Member, payment: PaymentIntent) -> tuple[list[ActButton], list[RefusedAct]]:
    """Return what the member may do with a payment now, and what nobody may do with it now.

    An act that the member's role may not do is neither.
    """
    possible, refused = [], []
    for page, word in WORDS.items():
        if not permissions.may_open(member, page):
            continue
        if why := why_not(page, payment):
            refused.append(RefusedAct(word, why))
        else:
            url = reverse(f"panel:{page}", args=[member.merchant_id, payment.id])
            is_first = page in ("capture_payment", "refund_payment")
            possible.append(ActButton(_with_amount(page, payment) or word, url, is_first))
    return possible, refused


def _with_amount(page: str, payment: PaymentIntent) -> str:
    """Return the label of a button that carries its amount; nothing for another one."""
    if page != "capture_payment":
        return ""
    amount = money.written(payment.amount_capturable, payment.currency)
    return gettext("Capture %(amount)s") % {"amount": amount}


def why_not(page: str, payment: PaymentIntent) -> Any:
    """Return why an act is not possible with a payment as it is; nothing if it is.

    :param page: the name of the act's page.
    """
    check = _CHECKS.get(page)
    return check(payment) if check else ""


def open_page_of(payment: PaymentIntent) -> CheckoutSession | None:
    """Return the session of a payment on which it can be paid; None if there is none."""
    if payment.checkout_session is None:
        return None
    own = payment.checkout_sessions.filter(id=payment.checkout_session, status=SessionStatus.OPEN)
    found: CheckoutSession | None = own.first()
    return found


def _why_no_link(payment: PaymentIntent) -> Any:
    if payment.status != PaymentStatus.REQUIRES_PAYMENT_METHOD:
        return _("It does not wait for a card.")
    return _("It has a payment page that is open.") if open_page_of(payment) else ""


def _why_no_capture(payment: PaymentIntent) -> Any:
    if payment.status == PaymentStatus.REQUIRES_CAPTURE:
        return ""
    if payment.status == PaymentStatus.SUCCEEDED:
        return _("The money was taken already.")
    return _("Nothing is authorised that could be captured.")


def _why_no_cancel(payment: PaymentIntent) -> Any:
    if payment.status in CANCELABLE:
        return ""
    return {
        PaymentStatus.SUCCEEDED: _("The money was taken: refund it instead."),
        PaymentStatus.CANCELED: _("It is canceled already."),
        PaymentStatus.PROCESSING: _("The bank has not said yet how it ended."),
    }.get(PaymentStatus(payment.status), _("Its status does not allow it."))


def _why_no_refund(payment: PaymentIntent) -> Any:
    if payment.status != PaymentStatus.SUCCEEDED:
        return _("No money was taken.")
    if payment.captured_minor == payment.refunded_minor:
        return _("All of it has been refunded.")
    return "" if payment.amount_refundable else _("What is left of it is disputed at the bank.")


def _why_no_block(payment: PaymentIntent) -> Any:
    is_known = payment.attempt_ids or payment.billing_details.get("email")
    return "" if is_known else _("Neither card nor e-mail is known.")


_CHECKS = {
    "ask_again": _why_no_link,
    "block_payer": _why_no_block,
    "capture_payment": _why_no_capture,
    "cancel_payment": _why_no_cancel,
    "refund_payment": _why_no_refund,
}
