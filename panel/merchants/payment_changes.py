"""Acts of people on a payment: capture, cancel, refund, note. Each by a page of its own."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from core import money
from ledger.models import Movement
from merchants.models import Member
from panel import once
from panel.merchants import acts, calls
from panel.merchants.pages import page
from panel.merchants.payment_acts import WORDS, why_not
from panel.merchants.payment_forms import (
    ActForm,
    CancelForm,
    CaptureForm,
    NoteForm,
    RefundPaymentForm,
)
from panel.merchants.payment_words import standing
from panel.merchants.payments import address, find
from payments.charging import cancellations, captures
from payments.intents import notes
from payments.intents.forms import CancelIntentForm, CaptureIntentForm
from payments.intents.models import PaymentIntent
from payments.intents.states import PaymentStatus
from payments.refunds import refunds
from payments.refunds.forms import CreateRefundForm
from payments.refunds.models import Refund
from payments.refunds.states import Method, RefundStatus

PATH = "/v1/payment_intents"


@page("POST")
def capture_payment(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Ask how much of an authorised payment is captured (`amount`), and capture it."""
    row = find(member, payment)
    form = CaptureForm(acts.sent(request), row, most=row.amount_capturable)

    def change() -> None:
        asked = CaptureIntentForm.read({"amount_to_capture": form.cleaned_data["amount"]})
        amount = asked["amount_to_capture"]
        ended = captures.capture(member.merchant, row.id, amount)
        _tell(request, ended, gettext("%(amount)s was captured.") % _written(amount, row))

    shown = {"call": calls.curl("POST", f"{PATH}/{row.id}/capture")}
    return _answer(request, member, "capture_payment", form, change, **shown)


@page("POST")
def cancel_payment(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Ask why a payment is canceled (`cancellation_reason`), and cancel it."""
    row = find(member, payment)
    form = CancelForm(acts.sent(request), row)

    def change() -> None:
        reason = form.cleaned_data["cancellation_reason"] or None
        asked = CancelIntentForm.read({"cancellation_reason": reason})
        ended = cancellations.cancel(member.merchant, row.id, asked.get("cancellation_reason"))
        _tell(request, ended, gettext("The payment was canceled."))

    shown = {"call": calls.curl("POST", f"{PATH}/{row.id}/cancel")}
    return _answer(request, member, "cancel_payment", form, change, **shown)


@page("POST")
def refund_payment(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Ask how much goes back to the card (`amount`) and why (`reason`), and refund it."""
    row = find(member, payment)
    form = RefundPaymentForm(acts.sent(request), row, most=row.amount_refundable)

    def change() -> None:
        draft = {"payment_intent": row.id, "amount": form.cleaned_data["amount"]}
        if reason := form.cleaned_data["reason"]:
            draft["reason"] = reason
        _tell_refund(request, refunds.create(member.merchant, CreateRefundForm.read(draft)))

    fields = [("payment_intent", row.id)]
    shown = {"call": calls.curl("POST", "/v1/refunds", fields), "cost": _cost(member, row)}
    return _answer(request, member, "refund_payment", form, change, **shown)


@page("POST")
def note_payment(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Ask for a note, and keep it in the timeline."""
    row = find(member, payment)
    form = NoteForm(acts.sent(request), row)

    def change() -> None:
        notes.note(member.merchant, row.id, form.cleaned_data["note"])
        messages.success(request, gettext("The note was added."))

    return _answer(request, member, "note_payment", form, change)


def _answer(
    request: HttpRequest,
    member: Member,
    name: str,
    form: ActForm,
    change: Callable[[], None],
    **shown: Any,
) -> HttpResponse:
    """Show an act's page, or act once and lead to the payment.

    A refusal shows the payment as it is now.
    """
    row = form.payment
    way_on = address(member, row.id)
    if answer := acts.done(request, form, lambda: once.run(request, member, change, done=way_on)):
        return answer
    if form.errors:
        row = find(member, row.id)
    shown |= {
        "payment": row,
        "standing": standing(row),
        "word": WORDS[name],
        "why_not": why_not(name, row),
    }
    return acts.ask(request, f"panel/payments/{name}.html", form, **shown)


def _written(amount: int, row: PaymentIntent) -> dict[str, str]:
    return {"amount": money.written(amount, row.currency)}


def _tell(request: HttpRequest, ended: PaymentIntent, done: str) -> None:
    if ended.status == PaymentStatus.PROCESSING:
        messages.warning(request, gettext("The bank has not answered yet. The page will say."))
    elif ended.status == PaymentStatus.REQUIRES_PAYMENT_METHOD:
        messages.error(request, gettext("The bank refused, and has released the money."))
    else:
        messages.success(request, done)


def _tell_refund(request: HttpRequest, refund: Refund) -> None:
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


def _cost(member: Member, row: PaymentIntent) -> dict[str, Any] | None:
    """Return what a refund of all that is left costs; None if there is nothing to refund."""
    if why_not("refund_payment", row):
        return None
    rows = Movement.objects.filter(merchant=member.merchant, kind="charge")
    charge = rows.filter(cause_id__in=row.attempt_ids).order_by("-id").first()
    return {
        "is_void": refunds.method_now(row) == Method.VOID,
        "fee": charge.fee if charge else 0,
        "returns_fee": bool(charge and charge.returns_fee),
    }
