"""Refunds that people make, in two pages: how much and why, then what it means."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import money
from ledger import balance
from ledger.models import Movement
from merchants.models import Member
from panel import once, permissions
from panel.merchants import acts, calls
from panel.merchants.pages import page
from panel.merchants.payment_changes import asked_about
from panel.merchants.payment_forms import RefundPaymentForm
from panel.merchants.payment_words import REFUND_REASONS
from panel.merchants.payments import address, find
from panel.merchants.two_pages import Agreement, Facts
from panel.permissions import Right
from payments.refunds import refunds
from payments.refunds.forms import CreateRefundForm
from payments.refunds.models import Refund
from payments.refunds.states import Method, RefundStatus

# The facts that a person agrees to. The balance is shown beside them, and may move meanwhile: only
# whether it covers the refund is one of them.
AGREED: dict[str, Any] = {
    "amount": _("Goes back to the card"),
    "left": _("Still refundable afterwards"),
    "is_void": _("The payment is undone (void)"),
    "waits": _("It waits for your balance"),
    "fee": _("Your fee that comes back"),
    "net": _("Your balance changes by"),
}


@page("POST")
def refund_payment(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Ask how much goes back to the card and why (`reason`), say what it means, and refund it."""
    row = find(member, payment)
    form = RefundPaymentForm(acts.sent(request), row, most=row.amount_refundable)
    agreement = Agreement(request, member, "panel/payments/refund_sure.html", AGREED)

    def change() -> None:
        draft = {"payment_intent": row.id}
        draft |= {name: value for name in DRAFTED if (value := form.cleaned_data[name])}
        asked = CreateRefundForm.read(draft)
        agree = agreement.require
        made = refunds.create(member.merchant, asked, lambda one: agree(_seen_by(member, one)))
        _tell(request, made)

    def shown(facts: Facts) -> dict[str, Any]:
        reason = form.cleaned_data["reason"]
        return {
            "payment": row,
            "out": -facts["amount"],
            "is_all": not facts["left"] and facts["amount"] == row.captured_minor,
            "payer": (row.billing_details or {}).get("name"),
            "reason": REFUND_REASONS.get(reason),
            "sees_fees": permissions.may(member, Right.SEE_BALANCE),
        }

    way_on = address(member, row.id)
    call = calls.curl("POST", "/v1/refunds", [("payment_intent", row.id)])
    return agreement.answer(
        form, lambda: once.run(request, member, change, done=way_on), shown
    ) or asked_about(request, member, "refund_payment", form, call=call)


DRAFTED = ("amount", "reason")


# Facts of the merchant's books, for the roles that may see its balance.
OF_THE_BOOKS = ("fee", "net", "available", "pending")


def _seen_by(member: Member, refund: Refund) -> Facts:
    """Return what a refund means, as far as a member may see it."""
    facts = _facts(refund)
    if permissions.may(member, Right.SEE_BALANCE):
        return facts
    return {name: value for name, value in facts.items() if name not in OF_THE_BOOKS}


def _facts(refund: Refund) -> Facts:
    """Return what a refund means that is written down, before its commit; in minor units."""
    moved = Movement.objects.filter(merchant=refund.merchant, cause_id=refund.id).first()
    funds = balance.funds(refund.merchant_id, refund.currency)
    return {
        "amount": refund.amount,
        "currency": refund.currency,
        "left": refund.intent.amount_refundable,
        "is_void": refund.method == Method.VOID,
        "waits": refund.is_waiting,
        "fee": -moved.fee if moved else 0,
        "surcharge": -moved.surcharge if moved else 0,
        "net": moved.net if moved else 0,
        "available": funds.available,
        "pending": funds.pending,
    }


def _tell(request: HttpRequest, refund: Refund) -> None:
    written = {"amount": money.written(refund.amount, refund.currency)}
    if refund.is_waiting:
        words = gettext("The refund of %(amount)s waits until your balance covers it.")
        messages.warning(request, words % written)
    elif refund.waits_for_the_day:
        words = gettext("The bank refunds %(amount)s only after the end of its day: it is sent "
                        "again then.")  # fmt: skip
        messages.info(request, words % written)
    elif refund.status == RefundStatus.FAILED:
        messages.error(request, gettext("The bank refused the refund of %(amount)s.") % written)
    elif refund.status == RefundStatus.PENDING:
        messages.info(request, gettext("The refund of %(amount)s is on its way.") % written)
    else:
        messages.success(request, gettext("%(amount)s was given back.") % written)
