"""API keys: listed, shown with their latest requests, created, rolled, revoked."""

import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from core import clock
from core.errors import DomainError
from core.querysets import MerchantRows
from core.rest import lists
from core.rest.list_query import CURSORS
from core.rest.lists import ListSpec, Page
from merchants import keys
from merchants.filters import RequestLogFilters
from merchants.models import ApiKey, Member, RequestLog
from panel import once
from panel.merchants import acts, key_words
from panel.merchants.acts import Refusable
from panel.merchants.key_forms import PRESETS, CreateKey, RollKey
from panel.merchants.pages import page, proof_required, show
from panel.once import Secret

UNUSED_AFTER = timedelta(days=90)
ENDED, REQUESTS = "25", "10"


@page()
def listed(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the keys that work, and apart from them those that have ended, the latest first."""
    now = timezone.now()
    rows = ApiKey.objects.for_merchant(member.merchant).select_related("created_by")
    has_ended = Q(revoked_at__isnull=False) | Q(expires_at__lte=now)
    ended = _page(rows.filter(has_ended), request.GET, ListSpec(), limit=ENDED)
    shown = {
        "live": [_row(key) for key in rows.exclude(has_ended).order_by("-created_at", "-id")],
        "ended": [_row(key) for key in ended.rows] if ended else [],
        "page": ended,
    }
    return show(request, "panel/keys/list.html", shown, status=200 if ended else 400)


@page()
def shown(request: HttpRequest, member: Member, key: str) -> HttpResponse:
    """Show a key and the requests that came with it, the latest first."""
    row = _find(member, key)
    logs = RequestLog.objects.for_merchant(member.merchant).filter(api_key=row.id)
    found = _page(logs, request.GET, ListSpec(filters=RequestLogFilters), limit=REQUESTS)
    facts = {**_row(row), "page": found, "days": settings.REQUEST_LOG_DAYS}
    return show(request, "panel/keys/key.html", facts, status=200 if found else 400)


@page("POST")
@proof_required
def create(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for a name and scopes (`preset` fills them in), and show the new key's secret once."""
    typed = request.POST if request.method == "POST" else None
    preset = request.GET.get("preset", "")
    form = CreateKey(typed, zone=member.merchant.timezone, preset=preset)

    def change() -> Secret:
        key, secret = keys.create(
            member.merchant,
            name=form.cleaned_data["name"],
            scopes=form.scopes(),
            expires_at=form.cleaned_data["expires"],
            created_by=member.user,
        )
        return _secret(request, member, key, secret, done="created")

    if answer := _made(request, member, change, form=form):
        return answer
    form.forget_secrets()
    return acts.ask(request, "panel/keys/create.html", form, presets=PRESETS)


@page("POST")
@proof_required
def roll(request: HttpRequest, member: Member, key: str) -> HttpResponse:
    """Ask how long the old key goes on, and show the new key's secret once."""
    row = _find(member, key)
    if request.method != "POST" and (ended := _if_ended(request, row)):
        return ended
    typed = request.POST if request.method == "POST" else None
    form = RollKey(typed, zone=member.merchant.timezone)

    def change() -> Secret:
        new, secret = keys.roll(
            row,
            form.cleaned_data["expires_in"],
            expires_at=form.cleaned_data["expires"],
            created_by=member.user,
        )
        row.refresh_from_db(fields=["expires_at"])
        return _secret(request, member, new, secret, done="rolled", old=row)

    if answer := _made(request, member, change, form=form):
        return answer
    form.forget_secrets()
    return acts.ask(request, "panel/keys/roll.html", form, **_row(row), back=_address(row))


@page("POST")
@proof_required
def revoke(request: HttpRequest, member: Member, key: str) -> HttpResponse:
    """Show what would stop working, and stop the key."""
    row = _find(member, key)
    revoked = []

    def change() -> None:
        if keys.revoke(row):
            revoked.append(row)
            messages.success(request, gettext("The key was revoked."))

    if request.method == "POST":
        answer = once.act(request, member, change, subject=row.id, done=_address(row))
        for one in revoked:
            key_words.tell_owners("revoked", one, member)
        return answer
    if ended := _if_ended(request, row):
        return ended
    facts = {**_row(row), "use": use_of_last_day(row), "token": once.token(request)}
    return show(request, "panel/keys/revoke.html", {**facts, "back": _address(row)})


# --- The one page with a secret -----------------------------------------------------------------


def _made(
    request: HttpRequest, member: Member, change: Callable[[], Secret], *, form: Refusable
) -> HttpResponse | None:
    back = reverse("panel:keys", args=[member.merchant_id])

    def act() -> HttpResponse:
        return once.act_with_secret(
            request, member, change, subject=member.merchant_id, otherwise=back
        )

    return acts.done(request, form, act)


def _secret(request: HttpRequest, member: Member, key: ApiKey, secret: str, **facts: Any) -> Secret:
    """Return the secret of a key with the page that shows it; then the owners get a mail."""

    def answer() -> HttpResponse:
        key_words.tell_owners(facts["done"], key, member, old=facts.get("old"))
        # Every key that works may read the balance.
        url = f"{settings.BASE_URL}/v1/balance"
        call = f'curl {url} \\\n  -H "Authorization: Bearer {secret}"'
        return show(
            request,
            "panel/keys/made.html",
            {**_row(key), **facts, "secret": secret, "call": call},
        )

    return Secret(_address(key), answer)


# --- Rows ---------------------------------------------------------------------------------------


def _find(member: Member, key: str) -> ApiKey:
    """Return one of the merchant's keys by its id."""
    rows = ApiKey.objects.for_merchant(member.merchant).select_related("created_by", "merchant")
    row = rows.filter(id=key).first() if key.isascii() and key.isprintable() else None
    if row is None:
        raise Http404
    return row


def _row(key: ApiKey) -> dict[str, Any]:
    now = timezone.now()
    is_live = keys.is_live(key, now)
    last_sign = key.last_used_at or key.created_at
    return {
        "key": key,
        "is_live": is_live,
        "status": "active" if is_live else "revoked" if key.revoked_at else "expired",
        "scopes": key_words.in_words(key.scopes),
        "levels": [
            (key_words.resource(name), key_words.LEVELS[level])
            for name, level in key_words.levels(key.scopes).items()
        ],
        "is_unused": is_live and last_sign < now - UNUSED_AFTER,
    }


def _if_ended(request: HttpRequest, key: ApiKey) -> HttpResponse | None:
    """Lead back from the form about a key that works no more."""
    if keys.is_live(key, timezone.now()):
        return None
    messages.info(request, gettext("The key is revoked or has expired."))
    return redirect(_address(key))


def _address(key: ApiKey) -> str:
    return reverse("panel:key", args=[key.merchant_id, key.id])


def _page(rows: MerchantRows, query: QueryDict, spec: ListSpec, *, limit: str) -> Page | None:
    asked = QueryDict(mutable=True)
    asked["limit"] = limit
    for name in CURSORS:
        if cursor := query.get(name):
            asked[name] = cursor
    try:
        return lists.page(rows, asked, spec, url="")
    except DomainError:
        return None


LAST = timedelta(days=1)
# More requests are not looked at: an index gives the latest ones at once.
REQUESTS_MOST = 1000
OPERATIONS_MOST = 10
ID = re.compile(r"/[a-z]{2,8}_[0-9A-Za-z]{16,}", re.ASCII)


class KeyUse(NamedTuple):
    """The requests that came with a key.

    :param is_capped: there were more.
    :param operations: method and path, with `{id}` for ids, and how often; the most used first.
    """

    requests: int
    is_capped: bool
    latest_at: datetime | None
    operations: list[tuple[str, int]]


def use_of_last_day(key: ApiKey) -> KeyUse:
    """Return the use of a key in the last day, of the clock that request logs have."""
    rows = RequestLog.objects.for_merchant(key.merchant).filter(api_key=key.id)
    latest = list(
        rows.filter(created_at__gte=clock.now() - LAST)
        .order_by("-created_at", "-id")
        .values_list("method", "path", "created_at")[: REQUESTS_MOST + 1]
    )
    looked_at = latest[:REQUESTS_MOST]
    counted = Counter(f"{method} {ID.sub('/{id}', path)}" for method, path, _at in looked_at)
    return KeyUse(
        requests=len(looked_at),
        is_capped=len(latest) > REQUESTS_MOST,
        latest_at=latest[0][2] if latest else None,
        operations=counted.most_common(OPERATIONS_MOST),
    )
