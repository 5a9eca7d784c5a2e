"""Payouts and top-ups: listed, shown, asked for by a form, and canceled."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils import formats
from django.utils.translation import gettext_lazy as _

from core import local_days, money
from ledger import balance, paid_out
from ledger.models import Run
from merchants.models import Member, Merchant
from panel import once, permissions
from panel.merchants import acts, balance_words, booked, calls, details, links, list_pages, listing
from panel.merchants.balance_forms import (
    AmountForm,
    CreatePayoutForm,
    CreateTopupForm,
    MoneyActForm,
)
from panel.merchants.list_pages import ListPage
from panel.merchants.money_filters import PayoutForm, TopupForm
from panel.merchants.pages import page
from panel.merchants.two_pages import Agreement, Facts
from panel.once import Made
from panel.patience import TookTooLong, limited
from panel.permissions import Right
from payouts import cancellations, creation, destinations, render
from payouts import forms as api_forms
from payouts.models import Payout
from payouts.states import PayoutStatus
from payouts.topups import cancellations as topup_cancellations
from payouts.topups import creation as topup_creation
from payouts.topups import forms as topup_forms
from payouts.topups import render as topup_render
from payouts.topups.models import Topup
from payouts.topups.states import Initiator, TopupStatus


class Noun(NamedTuple):
    """The differences between payouts and top-ups.

    :param name: of its page and templates, and of the row in them.
    :param too_late: by status, why it cannot be canceled.
    :param example: an amount for the call on the page that creates one.
    """

    name: str
    path: str
    rows: Any
    render: Callable[[Any], dict[str, Any]]
    create: Callable[[Any, dict[str, Any]], Any]
    read: Callable[[dict[str, Any]], dict[str, Any]]
    cancel: Callable[[Any, str], object]
    standings: Mapping[str, Any]
    failures: Mapping[str, Any]
    too_late: Mapping[str, Any]
    made: Any
    canceled: Any
    example: str


PAYOUT = Noun(
    name="payout",
    path="/v1/payouts",
    rows=Payout.objects,
    render=render.payout,
    create=creation.create,
    read=api_forms.CreatePayoutForm.read,
    cancel=cancellations.cancel,
    standings=balance_words.PAYOUTS,
    failures=balance_words.FAILURES,
    too_late={
        PayoutStatus.IN_TRANSIT.value: _("It has left for the bank."),
        PayoutStatus.PAID.value: _("The money has arrived."),
        PayoutStatus.FAILED.value: _("It has failed already: the money is available again."),
        PayoutStatus.CANCELED.value: _("It is canceled already."),
    },
    made=_("The payout of %(amount)s was made."),
    canceled=_("The payout was canceled. Its money is available again."),
    example="5000",
)
TOPUP = Noun(
    name="topup",
    path="/v1/topups",
    rows=Topup.objects,
    render=topup_render.topup,
    create=topup_creation.create,
    read=topup_forms.CreateTopupForm.read,
    cancel=topup_cancellations.cancel,
    standings=balance_words.TOPUPS,
    failures=balance_words.TOPUP_FAILURES,
    too_late={
        TopupStatus.SUCCEEDED.value: _("The transfer has come."),
        TopupStatus.FAILED.value: _("It has failed already."),
        TopupStatus.CANCELED.value: _("It is canceled already."),
        TopupStatus.REVERSED.value: _("The bank has taken the transfer back."),
    },
    made=_("The top-up of %(amount)s was made. Now make the transfer."),
    canceled=_("The top-up was canceled."),
    example="50000",
)
# The facts of a payout that a person agrees to; the balance afterwards is shown, and may move.
AGREED: dict[str, Any] = {
    "amount": _("Amount"),
    "currency": _("Currency"),
    "account": _("Account"),
    "holder": _("Holder"),
    "arrives": _("Arrives"),
}
TEXTS = ("statement_descriptor", "description")
PAYOUTS = ListPage(
    "payouts", PayoutForm, "panel/balance/payouts.html", PAYOUT.path, is_counted=True,
    statuses=PayoutStatus.values,
)  # fmt: skip
TOPUPS = ListPage(
    "topups", TopupForm, "panel/balance/topups.html", TOPUP.path, is_counted=True,
    statuses=TopupStatus.values,
)  # fmt: skip


@page()
def payouts(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's payouts."""
    rows, may = PAYOUT.rows.for_merchant(member.merchant), permissions.may(member, Right.PAY_OUT)
    return list_pages.answer(request, member, PAYOUTS, rows, may_pay_out=may)


@page()
def topups(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's top-ups."""
    rows, may = TOPUP.rows.for_merchant(member.merchant), permissions.may(member, Right.PAY_OUT)
    return list_pages.answer(request, member, TOPUPS, rows, may_pay_out=may)


@page()
def payout(request: HttpRequest, member: Member, payout: str) -> HttpResponse:
    """Show a payout."""
    row: Payout = listing.find(PAYOUT.rows.for_merchant(member.merchant), payout)
    facts: dict[str, Any] = {"run": _run_before(row), "made_of": _made_of(row)}
    facts["account"] = destinations.masked(row.iban)
    return _shown(request, member, PAYOUT, row, **facts)


@page()
def topup(request: HttpRequest, member: Member, topup: str) -> HttpResponse:
    """Show a top-up, and how its transfer is made while it is waited for."""
    row: Topup = listing.find(TOPUP.rows.for_merchant(member.merchant), topup)
    return _shown(request, member, TOPUP, row, by_us=row.initiated_by == Initiator.OPERATOR)


@page("POST")
def create_payout(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for a payout's values, and make it."""
    form = CreatePayoutForm(acts.sent(request), member.merchant)
    agreement = Agreement(request, member, "panel/balance/payout_sure.html", AGREED)

    def create(merchant: Merchant, draft: dict[str, Any]) -> Payout:
        return creation.create(merchant, draft, lambda made: agreement.require(_facts(made)))

    def shown(_facts: Facts) -> dict[str, Any]:
        return {"texts": [(form[name].label, form.cleaned_data[name]) for name in TEXTS]}

    available = balance.shown(member.merchant)["available"]
    return agreement.answer(
        form, _making(request, member, PAYOUT._replace(create=create), form), shown
    ) or _asked_to_create(request, member, PAYOUT, form, available=available)


@page("POST")
def create_topup(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for a top-up's values, and make it."""
    form = CreateTopupForm(acts.sent(request), member.merchant)
    return acts.done(request, form, _making(request, member, TOPUP, form)) or _asked_to_create(
        request, member, TOPUP, form
    )


@page("POST")
def cancel_payout(request: HttpRequest, member: Member, payout: str) -> HttpResponse:
    """Say what canceling a payout does, and do it."""
    return _cancel(request, member, PAYOUT, payout)


@page("POST")
def cancel_topup(request: HttpRequest, member: Member, topup: str) -> HttpResponse:
    """Say what canceling a top-up does, and do it."""
    return _cancel(request, member, TOPUP, topup)


# --- The pages of both --------------------------------------------------------------------------


def _shown(
    request: HttpRequest, member: Member, noun: Noun, row: Any, **facts: Any
) -> HttpResponse:
    may, why_not = permissions.may(member, Right.PAY_OUT), _why_not(noun, row)
    return details.answer(
        request, f"panel/balance/{noun.name}.html", row, noun.path,
        **_head(noun, row),
        **booked.parts(member, row.id),
        may_cancel=may and not why_not,
        why_not=why_not if may else "",
        json=noun.render(row),
        **facts,
    )  # fmt: skip


def _making(
    request: HttpRequest, member: Member, noun: Noun, form: AmountForm
) -> Callable[[], HttpResponse]:
    """Return what makes a payout or top-up of a valid form, once, and leads to its page."""

    def way_on(made_id: str) -> HttpResponse:
        return once.see_other(links.to(member, made_id))

    def change() -> Made:
        made = noun.create(member.merchant, noun.read(form.draft))
        amount = money.written(made.amount, made.currency)
        messages.success(request, str(noun.made) % {"amount": amount})
        return way_on(made.id), made.id

    return lambda: once.make(request, member, change, again=way_on)


def _asked_to_create(
    request: HttpRequest, member: Member, noun: Noun, form: AmountForm, **facts: Any
) -> HttpResponse:
    fields = [("amount", noun.example), ("currency", member.merchant.default_currency)]
    facts["call"] = calls.curl("POST", noun.path, fields)
    return acts.ask(request, f"panel/balance/create_{noun.name}.html", form, **facts)


def _facts(made: Payout) -> Facts:
    """Return what a payout means that is written down, before its commit; in minor units."""
    merchant = made.merchant
    day = local_days.shown(made.arrival_at, merchant.timezone)
    return {
        "amount": made.amount,
        "currency": made.currency,
        "account": " · ".join(filter(None, (made.destination, destinations.masked(made.iban)))),
        "holder": made.holder_name,
        "arrives": formats.date_format(day, "j M Y"),
        "available": balance.funds(merchant.id, made.currency).available,
    }


def _cancel(request: HttpRequest, member: Member, noun: Noun, row_id: str) -> HttpResponse:
    row = listing.find(noun.rows.for_merchant(member.merchant), row_id)
    form = MoneyActForm(acts.sent(request))
    done = links.to(member, row.id)

    def change() -> None:
        noun.cancel(member.merchant, row.id)
        messages.success(request, str(noun.canceled))

    if answer := acts.done(request, form, lambda: once.run(request, member, change, done=done)):
        return answer
    if form.errors:
        row = listing.find(noun.rows.for_merchant(member.merchant), row_id)
    facts = {
        **_head(noun, row),
        "why_not": _why_not(noun, row),
        "call": calls.curl("POST", f"{noun.path}/{row.id}/cancel"),
    }
    return acts.ask(request, f"panel/balance/cancel_{noun.name}.html", form, **facts)


def _head(noun: Noun, row: Any) -> dict[str, Any]:
    return {
        noun.name: row,
        "standing": noun.standings.get(row.status, ""),
        "failure": noun.failures.get(row.failure_code or "", ""),
    }


def _why_not(noun: Noun, row: Any) -> Any:
    # Of both the same status.
    return "" if row.status == PayoutStatus.PENDING else noun.too_late.get(row.status, "–")


def _made_of(row: Payout) -> dict[str, Any] | None:
    """Return what a payout by schedule was made of; None if it was asked for, or it takes long."""
    if not row.automatic:
        return None
    earlier = Payout.objects.for_merchant(row.merchant).filter(
        currency=row.currency, automatic=True, created_at__lt=row.created_at
    )
    last = earlier.order_by("-created_at", "-id").values_list("id", flat=True).first()
    try:
        with limited():
            made = paid_out.made_of(row.merchant_id, row.currency, row.id, last)
    except TookTooLong:
        return None
    words = [(balance_words.CHANGES.get(kind, kind), net) for kind, net in made.changes.items()]
    return {"made": made, "changes": words, "stayed": -made.stayed, "last": last}


def _run_before(row: Payout) -> Run | None:
    """Return the settlement that a payout by schedule follows; None if it was asked for."""
    if row.scheduled_on is None:
        return None
    runs = Run.objects.for_merchant(row.merchant).filter(
        currency=row.currency, date__lte=row.scheduled_on
    )
    found: Run | None = runs.order_by("-date").first()
    return found
