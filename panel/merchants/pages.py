"""The door of every page of a merchant: who is signed in, in which team, with which role."""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models.expressions import RawSQL
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _

from core import acts, clock, context
from core.context import ActorKind
from core.detection import contains_encoded_card_number
from merchants import second_factors
from merchants.models import Member
from panel import permissions
from panel.frame import LAST_SEEN
from panel.merchants import sent_again

View = Callable[..., HttpResponse]
# Below `page`: it asks for the password or passkey again, unless that was done within 5 minutes
# (`panel.account.doors`). A form that is sent too late leads to the same page by GET, and nothing
# of it is kept.
proof_required = acts.proof_required
# A member's use of a page within a minute of the one that was noted is not noted.
NOTED = timedelta(minutes=1)


def page(*methods: str) -> Callable[[View], View]:
    """Make a view of `(request, member, …)` a page at `/panel/{mer_…}/…`.

    The row of `permissions.PAGES` by the name of its address says who may open it. A merchant that
    is not the person's, unknown or malformed is 404; a role without the right is 403.

    :param methods: that the page takes besides GET.
    """
    allowed = {"GET", "HEAD", *methods}

    def wrap(view: View) -> View:
        @wraps(view)
        def shown(request: HttpRequest, merchant: str, **arguments: str) -> HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(_way_back(request))
            member = _member(request, merchant)
            if request.method not in allowed:
                return HttpResponseNotAllowed(sorted(allowed))
            _require_right(request, member)
            request.member = member  # type: ignore[attr-defined]  # For the frame.
            if lacks_factor := _if_without_factor(request, member):
                return lacks_factor
            looked = sent_again.look(request, member) if methods else None
            response = looked or view(request, member, **arguments)
            # Last, for its row is locked until the page's transaction ends.
            _note_use(request, member)
            if request.session.get(LAST_SEEN) != member.merchant_id:
                request.session[LAST_SEEN] = member.merchant_id
            return private(response)

        # Nothing to protect: so a wrong method is told, and not a form without its token.
        shown.csrf_exempt = not methods  # type: ignore[attr-defined]
        return shown

    return wrap


def show(
    request: HttpRequest, template: str, shown: dict[str, Any], *, part: str = "", status: int = 200
) -> HttpResponse:
    """Render a page; only the named part of it for htmx.

    :param part: a `{% partialdef %}` of the template, or nothing if the page has none.
    """
    is_part = bool(part) and asks_for_part(request)
    response = render(request, f"{template}#{part}" if is_part else template, shown, status=status)
    if part:
        patch_vary_headers(response, ["HX-Request"])
    return response


def asks_for_part(request: HttpRequest) -> bool:
    """Return whether htmx asks, which puts what it gets into the page that is there."""
    return request.headers.get("HX-Request") == "true"


def private(response: HttpResponse) -> HttpResponse:
    """Keep a signed-in person's page out of every cache."""
    response.headers.setdefault("Cache-Control", "private, no-store")
    return response


def _way_back(request: HttpRequest) -> str:
    """Return the address to come back to. The page of signing in repeats it: no card is in it."""
    whole = request.get_full_path()
    return request.path if contains_encoded_card_number(whole) else whole


def _member(request: HttpRequest, merchant_id: str) -> Member:
    """Return the person's place in the merchant's team, as it is now.

    The clock is read with it: the navigation's counts need it on every page.
    """
    rows = Member.objects.filter(user=request.user.pk, merchant_id=merchant_id)
    offset = RawSQL(clock.OFFSET_COLUMN, [])  # noqa: S611  # A constant text.
    member = rows.select_related("merchant").annotate(offset_seconds=offset).first()
    if member is None:
        raise Http404
    clock.note_offset(member.offset_seconds)
    context.act_as(ActorKind.USER, str(request.user.pk), request.user.get_username())
    if work := context.current():
        work.facts["merchant"] = merchant_id
    return member


def _if_without_factor(request: HttpRequest, member: Member) -> HttpResponse | None:
    """Lead to the pages to make a second factor, if the merchant requires one that is not there."""
    if not member.merchant.second_factor_required or second_factors.has_one(request.user):
        return None
    name = member.merchant.name
    text = _("%(merchant)s requires a second factor. Add one to go on.") % {"merchant": name}
    messages.info(request, text)
    return private(redirect("mfa_index"))


def _note_use(request: HttpRequest, member: Member) -> None:
    """Write down that a member opened a page, once a minute; pages that poll are no use."""
    now = timezone.now()
    is_noted = member.seen_at is not None and now - member.seen_at < NOTED
    if not is_noted and not getattr(request, "is_poll", False):
        Member.objects.filter(pk=member.pk).update(seen_at=now)


def _require_right(request: HttpRequest, member: Member) -> None:
    match = request.resolver_match
    rights = permissions.PAGES.get(match.url_name or "") if match else None
    right = rights.to(request.method or "") if rights else None
    if right is None or not permissions.may(member, right):
        raise PermissionDenied
