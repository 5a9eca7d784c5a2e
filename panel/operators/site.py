from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from merchants.password_change import PasswordChange


class OperatorsSite(AdminSite):
    """The operators' admin, `/admin/`."""

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Change one's own password; Django's own page would let the old one be guessed."""
        request.current_app = self.name  # type: ignore[attr-defined]
        view = PasswordChange.as_view(
            success_url=reverse("admin:password_change_done", current_app=self.name),
            extra_context={**self.each_context(request), **(extra_context or {})},
        )
        return view(request)
