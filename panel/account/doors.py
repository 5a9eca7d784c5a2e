"""Doors before pages of the panel, the account and the desk: hosts, networks, second factors."""

import re
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.core.exceptions import ReauthenticationRequired
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from core import context
from core.context import ActorKind
from core.detection import contains_encoded_card_number
from core.http import body_bytes, client_address, is_at_the_panels_host, is_panel_apart
from merchants import second_factors

DESK = re.compile(r"^/admin(/|$)")
PAGES = re.compile(r"^/(panel|account|admin)(/|$)")
# By the name of their address: a person without the second factor that they need reaches these.
TO_MAKE_ONE = frozenset(
    {
        "account_login", "account_logout", "account_reauthenticate", "account_reset_password",
        "account_reset_password_done", "account_reset_password_from_key",
        "account_reset_password_from_key_done", "mfa_index", "mfa_activate_totp",
        "mfa_add_webauthn", "mfa_view_recovery_codes", "panel:look",
    }
)  # fmt: skip


# The same of a person whose password was made by a command.
TO_CHOOSE_ONE = frozenset(
    {
        "account_change_password", "account_login", "account_logout", "account_reauthenticate",
        "account_reset_password", "account_reset_password_done", "account_reset_password_from_key",
        "account_reset_password_from_key_done", "mfa_reauthenticate",
        "mfa_reauthenticate_webauthn", "panel:look",
    }
)  # fmt: skip


class Doors:
    """Refuse what is asked at another host or from another network, and lead people on.

    People who ask at the API's host are led to the panel's, those who lack a second factor to the
    pages to make one.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _is_closed(request):
            raise Http404
        elsewhere = _elsewhere(request) or _to_sign_in_first(request)
        response = elsewhere or self.get_response(request)
        if PAGES.match(request.path_info):
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    def process_view(
        self, request: HttpRequest, _view: object, _args: object, _kwargs: object
    ) -> HttpResponse | None:
        """Return where to go instead of the page, if its person is not that far."""
        if not PAGES.match(request.path_info) or not request.user.is_authenticated:
            return None
        context.act_as(ActorKind.USER, str(request.user.pk), request.user.get_username())
        match = request.resolver_match
        name = match.view_name if match else None
        if request.user.is_password_printed:
            return None if name in TO_CHOOSE_ONE else _to("account_change_password")
        if name in TO_MAKE_ONE:
            return None
        return _to("mfa_index") if second_factors.is_missing(request.user) else None

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse | None:
        """Ask for the password or passkey again, then show the form; nothing sent is kept."""
        if not isinstance(problem, ReauthenticationRequired):
            return None
        methods = get_adapter().get_reauthentication_methods(request.user)
        address = methods[0]["url"] if methods else reverse("account_login")
        return _see_other(f"{address}?{urlencode({'next': _way_back(request)})}")


def _way_back(request: HttpRequest) -> str:
    """Return the address of the form. The page of the proof repeats it: no card number is in it."""
    whole = request.get_full_path()
    return request.path if contains_encoded_card_number(whole) else whole


def _elsewhere(request: HttpRequest) -> HttpResponse | None:
    """Lead from the API's host to the panel's, where that is another one."""
    if not PAGES.match(request.path_info) or not _is_at_another_host(request):
        return None
    if request.method in ("GET", "HEAD"):
        return HttpResponseRedirect(f"{settings.PANEL_URL}{request.get_full_path()}")
    if is_panel_apart():
        raise Http404
    return None


def _is_at_another_host(request: HttpRequest) -> bool:
    if is_panel_apart():
        return not is_at_the_panels_host(request)
    # A sandbox has one host under two names: people are led to the one that passkeys are of.
    return settings.PANEL_AT != settings.API_AT and request.get_host() == settings.API_AT


def _to_sign_in_first(request: HttpRequest) -> HttpResponse | None:
    """Lead a stranger with a file away before the form's token is looked for: it lies on disk then.

    `config.front_door` lets a body of this size in at the page for files alone.
    """
    is_large = body_bytes(request) > settings.BODY_MAX_BYTES
    return _to("account_login") if is_large and not request.user.is_staff else None


def _is_closed(request: HttpRequest) -> bool:
    return bool(DESK.match(request.path_info)) and not _is_from_an_operator(request)


def _is_from_an_operator(request: HttpRequest) -> bool:
    if not settings.OPERATOR_NETWORKS:
        return True
    try:
        address = ip_address(client_address(request))
    except ValueError:
        return False
    # A network may be written in either form of an IPv4 address.
    forms = [address, ip_address(f"::ffff:{address}")] if address.version == 4 else [address]
    return any(form in network for form in forms for network in settings.OPERATOR_NETWORKS)


def _to(name: str) -> HttpResponse:
    return _see_other(reverse(name))


def _see_other(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response
