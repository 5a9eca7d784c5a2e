"""Labels of a team: roles, and why an invitation cannot be accepted."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from merchants.models import Member

# Each role's rights in a sentence, from the table of roles.
RIGHTS: dict[str, str | Promise] = {
    Member.Role.OWNER: _("Everything, the team and the audit log too."),
    Member.Role.DEVELOPER: _(
        "API keys, websites, webhooks and request logs; sees payments and customers."
    ),
    Member.Role.FINANCE: _(
        "Payments, refunds, disputes, balance, payouts and customers; takes data out."
    ),
    Member.Role.SUPPORT: _(
        "Payments, refunds, disputes and customers; sees request logs and events."
    ),
}
UNUSABLE: dict[str, str | Promise] = {
    "unknown": _("There is no such invitation. Open the link of the mail whole."),
    "used": _("This invitation was accepted already. Sign in to open the panel."),
    "withdrawn": _("This invitation was withdrawn, or a newer one was sent."),
    "expired": _("This invitation has expired. Ask for another one."),
    "other_address": _("This invitation is for another e-mail address than yours."),
    "has_account": _("You have an account already. Sign in, then open the invitation again."),
    "in_team": _("You are in this team already."),
}
