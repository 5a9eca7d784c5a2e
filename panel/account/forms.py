"""Forms of django-allauth: passwords and codes are counted, with one name for one thing."""

from collections.abc import Mapping
from typing import Any

import structlog
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.forms import ChangePasswordForm, ResetPasswordForm, ResetPasswordKeyForm
from allauth.core import context
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    EditWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.internal.auth import parse_authentication_response
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core import context as work
from core.names import email_key, is_legible
from merchants import notices, second_factors, sign_in
from merchants.models import User
from merchants.notices import Letter

# Allauth's own Turkish has another word for a password than the pages around it. Of Any: the stubs
# of Django's forms name a kind of lazy text that it does not have.
NEW_ONES: Mapping[str, Any] = {
    "password1": _("New password"),
    "password2": _("New password again"),
}


def _name(form: forms.Form, labels: Mapping[str, Any]) -> None:
    for name, label in labels.items():
        form.fields[name].label = form.fields[name].widget.attrs["placeholder"] = label


class NewPasswordForm(ResetPasswordKeyForm):
    """The new password behind the link of a mail."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _name(self, NEW_ONES)


class _Named:
    """A form with the name of a passkey, which stands in mails and lists."""

    cleaned_data: dict[str, Any]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name and not is_legible(name):
            raise ValidationError(_("Must be one line, with something to see in it."))
        return name


class PasskeyForm(_Named, AddWebAuthnForm):
    """A new passkey with its name."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["name"].label = _("Name")


class PasskeyNameForm(_Named, EditWebAuthnForm):
    """Another name of a passkey."""


class PasswordChangeForm(ChangePasswordForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _name(self, {"oldpassword": _("Current password"), **NEW_ONES})

    def clean_oldpassword(self) -> str:
        sign_in.count_address(context.request)
        typed: str = self.cleaned_data["oldpassword"]
        if not sign_in.is_proved_by(self.user, typed):
            raise get_account_adapter().validation_error("enter_current_password")
        return typed


class PasswordResetForm(ResetPasswordForm):
    users: list[User]

    def clean_email(self) -> str:
        """Find the person by the address that they sign in with, and by no other."""
        sign_in.count_address(context.request)
        email: str = self.cleaned_data["email"]
        key = email_key(email)
        self.users = list(User.objects.filter(email=key, is_active=True))
        # The mail goes to what is returned: never to another spelling that somebody typed, whose
        # domain another rule may take for another owner's.
        return key


class _Counted:
    """A form with a code, which counts like a password."""

    user: User
    cleaned_data: dict[str, Any]

    def clean_code(self) -> str:
        sign_in.count_address(context.request)
        if not sign_in.is_code_right(self.user, self._is_right):
            raise get_adapter().validation_error("incorrect_code")
        return self.cleaned_data["code"]

    def _is_right(self) -> bool:
        try:
            super().clean_code()  # type: ignore[misc]  # Of the form beside it.
        except ValidationError:
            return False
        return True


class _Watched:
    """A form with a use of a passkey, whose counter is looked at."""

    cleaned_data: dict[str, Any]

    def clean_credential(self) -> Authenticator:
        sent = self.cleaned_data["credential"]
        passkey: Authenticator = super().clean_credential()  # type: ignore[misc]  # Likewise.
        _look_at(passkey, sent)
        return passkey


class PasskeySignInForm(_Watched, LoginWebAuthnForm):
    """A sign-in by a passkey alone."""


class PasskeyStepForm(_Watched, AuthenticateWebAuthnForm):
    """The second step of a sign-in, by a passkey."""


class PasskeyAgainForm(_Watched, ReauthenticateWebAuthnForm):
    """The passkey asked for again before a change that matters."""


class CodeForm(_Counted, AuthenticateForm):
    """The second step of a sign-in."""


class CodeAgainForm(_Counted, ReauthenticateForm):
    """The code asked for again before a change that matters."""


log = structlog.get_logger(__name__)


def _look_at(passkey: Authenticator, sent: dict[str, Any]) -> None:
    """Keep what a passkey counted, and inform its person if that is less than before.

    :param sent: what the browser has sent of its use, and has been found right.
    """
    counter = parse_authentication_response(sent).response.authenticator_data.counter
    if second_factors.counts_on(passkey, counter):
        return
    log.warning("passkey_counter_went_back", user=passkey.user_id)
    notices.send(_letter(passkey), [notices.person(passkey.user)])


def _letter(passkey: Authenticator) -> Letter:
    facts = {
        "passkey": str(passkey),
        "at": timezone.now(),
        "address": work.address(),
        "browser": get_account_adapter().get_http_user_agent(context.request),
        "page": f"{settings.PANEL_URL}{reverse('mfa_list_webauthn')}",
    }
    return Letter(_("One of your passkeys may have been copied"), "panel/mails/passkey.txt", facts)
