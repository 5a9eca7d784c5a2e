"""The forms about a team: `merchants.team` and `merchants.invitations` check again."""

from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from panel.merchants.endpoint_forms import Refusable
from panel.merchants.overview import ROLES
from panel.merchants.team_words import RIGHTS


def _roles() -> list[tuple[str, Any]]:
    return [
        (
            role,
            format_html('<strong>{}</strong> <span class="role-may">{}</span>', name, RIGHTS[role]),
        )
        for role, name in ROLES.items()
    ]


class RoleForm(Refusable):
    role = forms.ChoiceField(
        label=_("Role"),
        choices=_roles,
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )


class InviteForm(RoleForm):
    email = forms.CharField(
        label=_("E-mail address"),
        max_length=254,
        help_text=_("They sign in with it. The invitation is for this address alone."),
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("email", "role")


class ConfirmForm(Refusable):
    """A question that is answered by its button."""
