"""The line below a payment's status in lists: the reason, the end, or the amount, in short."""

from collections.abc import Sequence
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import local_days, money
from merchants.models import Member
from payments.customers.models import Customer
from payments.intents import deadlines
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import PaymentStatus

# By `decline_code`, else by `code`, of `last_payment_error`.
REASONS: dict[str, Any] = {
    "generic_decline": _("bank declined"),
    "do_not_honor": _("bank declined"),
    "insufficient_funds": _("no money or limit"),
    "transaction_not_allowed": _("bank does not allow it"),
    "service_not_allowed": _("bank does not allow it"),
    "card_not_supported": _("card not supported"),
    "restricted_card": _("card restricted"),
    "lost_card": _("card lost"),
    "stolen_card": _("card stolen"),
    "fraudulent": _("taken for fraud"),
    "fraud_blocked": _("blocked for its risk"),
    "incorrect_number": _("wrong number"),
    "incorrect_cvc": _("wrong CVC"),
    "expired_card": _("card expired"),
    "processing_error": _("error at the bank"),
    "authentication_required": _("3-D Secure is needed"),
    "authentication_failed": _("3-D Secure failed"),
    "authentication_abandoned": _("payer did not come back"),
}


# Statuses whose last attempt says until when the bank holds the money, or is asked again.
TIMED = {PaymentStatus.REQUIRES_CAPTURE, PaymentStatus.PROCESSING}


def add(member: Member, rows: Sequence[PaymentIntent]) -> None:
    """Give each row `under`, the line below its status, and `payer`, their e-mail or name."""
    timed = [row.attempt_ids[-1] for row in rows if row.status in TIMED and row.attempt_ids]
    attempts = Attempt.objects.for_merchant(member.merchant).filter(pk__in=timed) if timed else ()
    last = {one.intent_id: one for one in attempts}
    known = payers(member, rows)
    for row in rows:
        attempt = last.get(row.pk)
        row.under = _until(row, attempt, member.merchant.timezone) if attempt else under(row)  # type: ignore[attr-defined]
        payer = known[row.pk]
        row.payer = payer["email"] or payer["name"] or ""  # type: ignore[attr-defined]


def payers(member: Member, rows: Sequence[PaymentIntent]) -> dict[str, dict[str, str | None]]:
    """Return by a payment's id the payer's name and e-mail, in one statement for all of them.

    Those of the bill come first, and the customer's where it has none.
    """
    known = {row.customer_id for row in rows if row.customer_id}
    found = Customer.objects.for_merchant(member.merchant).filter(pk__in=known) if known else ()
    customers = {one.pk: {"name": one.name, "email": one.email} for one in found}
    return {row.pk: _payer(row, customers.get(row.customer_id, {})) for row in rows}


def _payer(row: PaymentIntent, customer: dict[str, str | None]) -> dict[str, str | None]:
    told = row.billing_details or {}
    return {name: told.get(name) or customer.get(name) for name in ("name", "email")}


def under(row: PaymentIntent) -> str:
    """Return the line below a payment's status; nothing where the status says all."""
    if row.disputed_minor:
        return gettext("%(amount)s disputed") % {"amount": _written(row, row.disputed_minor)}
    if row.refunded_minor and row.refunded_minor == row.captured_minor:
        return gettext("all given back")
    if row.refunded_minor:
        return gettext("%(amount)s given back") % {"amount": _written(row, row.refunded_minor)}
    is_failed = row.status == PaymentStatus.REQUIRES_PAYMENT_METHOD
    return _reason(row.last_payment_error) if is_failed and row.last_payment_error else ""


def _until(row: PaymentIntent, attempt: Attempt, zone: str) -> str:
    if row.status == PaymentStatus.REQUIRES_CAPTURE and attempt.asked_at:
        ends = local_days.shown(deadlines.expires_at(attempt), zone)
        return gettext("until %(day)s") % {"day": date_format(ends, "j M")}
    if row.status == PaymentStatus.PROCESSING and attempt.due_at:
        due = local_days.shown(attempt.due_at, zone)
        return gettext("asked again at %(time)s") % {"time": date_format(due, "H:i")}
    return ""


def _reason(error: dict[str, Any]) -> str:
    code, decline = error.get("code") or "", error.get("decline_code") or ""
    name = code if code == "fraud_blocked" or decline not in REASONS else decline
    return str(REASONS.get(name, REASONS["generic_decline"]))


def _written(row: PaymentIntent, amount: int) -> str:
    return money.written(amount, row.currency)
