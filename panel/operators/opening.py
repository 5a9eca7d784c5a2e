"""An account opened at the desk, or an owner named for a team whose last owner is lost.

An account gets the sandbox's terms, as the command gives them; all owners hear of a new owner.
"""

from django.db import transaction

from api import request_logs
from core import context
from ledger import sandbox_terms
from merchants import accounts, team, unused_accounts
from merchants.accounts import Application
from merchants.models import Merchant
from panel import house_mails as mails
from payments.installments import sandbox_plans

# The name of this work in the request logs.
OPENED = "operators.open_account"


def open_account(application: Application) -> Merchant:
    """Open an account without a key; its owner makes the first one in the panel.

    :raises SiteRefused: an address that cannot be registered.
    :raises django.core.exceptions.ValidationError: no name, e-mail address or country.
    :raises django.db.IntegrityError: the application was opened before.
    """
    with request_logs.job(OPENED):
        return _opened(application)


@transaction.atomic(durable=True)
def _opened(application: Application) -> Merchant:
    merchant = accounts.admit(application).merchant
    sandbox_terms.give(merchant)
    sandbox_plans.give(merchant)
    context.note_change(merchant.id, merchant.id)
    return merchant


def replace_lost_owner(merchant: Merchant, email: str, *, reason: str) -> str:
    """Make a person an owner of a team that has lost its own, as `appoint_owner` does.

    :raises merchants.team.TeamRefused: also if an owner is there who can name others.
    """
    if unused_accounts.has_owner_in_use(merchant):
        raise team.TeamRefused("An owner was here within 90 days: let them make this person one.")
    return appoint_owner(merchant, email, reason=reason)


def appoint_owner(merchant: Merchant, email: str, *, reason: str) -> str:
    """Make a person an owner; return what the operator is told.

    :raises merchants.team.TeamRefused: no address, or of an account that is switched off.
    """
    if not team.appoint_owner(merchant, email, reason=reason):
        return "They are an owner already: nothing has changed."
    is_sent = mails.tell_of_new_owner(merchant, team.require_address(email))
    return f"They are an owner now. {mails.said(is_sent)}"
