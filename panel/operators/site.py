from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from merchants.password_change import PasswordChange


class OperatorsSite(AdminSite):
    """The operators' admin, `/admin/`."""

    # The answer to the right form is a redirect; the stubs of Django's own allow only pages.
    def password_change(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        """Change one's own password; Django's own page would let the old one be guessed."""
        request.current_app = self.name
        view = PasswordChange.as_view(
            success_url=reverse("admin:password_change_done", current_app=self.name),
            extra_context={**self.each_context(request), **(extra_context or {})},
        )
        return view(request)
