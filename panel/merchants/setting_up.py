"""The steps of setting up, as far as the data say that they are done."""

from collections.abc import Sequence
from typing import NamedTuple

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from merchants.models import ApiKey, CallbackUrl, Invitation, Member, Merchant, Website
from panel import permissions
from panel.merchants import calls
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import PaymentStatus
from webhooks import health

# A merchant without one among so many tries has not set 3-D Secure up; more are not looked at.
LOOKED_AT = 1000


class Step(NamedTuple):
    """A step of setting up.

    :param is_next: it is the first that is not done.
    :param call: a command that takes the step over the API, if one does.
    :param url: of the page that takes it, if the person may open it.
    :param page: the page's name in the navigation.
    """

    title: str | Promise
    text: str | Promise
    is_done: bool
    is_next: bool
    call: str
    url: str
    page: str | Promise


def steps(member: Member) -> Sequence[Step]:
    """Return the steps for a member of a team, each with its page if they may open it."""
    merchant = member.merchant
    done = _facts(merchant)
    next_one = next((name for name, is_done in done.items() if not is_done), None)
    return [
        Step(
            title,
            text,
            done[name],
            name == next_one,
            _call(name, merchant),
            _url(name, member),
            PAGES.get(name, ("", ""))[1],
        )
        for name, (title, text) in WORDS.items()
    ]


def _facts(merchant: Merchant) -> dict[str, bool]:
    own = {"merchant": OuterRef("pk")}
    tries = Attempt.objects.filter(merchant=merchant).order_by("-created_at")
    # Bounded: none of a million may have it, and no index tells.
    newest = tries.values("pk")[:LOOKED_AT]
    charged = [PaymentStatus.SUCCEEDED, PaymentStatus.REQUIRES_CAPTURE]
    asked = Merchant.objects.filter(pk=merchant.pk).values_list(
        Exists(ApiKey.objects.filter(**own, last_used_at__isnull=False)),
        Exists(Website.objects.filter(**own)),
        Exists(CallbackUrl.objects.filter(**own)),
        Exists(PaymentIntent.objects.filter(**own, status__in=charged)),
        health.has_answered(merchant),
        Exists(Attempt.objects.filter(pk__in=newest, authenticated_at__isnull=False)),
        Exists(Member.objects.filter(merchant=merchant).order_by("pk")[1:2]),
        Exists(Invitation.objects.filter(merchant=merchant, withdrawn_at=None)),
    )
    key, website, callback, payment, webhook, three_d_secure, others, invited = asked.get()
    return {
        "key": key,
        "website": website or callback,
        "payment": payment,
        "webhook": webhook,
        "three_d_secure": three_d_secure,
        "team": others or invited,
    }


WORDS: dict[str, tuple[str | Promise, str | Promise]] = {
    "key": (
        _("Call the API with a secret key"),
        _("Your server sends it with each request. Keep it away from browsers and apps."),
    ),
    "website": (
        _("Register your website"),
        _("Payers come back to your own addresses only, and webhooks go nowhere else."),
    ),
    "payment": (
        _("Take a first payment"),
        _("One call takes it. This test card is charged without any question."),
    ),
    "webhook": (
        _("Listen to webhooks"),
        _("We tell your server what happened: payers may close their browsers too early."),
    ),
    "three_d_secure": (
        _("Bring a payer through 3-D Secure"),
        _("Send the payer to the address in next_action, and read the payment when they are back."),
    ),
    "team": (
        _("Bring your team in"),
        _("Each person signs in with their own account, in a role: no password is shared."),
    ),
}


def _url(step: str, member: Member) -> str:
    name, _label = PAGES.get(step, ("", ""))
    if not name or not permissions.may_open(member, name):
        return ""
    return reverse(f"panel:{name}", args=[member.merchant_id])


def _call(step: str, merchant: Merchant) -> str:
    path, body = CALLS.get(step, ("", {}))
    if not path:
        return ""
    lines = [f"curl {settings.BASE_URL}{path}", '-H "Authorization: Bearer $SECRET_KEY"']
    values = {"currency": merchant.default_currency}
    lines += [f"-d '{name}={value.format(**values)}'" for name, value in body.items()]
    return " \\\n  ".join(lines)


# The pages that take a step, and their names in the navigation, by the step's name.
PAGES: dict[str, tuple[str, str | Promise]] = {
    "key": ("keys", _("API keys")),
    "website": ("websites", _("Websites and callbacks")),
    "webhook": ("webhooks", _("Webhooks")),
    "team": ("team", _("Team")),
}
_PAYMENT = dict(calls.first_payment("{currency}")[1])
CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "key": ("/v1/balance", {}),
    "payment": ("/v1/payment_intents", _PAYMENT),
    "webhook": (
        "/v1/webhook_endpoints",
        {"url": "https://shop.example/hooks", "enabled_events[]": "*"},
    ),
    "three_d_secure": (
        "/v1/payment_intents",
        {
            **_PAYMENT,
            "return_url": "https://shop.example/return",
            "payment_method_options[card][three_d_secure]": "required",
        },
    ),
}
