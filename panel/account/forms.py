"""Forms of django-allauth whose passwords and codes are counted by `merchants.sign_in`."""

from typing import Any

from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.forms import ChangePasswordForm, ResetPasswordForm
from allauth.core import context
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from django.core.exceptions import ValidationError

from merchants import sign_in
from merchants.models import User


class PasswordChangeForm(ChangePasswordForm):
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
        found = User.objects.filter(email=User.objects.normalize_email(email), is_active=True)
        self.users = list(found)
        return email


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


class CodeForm(_Counted, AuthenticateForm):
    """The second step of a sign-in."""


class CodeAgainForm(_Counted, ReauthenticateForm):
    """The code asked for again before a change that matters."""
