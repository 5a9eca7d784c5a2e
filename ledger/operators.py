"""Write-offs: an operator gives up what a merchant owes, with a reason.

The operator and the reason are kept in the same transaction, in the audit log and in Django's log
of the admin (contract-money: Bookkeeping, an operator's act).
"""

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction

from api import request_logs
from core import clock, context
from core.errors import SentBefore
from ledger import accounts, balance, book
from ledger.models import Account, Movement
from merchants import audit_log
from merchants.audit_log import LoggedChange
from merchants.models import User

# The name of this work in the request logs.
WRITTEN_OFF = "operators.write_off"


def write_off(
    operator: User, account: Account, *, amount: int, act_id: str, reason: str
) -> Movement:
    """Write a merchant's debt off, or a part of it; the same act again changes nothing.

    It records no event: `balance.available` is of settlements (contract 8).

    :param account: the merchant's `available` of the currency.
    :param amount: above 0, in minor units.
    :param act_id: the cause of the movement.
    :param reason: the operator's.
    :return: the movement of the act, also if it was written before.
    :raises NotOwed: the merchant owes less.
    :raises SentBefore: the act was done before, with another amount.
    """
    with request_logs.job(WRITTEN_OFF):
        return _write_off(operator, account, amount, act_id, reason)


@transaction.atomic(durable=True)
def _write_off(operator: User, account: Account, amount: int, act_id: str, reason: str) -> Movement:
    # Before the look for the same act, which may be under way beside this one.
    accounts.lock(account.merchant_id, account.currency)
    if earlier := _earlier(account, act_id):
        if earlier.amount != amount:
            raise SentBefore
        return earlier
    movement = book.write_off(
        account.merchant_id,
        amount=amount,
        currency=account.currency,
        cause_id=act_id,
        now=clock.now(),
    )
    LogEntry.objects.log_actions(operator.pk, [account], CHANGE, reason, single_object=True)
    _record(account, movement, reason)
    context.note_change(account.merchant_id, movement.id)
    return movement


def _earlier(account: Account, act_id: str) -> Movement | None:
    rows = Movement.objects.filter(merchant_id=account.merchant_id, cause_id=act_id)
    return rows.filter(kind=Movement.Kind.WRITE_OFF).first()


def _record(account: Account, movement: Movement, reason: str) -> None:
    # Charges do not touch `available`, and all else waits for the account's lock.
    available = balance.funds(account.merchant_id, account.currency).available
    before = {"currency": account.currency, "available": available - movement.amount}
    after = {
        "currency": account.currency,
        "available": available,
        "balance_transaction": movement.id,
    }
    subject = balance.id_of(account.merchant_id)
    change = LoggedChange("balance.written_off", subject, before, after)
    audit_log.record_all(account.merchant, [change], reason)
