"""Payouts by operators: made for a merchant, and canceled before they are sent.

The operator and the reason are kept in the same transaction, in the audit log and in Django's log
of the admin.
"""

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.db import transaction

from acquirers import rails
from api import request_logs
from core import context
from core.errors import ResourceMissing, SentBefore
from ledger import accounts
from merchants import audit_log
from merchants.accounts import require_payouts_by_operator
from merchants.audit_log import LoggedChange
from merchants.models import Merchant, User
from payouts import cancellations, creation, steps
from payouts.creation import Wanted
from payouts.models import Payout

# The names of this work in the request logs.
MADE, CANCELED = "operators.create_payout", "operators.cancel_payout"


def create(
    operator: User, merchant_id: str, wanted: Wanted, *, payout_id: str, reason: str
) -> Payout:
    """Make a payout for a merchant; the same act again changes nothing.

    :param payout_id: of the new payout; the same id is the same act.
    :param reason: the operator's.
    :return: the payout of the act, also if it was made before.
    :raises SentBefore: the act was done before, with other values.
    :raises ResourceMissing: there is no such merchant, or it has no account of that reference.
    :raises MerchantRestricted: the account may have no payouts at the moment; a closed one may.
    :raises UpstreamUnavailable: the installation has no bank that pays out.
    :raises ParameterMissing: no account is given, and none is registered.
    :raises BalanceInsufficient: less is available.
    """
    merchant = Merchant.objects.filter(id=merchant_id).first()
    if merchant is None:
        raise ResourceMissing(param="merchant")
    rails.rail()
    accounts.ensure(merchant.id, wanted.currency)
    with request_logs.job(MADE):
        return _create(operator, merchant, wanted, payout_id, reason)


def cancel(operator: User, payout: Payout, *, reason: str) -> Payout:
    """Call a pending payout off; its money is available again. It emits no event.

    :param reason: the operator's.
    :raises PayoutUnexpectedState: it has been sent, or has ended.
    """
    with request_logs.job(CANCELED):
        return _cancel(operator, payout, reason)


@transaction.atomic(durable=True)
def _create(
    operator: User, merchant: Merchant, wanted: Wanted, payout_id: str, reason: str
) -> Payout:
    # The same act waits here until the other one has ended.
    Merchant.objects.select_for_update(no_key=True).get(id=merchant.id)
    if earlier := Payout.objects.filter(id=payout_id).first():
        return _as_wanted(earlier, merchant, wanted)
    payout = creation.open_payout(payout_id, merchant, wanted, require_payouts_by_operator)
    LogEntry.objects.log_actions(operator.pk, [payout], ADDITION, reason, single_object=True)
    after = {
        "amount": payout.amount,
        "currency": payout.currency,
        "destination": payout.destination,
    }
    _record(LoggedChange("payout.created", payout.id, after=after), payout, reason)
    return payout


def _as_wanted(earlier: Payout, merchant: Merchant, wanted: Wanted) -> Payout:
    made = (earlier.merchant_id, earlier.amount, earlier.currency)
    is_same_account = wanted.destination in (None, earlier.destination)
    if made != (merchant.id, wanted.amount, wanted.currency) or not is_same_account:
        raise SentBefore
    return earlier


@transaction.atomic(durable=True)
def _cancel(operator: User, seen: Payout, reason: str) -> Payout:
    payout = cancellations.call_off(steps.locked(seen))
    LogEntry.objects.log_actions(operator.pk, [payout], CHANGE, reason, single_object=True)
    before, after = {"status": seen.status}, {"status": payout.status}
    _record(LoggedChange("payout.canceled", payout.id, before, after), payout, reason)
    return payout


def _record(change: LoggedChange, payout: Payout, reason: str) -> None:
    audit_log.record_all(payout.merchant, [change], reason)
    context.note_change(payout.merchant_id, payout.id)
