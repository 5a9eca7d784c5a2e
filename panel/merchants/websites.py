"""Websites and callback URLs: the addresses that payers and events may be sent to."""

from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.detection import contains_card_number
from core.querysets import MerchantRows
from merchants import accounts, sites
from merchants.models import CallbackUrl, Member, Merchant, Website
from panel import once, refusals
from panel.merchants import acts
from panel.merchants.acts import Refusable
from panel.merchants.pages import page, show
from webhooks import destinations
from webhooks.destinations import WebhookUrlNotAllowed

TEMPLATE = "panel/websites.html"
# As the API's own parameter.
URL_MAX = 2000


class _AddressForm(Refusable):
    def input_of(self, param: str) -> str:
        [only] = self.fields
        return only


class AddWebsite(_AddressForm):
    website = forms.CharField(
        label=_("Website"),
        max_length=URL_MAX,
        help_text=_("An https address with a public name, such as https://shop.example."),
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off"}),
    )


class AddCallback(_AddressForm):
    callback_url = forms.CharField(
        label=_("Callback URL"),
        max_length=URL_MAX,
        help_text=_("A whole address, such as https://pay.example/return or, to try things out,"
                    " http://localhost:3000."),
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off"}),
    )  # fmt: skip


class AddressVerdict(NamedTuple):
    """The answer to a test of an address.

    :param problem: the rule that it breaks; nothing if it is allowed.
    :param covered_by: the registration that allows it.
    """

    use: str | Promise
    problem: str
    covered_by: str


@page("POST")
def websites(request: HttpRequest, member: Member) -> HttpResponse:
    """Show what is registered, add to it, and test any address (`url`)."""
    typed = request.POST
    if any(contains_card_number(str(value)) for value in typed.values()):
        typed = QueryDict()  # A page repeats no card number.
        messages.error(request, gettext("There is a card number in this address."))
    website = AddWebsite(typed if "website" in typed else None)
    callback = AddCallback(typed if "callback_url" in typed else None)
    if request.method == "POST":
        form = website if website.is_bound else callback
        if answer := _added(request, member, form):
            return answer
    shown = {
        "websites": member.merchant.websites.order_by("id"),
        "callbacks": [_with_examples(one) for one in member.merchant.callback_urls.order_by("id")],
        "website_form": website,
        "callback_form": callback,
        "token": once.token(request),
        **_tested(member.merchant, request.GET.get("url", "").strip()),
    }
    is_fine = request.method != "POST" and not shown.get("problem")
    status = 200 if is_fine else 400
    return show(request, TEMPLATE, shown, status=status)


def _added(request: HttpRequest, member: Member, form: Refusable) -> HttpResponse | None:
    def change() -> None:
        [(field, address)] = form.cleaned_data.items()
        term = "add_website" if field == "website" else "add_callback"
        accounts.change(member.merchant, {term: address})
        messages.success(request, gettext("The address was added."))

    def act() -> HttpResponse:
        back = reverse("panel:websites", args=[member.merchant_id])
        return once.act(request, member, change, subject=member.merchant_id, done=back)

    return acts.done(request, form, act)


def _with_examples(site: CallbackUrl) -> tuple[CallbackUrl, str, str]:
    """Return a callback URL with an address that it covers, and one that it does not."""
    url = site.url.rstrip("/")
    has_path = "/" in url.partition("://")[2]
    other = "http" if url.startswith("https:") else "https"
    beside = f"{url}-2" if has_path else f"{other}:{url.partition(':')[2]}"
    return site, f"{url}/any/path", beside


def _tested(merchant: Merchant, url: str) -> dict[str, Any]:
    if not url:
        return {}
    if contains_card_number(url):
        return {"problem": gettext("There is a card number in this address.")}
    back = sites.why_not(merchant, url)
    as_return = AddressVerdict(
        _("As a return URL"),
        refusals.sentence(back.rule) if back.rule else "",
        str(back.covered_by or ""),
    )
    return {"url": url, "verdicts": [as_return, _as_webhook(merchant, url, as_return.covered_by)]}


def _as_webhook(merchant: Merchant, url: str, covered_by: str) -> AddressVerdict:
    use = _("As a webhook URL")
    try:
        destinations.require(merchant, url)
    except WebhookUrlNotAllowed as refusal:
        return AddressVerdict(use, refusals.sentence(refusal), "")
    return AddressVerdict(use, "", covered_by)


@page("POST")
def remove_website(request: HttpRequest, member: Member, site: str) -> HttpResponse:
    """Ask, and then trust a website no longer."""
    row = _row(Website.objects.for_merchant(member.merchant), site)
    return _remove(request, member, row, {"remove_website": f"https://{row.host}" if row else ""})


@page("POST")
def remove_callback(request: HttpRequest, member: Member, site: str) -> HttpResponse:
    """Ask, and then trust a callback URL no longer."""
    row = _row(CallbackUrl.objects.for_merchant(member.merchant), site)
    return _remove(request, member, row, {"remove_callback": row.url if row else ""})


def _row(rows: MerchantRows, number: str) -> Any:
    is_number = number.isascii() and number.isdecimal() and len(number) < 19
    return rows.filter(pk=int(number)).first() if is_number else None


def _remove(
    request: HttpRequest,
    member: Member,
    row: Website | CallbackUrl | None,
    wanted: dict[str, str],
) -> HttpResponse:
    """Ask, and then remove a row; the same form sent again finds none, and reads as done."""
    back = reverse("panel:websites", args=[member.merchant_id])

    def change() -> None:
        if row is None:
            raise Http404
        accounts.change(member.merchant, wanted)
        messages.success(request, gettext("The address was removed."))

    if request.method == "POST":
        return once.act(request, member, change, subject=member.merchant_id, done=back)
    if row is None:
        raise Http404
    shown = {
        "address": str(row),
        "back": back,
        "endpoints": destinations.left_uncovered(member.merchant, row),
        "token": once.token(request),
    }
    return show(request, "panel/remove_address.html", shown)
