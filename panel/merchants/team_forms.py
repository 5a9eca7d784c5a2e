"""The forms about a team: `merchants.team` and `merchants.invitations` check again."""

from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from merchants.models import Member
from panel.merchants.acts import Refusable
from panel.merchants.overview import ROLES


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


# Each role's rights in a sentence, from the table of roles.
RIGHTS: dict[str, str | Promise] = {
    Member.Role.OWNER: _("Everything, the team and the audit log too."),
    Member.Role.DEVELOPER: _(
        "API keys, websites, webhooks and request logs; sees payments and customers."
    ),
    Member.Role.FINANCE: _(
        "Payments, refunds, disputes, balance, payouts and customers; takes data out."
    ),
    Member.Role.ACCOUNTANT: _(
        "Sees payments, refunds, disputes, balance, payouts and customers, and takes data out;"
        " changes nothing."
    ),
    Member.Role.SUPPORT: _(
        "Payments, refunds, disputes and customers; sees request logs and events."
    ),
}
