"""An account opened at the desk: with the sandbox's terms, as the command gives them."""

from django.db import transaction

from api import request_logs
from core import context
from ledger import sandbox_terms
from merchants import accounts
from merchants.accounts import Application
from merchants.models import Merchant
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
