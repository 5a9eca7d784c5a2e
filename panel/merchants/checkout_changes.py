"""Acts of people on payment pages: a payment is asked for by link, asked for again, and ended."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from merchants.models import Member
from panel import once
from panel.merchants import acts, calls, checkouts
from panel.merchants.checkout_forms import AskAgainForm, AskForm, EndForm
from panel.merchants.checkouts import PATH
from panel.merchants.pages import page
from panel.merchants.payment_acts import WORDS, open_page_of, why_not
from panel.merchants.payment_words import standing
from panel.merchants.payments import find
from panel.once import Made
from payments.checkout import creation, expiry
from payments.checkout.forms import CreateSessionForm


@page("POST")
def ask_for_payment(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for a payment's amount and for a page's terms, and make both."""
    form = AskForm(acts.sent(request), member.merchant)
    if answer := acts.done(request, form, _creation(request, member, form)):
        return answer
    fields = [("amount", "12500"), ("currency", member.merchant.default_currency)]
    call = calls.curl("POST", PATH, fields)
    return acts.ask(request, "panel/checkout/ask.html", form, call=call)


@page("POST")
def ask_again(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Ask for the terms of a page for a payment that waits for a card, and make the page."""
    row = find(member, payment)
    form = AskAgainForm(acts.sent(request), row)
    if answer := acts.done(request, form, _creation(request, member, form)):
        return answer
    if form.errors:
        row = find(member, row.id)
    open_page = open_page_of(row)
    return acts.ask(
        request, "panel/payments/ask_again.html", form,
        payment=row,
        standing=standing(row),
        word=WORDS["ask_again"],
        why_not=why_not("ask_again", row),
        open_page_url=checkouts.address(member, open_page.id) if open_page else "",
        call=calls.curl("POST", PATH, [("payment_intent", row.id)]),
    )  # fmt: skip


@page("POST")
def end_payment_page(request: HttpRequest, member: Member, session: str) -> HttpResponse:
    """Say what the end of a payment page does, and end it."""
    row = checkouts.find(member, session)
    form = EndForm(acts.sent(request))
    done = checkouts.address(member, row.id)

    def change() -> None:
        expiry.expire(member.merchant, row.id)
        messages.success(request, gettext("The payment page was ended."))

    if answer := acts.done(request, form, lambda: once.run(request, member, change, done=done)):
        return answer
    if form.errors:
        row = checkouts.find(member, row.id)
    shown = checkouts.head(row) | {"why_not": checkouts.why_not_end(row)}
    call = calls.curl("POST", f"{PATH}/{row.id}/expire")
    return acts.ask(request, "panel/checkout/end.html", form, call=call, **shown)


def _creation(
    request: HttpRequest, member: Member, form: AskForm | AskAgainForm
) -> Callable[[], HttpResponse]:
    def way_on(session_id: str) -> HttpResponse:
        return once.see_other(checkouts.address(member, session_id))

    def change() -> Made:
        made = creation.create(member.merchant, CreateSessionForm.read(form.draft))
        messages.success(request, gettext("The payment page is ready. Send its link to the payer."))
        return way_on(made.id), made.id

    return lambda: once.make(request, member, change, again=way_on)
