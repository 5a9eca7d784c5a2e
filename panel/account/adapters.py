"""Answers to django-allauth: proofs of a person, ways on, how secrets and mails leave."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.stagekit import clear_login
from allauth.core import context as allauth
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal.flows import did_use_passwordless_login
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import mail
from core.context import ActorKind, act_as
from core.http import client_address
from merchants import password_rules, second_factors, sessions, sign_in, unused_accounts
from merchants.models import User
from panel import languages
from panel.account import new_browsers

# The one address that answers a script: it asks there for the options of a passkey.
ASKED_BY_SCRIPT = "mfa_login_webauthn"
LOCKED_UNUSED = gettext_lazy(
    "Nobody used your account for 90 days, so it was locked. Type your address: the mail opens it."
)


class AccountAdapter(DefaultAccountAdapter):
    """People sign in as `merchants.sign_in` allows; there is no sign-up."""

    def is_open_for_signup(self, _request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def is_ajax(self, request: HttpRequest) -> bool:
        match = request.resolver_match
        return match is not None and match.url_name == ASKED_BY_SCRIPT

    def is_safe_url(self, url: str) -> bool:
        """Return whether a person may be led there: only to a path of this host."""
        is_path = bool(url) and url.startswith("/")
        return is_path and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return the ways to prove who one is, the first of which is asked for.

        The password alone is none for whoever has a second factor, and one without an app is asked
        for the passkey before a recovery code.
        """
        ways = super().get_reauthentication_methods(user)
        if not ways or not second_factors.has_one(user):
            return ways
        stronger = [way for way in ways if way["url"] != reverse("account_reauthenticate")]
        return stronger if second_factors.has_app(user) else stronger[::-1]

    def reauthenticate(self, user: User, password: str) -> bool:
        sign_in.count_address(allauth.request)
        return sign_in.is_proved_by(user, password)

    def set_password(self, user: User, password: str) -> None:
        password_rules.replace(user, password)

    def pre_login(self, request: HttpRequest, user: Any, **hook: Any) -> HttpResponse | None:
        """Lead a person whose account is locked, for it was unused, to the mail that opens it."""
        if unused_accounts.is_locked(user):
            clear_login(request)
            messages.warning(request, str(LOCKED_UNUSED))
            return redirect("account_reset_password")
        return super().pre_login(request, user, **hook)

    def post_login(self, request: HttpRequest, user: User, **hook: Any) -> HttpResponse:
        act_as(ActorKind.USER, str(user.pk), user.email)
        is_new = new_browsers.is_new(request, user)
        sign_in.succeeded(user, is_by_passkey=did_use_passwordless_login(request, user))
        sessions.note_origin(
            request.session,
            address=client_address(request),
            browser=self.get_http_user_agent(request),
        )
        response = super().post_login(request, user, **hook)
        languages.bring(request, response, user)
        new_browsers.remember(request, response, user)
        if is_new:
            new_browsers.tell(user, self.get_http_user_agent(request))
        return response

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Return where a person is led who did not say where to."""
        user = request.user
        if second_factors.is_missing(user):
            return reverse("mfa_index")
        is_operator = user.is_staff and not user.memberships.exists()
        return reverse("admin:index") if is_operator else super().get_login_redirect_url(request)

    def get_password_change_redirect_url(self, _request: HttpRequest) -> str:
        return reverse("mfa_index")

    def get_reset_password_from_key_url(self, key: str) -> str:
        uid, _, token = key.partition("-")
        path = reverse("account_reset_password_from_key", kwargs={"uidb36": uid, "key": token})
        return f"{settings.PANEL_URL}{path}"

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        shown = {**context, "email": email, "panel_url": settings.PANEL_URL}
        mail.send_when_answered(self.render_mail(template_prefix, email, shown))


class SecondFactorAdapter(DefaultMFAAdapter):
    """Secrets of second factors are sealed; passkeys are of the panel's name."""

    def encrypt(self, text: str) -> str:
        return second_factors.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return second_factors.opened(encrypted_text)

    def generate_authenticator_name(self, user: User, type: Any) -> str:
        """Return the name that a new passkey has until its owner gives it another."""
        number = Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1
        return _("Passkey %(number)s") % {"number": number}

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {"id": settings.PANEL_HOST, "name": settings.MFA_TOTP_ISSUER}
