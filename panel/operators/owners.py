"""An owner named by an operator, for a team whose last owner is lost; all owners get a mail."""

from merchants import team
from merchants.models import Merchant
from panel import house_mails as mails


def appoint(merchant: Merchant, email: str, *, reason: str) -> str:
    """Make a person an owner; return the message for the operator.

    :raises merchants.team.TeamRefused: no address, or of an account that is switched off.
    """
    if not team.appoint_owner(merchant, email, reason=reason):
        return "They are an owner already: nothing has changed."
    is_sent = mails.tell_of_new_owner(merchant, team.require_address(email))
    return f"They are an owner now. {mails.said(is_sent)}"
