"""Acts of people on a payment: capture, cancel, note. Each by a page of its own."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import money
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
)
from panel.merchants.payment_words import standing
from panel.merchants.payments import address, find
from panel.merchants.two_pages import Agreement
from payments.charging import cancellations, captures
from payments.intents import notes
from payments.intents.forms import CancelIntentForm, CaptureIntentForm
from payments.intents.models import Modification, PaymentIntent
from payments.intents.states import PaymentStatus

PATH = "/v1/payment_intents"
CAPTURED: dict[str, Any] = {"amount": _("Captured"), "released": _("Released to the cardholder")}


@page("POST")
def capture_payment(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Ask how much of an authorised payment is captured, and capture it.

    All of it is captured at once; for a part a second page says what is released.
    """
    row = find(member, payment)
    form = CaptureForm(acts.sent(request), row, most=row.amount_capturable)
    agreement = Agreement(request, member, "panel/payments/capture_sure.html", CAPTURED)

    def agree(capture: Modification) -> None:
        if (part := form.cleaned_data["amount"]) is not None:
            left = capture.attempt.intent.amount_capturable - part
            agreement.require({"amount": part, "currency": row.currency, "released": left})

    def change() -> None:
        part = form.cleaned_data["amount"]
        asked = CaptureIntentForm.read({} if part is None else {"amount_to_capture": part})
        ended = captures.capture(member.merchant, row.id, asked.get("amount_to_capture"), agree)
        amount = row.amount_capturable if part is None else part
        _tell(request, ended, gettext("%(amount)s was captured.") % _written(amount, row))

    way_on = address(member, row.id)
    return agreement.answer(
        form,
        lambda: once.run(request, member, change, done=way_on),
        lambda _facts: {"payment": row},
    ) or asked_about(
        request, member, "capture_payment", form,
        call=calls.curl("POST", f"{PATH}/{row.id}/capture"),
    )  # fmt: skip


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
    """Show an act's page, or act once and lead to the payment."""
    way_on = address(member, form.payment.id)
    if answer := acts.done(request, form, lambda: once.run(request, member, change, done=way_on)):
        return answer
    return asked_about(request, member, name, form, **shown)


def asked_about(
    request: HttpRequest, member: Member, name: str, form: ActForm, **shown: Any
) -> HttpResponse:
    """Show an act's page; a refusal shows the payment as it is now."""
    row = form.payment
    if form.errors:
        row = find(member, row.id)
    shown |= {
        "payment": row,
        "standing": standing(row),
        "word": WORDS[name],
        "why_not": why_not(name, row),
        "all_of_it": money.written(row.amount_capturable, row.currency),
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
