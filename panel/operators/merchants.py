"""Merchants: listed, shown, opened, and changed by `accounts.change` alone."""

from typing import Any

from django.contrib import messages
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Q, Value
from django.http import HttpRequest, HttpResponse
from django.urls import path

from core import ids, money
from core.errors import ResourceMissing
from core.folding import Folded, trimmed
from core.names import email_key
from ledger import prices
from merchants import installment_plans, payout_accounts, payout_schedules, risk_rules
from merchants.accounts import Application
from merchants.models import ApiKey, Merchant
from merchants.refusals import ChangeRefused
from panel import house_mails as mails
from panel.operators import desk, listing, merchant_changes, merchant_look, opening, work
from panel.operators.desk import Section, Trail
from panel.operators.forms import ReasonForm
from panel.operators.merchant_changes import ChangedMeanwhile
from panel.operators.merchant_forms import FORMS, AddressForm, OpenForm
from panel.operators.terms_forms import TermsForm
from webhooks import destinations
from webhooks.models import Endpoint

VIEW, TERMS = "merchants.view_merchant", "merchants.change_merchant_terms"
SIGNER = signing.Signer(salt="panel.operators.merchants.open")
KEYS_SHOWN = 200
WORK_SHOWN = 10


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show all merchants, the newest first, or those that a text or a status finds."""
    text, status = trimmed(request.GET.get("q", "")), request.GET.get("status", "")
    rows = Merchant.objects.all()
    if text:
        rows = rows.alias(folded=Folded("name")).filter(
            Q(folded__contains=Folded(Value(text)))
            | Q(id=text)
            | Q(email__iexact=text)
            | Q(email__iexact=email_key(text))
        )
    if status in Merchant.Status.values:
        rows = rows.filter(status=status)
    shown: dict[str, Any] = {"found": listing.page(request, rows), "text": text, "chosen": status}
    statuses = Merchant.Status.choices
    return desk.show(request, "desk/merchants/list.html", "Merchants", statuses=statuses, **shown)


@desk.page(VIEW)
def shown(request: HttpRequest, merchant_id: str) -> HttpResponse:
    """Show a merchant at one look: money, open work, access and the last changes."""
    merchant = find(merchant_id)
    work_of = {"merchant": merchant.id}
    return _page(
        request, merchant, "merchant",
        look=merchant_look.of(merchant),
        rows=work.open_work(request, work_of, most=WORK_SHOWN),
    )  # fmt: skip


@desk.page(VIEW)
def terms(request: HttpRequest, merchant_id: str) -> HttpResponse:
    """Show a merchant's terms and addresses."""
    merchant = find(merchant_id)
    return _page(
        request, merchant, "terms",
        limits=_limits(merchant),
        plans=installment_plans.shown(merchant),
        rules=risk_rules.shown(merchant),
        prices=prices.shown(merchant),
        schedule=payout_schedules.of(merchant),
        accounts=payout_accounts.shown(merchant),
        websites=merchant.websites.order_by("id"),
        callbacks=merchant.callback_urls.order_by("id"),
    )  # fmt: skip


@desk.page(VIEW)
def access(request: HttpRequest, merchant_id: str) -> HttpResponse:
    """Show a merchant's endpoints, keys and team; never a secret."""
    merchant = find(merchant_id)
    keys = ApiKey.objects.for_merchant(merchant).select_related("created_by").order_by("-id")
    endpoints = Endpoint.objects.for_merchant(merchant).filter(deleted_at=None).order_by("-id")
    return _page(
        request, merchant, "access",
        endpoints=endpoints[:KEYS_SHOWN],
        keys=keys[:KEYS_SHOWN],
        members=merchant.members.select_related("user").order_by("role", "id"),
    )  # fmt: skip


def _page(request: HttpRequest, merchant: Merchant, name: str, **shown: Any) -> HttpResponse:
    """Answer one of the tabs of a merchant."""
    tabs = [
        (label, desk.address(page, merchant.id), tab == name)
        for tab, label, page in (
            ("merchant", "At one look", "desk_merchant"),
            ("terms", "Terms", "desk_merchant_terms"),
            ("access", "Endpoints, keys, people", "desk_merchant_access"),
        )
    ]
    trail = [("Merchants", desk.address("desk_merchants"))]
    return desk.show(
        request, f"desk/merchants/{name}.html", merchant.name,
        merchant=merchant, tabs=tabs, trail=trail, **shown,
    )  # fmt: skip


@desk.page(TERMS, methods=("GET", "POST"))
def change(request: HttpRequest, merchant_id: str, kind: str) -> HttpResponse:
    """Change terms of a merchant: typed, then shown before and after, then confirmed."""
    merchant = find(merchant_id)
    if kind not in FORMS:
        raise ResourceMissing
    form = FORMS[kind](merchant, request.GET, desk.sent(request))
    if not form.is_valid():
        return _form(request, merchant, form)
    try:
        return _confirmed(request, merchant, form)
    except ChangeRefused as refusal:
        form.add_error(None, str(refusal))
        return _form(request, merchant, form)


def _confirmed(request: HttpRequest, merchant: Merchant, form: TermsForm) -> HttpResponse:
    """Make the change if it was shown and a reason is given; else show it."""
    sent = request.POST if "why" in request.POST else None
    reason, is_stale = ReasonForm(sent), False
    if sent is not None and reason.is_valid():
        typed = reason.cleaned_data
        try:
            merchant_changes.make(merchant, form.changes(), seen=typed["seen"], reason=typed["why"])
        except ChangedMeanwhile:
            is_stale = True
        else:
            return _done(request, merchant, f"{form.title}: done.")
    preview = merchant_changes.preview(merchant, form.changes())
    if not preview.differences and sent is not None:
        return _done(request, merchant, "It was so already: nothing has changed.")
    if is_stale or sent is None:
        reason = ReasonForm(initial={"seen": preview.seen})
    return desk.show(
        request,
        "desk/merchants/confirm.html",
        form.title,
        409 if is_stale else 400 if reason.errors else 200,
        merchant=merchant,
        form=form,
        reason=reason,
        differences=preview.differences,
        is_stale=is_stale,
        uncovered=_uncovered(merchant, form),
        trail=trail_of(merchant),
    )


def _form(request: HttpRequest, merchant: Merchant, form: TermsForm) -> HttpResponse:
    trail = trail_of(merchant)
    return desk.ask(
        request, form, form.title, trail, template="desk/merchants/change.html", merchant=merchant
    )


def _done(request: HttpRequest, merchant: Merchant, said: str) -> HttpResponse:
    messages.success(request, said)
    return desk.see_other("desk_merchant", merchant.id)


def _uncovered(merchant: Merchant, form: TermsForm) -> list[str]:
    """Return the endpoints that nothing covers once an address is removed; they go on."""
    if not isinstance(form, AddressForm) or not form.term.startswith("remove_"):
        return []
    address = form.cleaned_data["address"]
    site = merchant.callback_urls.filter(url=address).first() or next(
        (one for one in merchant.websites.all() if address in (one.host, str(one))), None
    )
    return [row.url for row in destinations.left_uncovered(merchant, site)] if site else []


@desk.page(TERMS, methods=("GET", "POST"))
def open_account(request: HttpRequest) -> HttpResponse:
    """Open an account. Its owner is sent a mail; no key and no password is shown to anybody."""
    form = OpenForm(desk.sent(request), initial={"act": lambda: SIGNER.sign(ids.new("mer"))})
    if form.is_valid() and (merchant := _opened(request, form)):
        return desk.see_other("desk_merchant", merchant.id)
    trail = [("Merchants", desk.address("desk_merchants"))]
    return desk.ask(request, form, "Open an account", trail, template="desk/merchants/open.html")


def _opened(request: HttpRequest, form: OpenForm) -> Merchant | None:
    """Open it; None with the refusal on the form."""
    typed = form.cleaned_data
    try:
        merchant_id = SIGNER.unsign(typed["act"])
        facts = {name: typed[name] for name in Application._fields if name in typed}
        application = Application(**facts)._replace(id=merchant_id, reason=typed["why"])
        merchant = opening.open_account(application)
    except signing.BadSignature:
        form.add_error(None, "Open this page anew: the form is of another one.")
    except ChangeRefused as refusal:
        form.add_error(None, str(refusal))
    except ValidationError as problem:
        form.add_error(None, " ".join(problem.messages))
    except IntegrityError:
        messages.info(request, "This form was sent before, and has opened this account.")
        return Merchant.objects.get(id=merchant_id)
    else:
        is_sent = mails.tell_owner_of_account(merchant)
        messages.success(request, f"{merchant.name} is open. {mails.said(is_sent)}")
        return merchant
    return None


# --- Parts --------------------------------------------------------------------------------------


def find(merchant_id: str) -> Merchant:
    """Return a merchant.

    :raises ResourceMissing: there is none of this id.
    """
    merchant = Merchant.objects.filter(id=merchant_id).first()
    if merchant is None:
        raise ResourceMissing
    return merchant


def trail_of(merchant: Merchant) -> Trail:
    """Return the pages above one about a merchant."""
    return [
        ("Merchants", desk.address("desk_merchants")),
        (merchant.name, desk.address("desk_merchant", merchant.id)),
    ]


def _limits(merchant: Merchant) -> list[dict[str, Any]]:
    secure = {row.currency: row for row in merchant.non_secure_limits.all()}
    negative = {row.currency: row.amount for row in merchant.negative_limits.all()}
    return [
        {
            "currency": currency,
            "row": row,
            "per_payment": _written(row.per_payment if row else None, currency),
            "per_day": _written(row.per_day if row else None, currency),
            "negative": _written(negative.get(currency), currency),
        }
        for currency in sorted({*secure, *negative, merchant.default_currency})
        for row in [secure.get(currency)]
    ]


def _written(amount: int | None, currency: str) -> str | None:
    return None if amount is None else money.written(amount, currency)


SECTION = Section(
    "Merchants",
    [
        path("merchants/", listed, name="desk_merchants"),
        path("merchants/open/", open_account, name="desk_merchant_open"),
        path("merchants/<str:merchant_id>/", shown, name="desk_merchant"),
        path("merchants/<str:merchant_id>/terms/", terms, name="desk_merchant_terms"),
        path("merchants/<str:merchant_id>/access/", access, name="desk_merchant_access"),
        path("merchants/<str:merchant_id>/change/<str:kind>/", change, name="desk_merchant_change"),
    ],
)
