"""Changing one's own password: the old one is asked for, and is counted as in a sign-in."""

from typing import Any

from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from merchants import sign_in


class OldPasswordForm(AdminPasswordChangeForm):
    """Django's, within the limits of `sign_in`."""

    def clean_old_password(self) -> str:
        old_password = self.cleaned_data["old_password"]
        if not sign_in.is_proved_by(self.user, old_password):
            raise ValidationError(
                self.error_messages["password_incorrect"], code="password_incorrect"
            )
        return old_password


class PasswordChange(PasswordChangeView):
    form_class = OldPasswordForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        sign_in.count_address(request)
        return super().post(request, *args, **kwargs)
